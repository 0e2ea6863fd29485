import type { Command } from 'commander';
import { sendTest } from '../../../api-client/test-subscription.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { jsonOf, queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import type { Terminal } from '../../terminal.ts';
import { describeDelivery } from '../deliveries/delivery-text.ts';

type Options = DeploymentOptions & { type?: string; data?: string };

const MORE = `
Exit status: 0 if the first attempt delivered the message, otherwise 1.
`;

/** `posthaste subscription test` */
export function addSubscriptionTest(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('test')
    .description('Send a test message to one subscription, and show the result.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .option('--type <TYPE>', 'type of the message')
    .option('--data <JSON>', 'data of the message', jsonOf)
    .action(async (queue: string, reference: string, { type, data, ...options }: Options) => {
      const body = objectText([
        ['type', textOf(type)],
        ['data', data],
      ]);
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const delivery = await sendTest(api, { queue, subscription: id }, body);
      if (options.json === true) terminal.printJson(delivery);
      else terminal.print(describeDelivery(delivery, terminal));
      if (delivery.status !== 'delivered') terminal.exitStatus = 1;
    });
  onDeployment(command, {
    json: 'the delivery',
    more: MORE,
    examples: [`subscription test orders 5b0c0f1e --data '{"order": 1}'`],
  });
}
