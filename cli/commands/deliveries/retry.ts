import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { retryDelivery } from '../../api/deliveries.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, addressOf, EXAMPLE_ADDRESS } from './delivery-options.ts';
import { describeDelivery } from './delivery-text.ts';

const MORE = `
The next attempt of one that is under way is made now; one that is over gets another round, with a policy's full budget. The
subscriber sees the same webhook-id. Refused while an attempt is being made, and where the message is kept no more.
`;

/** `posthaste retry` */
export function addRetry(command: Command, terminal: Terminal): void {
  addDeliveryAddress(command).action(
    async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
      const delivery = await retryDelivery(
        await openApi(options, terminal),
        addressOf(queue, message, subscription),
      );
      if (options.json === true) terminal.printJson(delivery);
      else terminal.print(describeDelivery(delivery));
    },
  );
  onDeployment(command, {
    json: 'the delivery as it is then',
    more: MORE,
    examples: [`retry ${EXAMPLE_ADDRESS}`],
  });
}
