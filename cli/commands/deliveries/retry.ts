import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { retryDelivery } from '../../api/deliveries.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, findAddress, EXAMPLE_ADDRESS } from './delivery-options.ts';
import { describeDelivery } from './delivery-text.ts';

const MORE = `
An open delivery makes its next attempt now. An ended one starts another round
with all retries of its policy. The webhook-id stays the same. The API refuses
a retry while an attempt is in progress, and when the message's data is no
longer kept.
`;

/** `posthaste retry` */
export function addRetry(command: Command, terminal: Terminal): void {
  addDeliveryAddress(command).action(
    async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      const delivery = await retryDelivery(api, await findAddress(api, queue, message, subscription));
      if (options.json === true) terminal.printJson(delivery);
      else terminal.print(describeDelivery(delivery));
    },
  );
  onDeployment(command, {
    json: 'the delivery after the change',
    more: MORE,
    examples: [`retry ${EXAMPLE_ADDRESS}`],
  });
}
