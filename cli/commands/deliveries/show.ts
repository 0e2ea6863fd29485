import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { showDelivery } from '../../api/deliveries.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { addDeliveryAddress, addressOf, EXAMPLE_ADDRESS } from './delivery-address.ts';
import { describeDelivery } from './delivery-text.ts';

/** `posthaste deliveries show` */
export function addDeliveriesShow(deliveries: Command, terminal: Terminal): void {
  const command = addDeliveryAddress(
    deliveries.command('show').description('Show a delivery: its attempts, and what is planned.'),
  ).action(async (queue: string, message: string, subscription: string, options: DeploymentOptions) => {
    const delivery = await showDelivery(
      await openApi(options, terminal),
      addressOf(queue, message, subscription),
    );
    if (options.json === true) terminal.printJson(delivery);
    else terminal.print(describeDelivery(delivery));
  });
  onDeployment(command, {
    json: 'the delivery as the API shows it',
    examples: [`deliveries show ${EXAMPLE_ADDRESS}`],
  });
}
