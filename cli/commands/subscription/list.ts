import type { Command } from 'commander';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { listSubscriptions } from '../../../api-client/operations.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { openApi } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { colouredStatus } from '../../output/status-colour.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { stateOf } from './subscription-fields.ts';

type Options = DeploymentOptions & { limit?: number };

/** `posthaste subscription list` */
export function addSubscriptionList(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('list')
    .description('List the subscriptions of a queue.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--limit <N>', 'maximum number of subscriptions (default: all)', wholeNumberOf(1))
    .action(async (queue: string, { limit, ...options }: Options) => {
      const subscriptions = (await openApi(options, terminal)).list(listSubscriptions, {
        path: { queue },
        most: limit,
      });
      await printList(terminal, subscriptions, {
        ...options,
        columns: COLUMNS,
        rowOf: (view) => rowOf(view, terminal),
        none: `No subscription yet. Create one with ${commandText(`subscription create ${queue} <URL>`)}`,
      });
    });
  onDeployment(command, {
    json: 'one subscription per line, as in the API',
    examples: ['subscription list orders'],
  });
}

const COLUMNS = [{ head: 'Subscription' }, { head: 'Name' }, { head: 'State' }, { head: 'Subscriber' }];

function rowOf(view: SubscriptionView, terminal: Terminal): string[] {
  const state = colouredStatus(stateOf(view), terminal);
  return [printable(shortId(view.id)), printable(view.name ?? ''), state, printable(view.subscriber)];
}
