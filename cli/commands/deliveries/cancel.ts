import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { cancelDelivery } from '../../../api-client/operations.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, findAddress, EXAMPLE_ADDRESS } from './delivery-options.ts';
import { describeDelivery } from './delivery-text.ts';

const MORE = `
No further attempt starts; an attempt already in progress may still complete. A
cancelled delivery can be retried later.
`;

/** `posthaste cancel` */
export function addCancel(command: Command, terminal: Terminal): void {
  addDeliveryAddress(command).action(
    async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      const delivery = await api.call(
        cancelDelivery,
        deliveryPath(await findAddress(api, queue, message, subscription)),
      );
      if (options.json === true) terminal.printJson(delivery);
      else terminal.print(describeDelivery(delivery, terminal));
    },
  );
  onDeployment(command, {
    json: 'the delivery after the change',
    more: MORE,
    examples: [`cancel ${EXAMPLE_ADDRESS}`],
  });
}
