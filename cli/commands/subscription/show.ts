import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { showSubscription } from '../../api/subscriptions.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { describeSubscription } from './subscription-fields.ts';

/** `posthaste subscription show` */
export function addSubscriptionShow(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('show')
    .description('Show a subscription.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', 'id of the subscription', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      const view = await showSubscription(await openApi(options, terminal), queue, id);
      if (options.json === true) terminal.printJson(view);
      else terminal.print(describeSubscription(view));
    });
  onDeployment(command, {
    json: 'the subscription, as in the API',
    examples: ['subscription show orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11'],
  });
}
