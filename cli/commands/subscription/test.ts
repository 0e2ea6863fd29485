import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { testSubscription } from '../../api/subscriptions.ts';
import { idOf, jsonOf, queueOf } from '../../options/arguments.ts';
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
    .argument('<subscription>', 'id of the subscription', idOf)
    .option('--type <TYPE>', 'type of the message')
    .option('--data <JSON>', 'data of the message', jsonOf)
    .action(async (queue: string, id: string, { type, data, ...options }: Options) => {
      const body = objectText([
        ['type', textOf(type)],
        ['data', data],
      ]);
      const delivery = await testSubscription(await openApiToWrite(options, terminal), queue, id, body);
      if (options.json === true) terminal.printJson(delivery);
      else terminal.print(describeDelivery(delivery));
      if (delivery.status !== 'delivered') terminal.exitStatus = 1;
    });
  onDeployment(command, {
    json: 'the delivery',
    more: MORE,
    examples: [`subscription test orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --data '{"order": 1}'`],
  });
}
