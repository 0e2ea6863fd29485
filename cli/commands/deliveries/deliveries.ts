import type { Command } from 'commander';
import { deliveryPath } from '../../../api-client/deliveries.ts';
import { getDelivery } from '../../../api-client/operations.ts';
import { subscriptionLabels } from '../../../api-client/subscription-labels.ts';
import { openApi } from '../../api/open-api.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, findAddress, EXAMPLE_ADDRESS, describeDelivery } from './delivery-text.ts';
import { addDeliveriesList } from './list.ts';
import { addDeliveriesWatch } from './watch.ts';

export function addDeliveryCommands(deliveries: Command, terminal: Terminal): void {
  addDeliveriesList(deliveries, terminal);
  addDeliveriesShow(deliveries, terminal);
  addDeliveriesWatch(deliveries, terminal);
}

/** `posthaste deliveries show` */
function addDeliveriesShow(deliveries: Command, terminal: Terminal): void {
  const command = addDeliveryAddress(
    deliveries.command('show').description('Show a delivery with its attempts and planned retries.'),
  ).action(async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
    const api = await openApi(options, terminal);
    const address = await findAddress(api, queue, message, subscription);
    const delivery = await api.call(getDelivery, deliveryPath(address));
    if (options.json === true) {
      terminal.printJson(delivery);
      return;
    }
    const labels = subscriptionLabels(api, queue);
    await labels.load([delivery.subscriptionId]);
    terminal.print(describeDelivery(delivery, terminal, labels.of(delivery.subscriptionId)));
  });
  onDeployment(command, {
    json: 'the delivery, as in the API',
    examples: [`deliveries show ${EXAMPLE_ADDRESS}`],
  });
}
