import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { countsOfQueue, type QueueCounts } from '../../api/queue-counts.ts';
import { countQueues, listQueues, type ListedQueue } from '../../api/queues.ts';
import { commandText } from '../../command-name.ts';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { limit?: number };

const MORE = `
Undelivered are open and failed deliveries. Messages are those of the last 24
hours, where the deployment counts them (queueStatistics). With --json, queues
are listed without counts.
`;

/** `posthaste queue list` */
export function addQueueList(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('list')
    .description(
      'List the queues, with the numbers of their subscriptions, undelivered deliveries and messages.',
    )
    .option('--limit <N>', 'maximum number of queues (default: all)', wholeNumberOf(1))
    .action(async ({ limit, ...options }: Options) => {
      const api = await openApi(options, terminal);
      const counts = new Map<string, QueueCounts>();
      await printList(terminal, listQueues(api, limit), {
        ...options,
        columns: COLUMNS,
        prepare: async (queues) => {
          for (let start = 0; start < queues.length; start += SIDE_BY_SIDE) {
            const together = queues.slice(start, start + SIDE_BY_SIDE);
            await Promise.all(
              together.map(async ({ name }) => counts.set(name, await countsOfQueue(api, name))),
            );
          }
        },
        rowOf: (one) => rowOf(one, counts.get(one.name)),
        none: `No queue yet. Create one with ${commandText('queue create <queue>')}`,
        total: () => countQueues(api),
      });
    });
  onDeployment(command, {
    json: 'one queue per line: name, metadata',
    more: MORE,
    examples: ['queue list', 'queue list --json'],
  });
}

/** Queues counted at a time, with three requests each. */
const SIDE_BY_SIDE = 5;

const COLUMNS = [
  { head: 'Queue' },
  { head: 'Subscriptions', align: 'right' as const },
  { head: 'Undelivered', align: 'right' as const },
  { head: 'Messages (24 h)', align: 'right' as const },
  { head: 'Metadata' },
];

function rowOf({ name, metadata }: ListedQueue, counts?: QueueCounts): string[] {
  const { subscriptions = '', undelivered = '', messages = '' } = counts ?? {};
  return [name, subscriptions, undelivered, messages, printable(JSON.stringify(metadata))];
}
