import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { createSubscription } from '../../api/subscriptions.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { addHowToCall, optionsText, ttlOf, type HowToCall } from './how-to-call.ts';

type Options = DeploymentOptions & HowToCall & { ttl?: number };

/** `posthaste subscription create` */
export function addSubscriptionCreate(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('create')
    .description(
      'Subscribe a URL to a queue, which is created if there is none. The secret is shown this once.',
    )
    .argument('<queue>', "the queue's name", queueOf)
    .argument('<URL>', "the subscriber's, http or https")
    .option('--ttl <TIME>', 'for so long only: seconds, or 30m, 1h, 2d', ttlOf)
    .action(async (queue: string, subscriber: string, { ttl, ...options }: Options) => {
      const body = objectText([
        ['subscriber', textOf(subscriber)],
        ['ttl', textOf(ttl)],
        ['options', optionsText(options)],
      ]);
      const created = await createSubscription(await openApi(options, terminal), queue, body);
      if (options.json === true) {
        terminal.printJson(created);
        return;
      }
      terminal.print(`Subscription ${printable(created.subscription_id)} is created.`);
      if (created.secret !== undefined)
        terminal.print(`Its secret, which is not shown again: ${printable(created.secret)}`);
      if (created.confirmation === 'owed')
        terminal.print(
          'Its subscriber could not be asked to confirm. `subscription update` with its --url asks again.',
        );
    });
  onDeployment(addHowToCall(command), {
    json: 'subscription_id, secret, confirmation',
    examples: [
      'subscription create orders https://example.com/hook',
      `subscription create orders https://example.com/hook --event-type order.created --policy '{"maximum_delay": 60}'`,
    ],
  });
}
