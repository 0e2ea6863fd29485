import type { Command } from 'commander';
import { subscribe } from '../../../api-client/operations.ts';
import { newQueueNotice } from '../../api/missing-queue.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { addCallOptions, optionsText, ttlOf, withAuth, type CallOptions } from './call-options.ts';

type Options = DeploymentOptions & CallOptions & { name?: string; ttl?: number };

/** `posthaste subscription create` */
export function addSubscriptionCreate(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('create')
    .description('Subscribe a URL to a queue, and print the signing secret once. Creates a missing queue.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<URL>', 'http or https URL of the subscriber; pull: or pull:NAME if it fetches its messages')
    .option('--name <NAME>', 'a name for people, such as that of the customer')
    .option(
      '--ttl <DURATION>',
      'the subscription expires after this long: seconds, or 30m, 1h, 2d (default: never)',
      ttlOf,
    )
    .action(async (queue: string, subscriber: string, { name, ttl, ...options }: Options) => {
      const body = objectText([
        ['subscriber', textOf(subscriber)],
        ['name', textOf(name)],
        ['ttl', textOf(ttl)],
        ['options', optionsText(await withAuth(options, terminal))],
      ]);
      const api = await openApiToWrite(options, terminal);
      const sayIfNew = await newQueueNotice(api, queue, terminal);
      const created = await api.call(subscribe, { path: { queue }, body });
      sayIfNew();
      if (options.json === true) {
        terminal.printJson(created);
        return;
      }
      terminal.print(`Created subscription ${printable(created.subscription_id)}.`);
      if (created.secret !== undefined)
        terminal.print(`Signing secret (save it now, it is not shown again): ${printable(created.secret)}`);
      if (created.confirmation === 'owed')
        terminal.print(
          `The confirmation request could not be sent. To send it again, run ${commandText('subscription update')} with the same --url.`,
        );
    });
  onDeployment(addCallOptions(command), {
    json: 'subscription_id, secret, confirmation',
    examples: [
      'subscription create orders https://example.com/hook --name "ACME, production"',
      'subscription create orders https://example.com/hook',
      'subscription create orders pull:warehouse',
      'subscription create orders https://example.com/hook --auth-file auth.json',
      `subscription create orders https://example.com/hook --event-type order.created --policy '{"maximum_delay": 60}'`,
    ],
  });
}
