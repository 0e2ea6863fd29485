import type { Command } from 'commander';
import * as z from 'zod';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import type { ApiClient, Listed } from '../../../api-client/api-client.ts';
import {
  getStatistics,
  listDeliveries,
  type ListedQueue,
  listQueues,
  listSubscriptions,
} from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { NoSuchQueue } from '../../api/missing-queue.ts';
import { openApi } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
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
      await printList(terminal, api.list(listQueues, { query: { detailed: true }, most: limit }), {
        ...options,
        columns: COLUMNS,
        prepare: async (queues) => {
          await inParallel(queues, SIDE_BY_SIDE, async ({ name }) => {
            counts.set(name, await countsOfQueue(api, name));
          });
        },
        rowOf: (one) => rowOf(one, counts.get(one.name)),
        none: `No queue yet. Create one with ${commandText('queue create <queue>')}`,
        total: async () => (await api.call(listQueues, { query: { limit: 1, with_count: true } })).count,
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

/** Counts of a queue as text. Empty: unknown, because the caller may not read it or the deployment does not count. */
type QueueCounts = { subscriptions: string; undelivered: string; messages: string };

/** One page: further ones are not counted. */
const MAX_COUNTED = 100;

/** `undelivered`: open and failed deliveries. `messages`: of the last 24 hours. */
async function countsOfQueue(api: ApiClient, queue: string): Promise<QueueCounts> {
  const [subscriptions, undelivered, messages] = await Promise.all([
    countOf(() => api.items(listSubscriptions, { path: { queue }, most: MAX_COUNTED })),
    countOf(() => api.items(listDeliveries, { path: { queue }, most: MAX_COUNTED })),
    messagesOfToday(api, queue),
  ]);
  return { subscriptions, undelivered, messages };
}

async function countOf(counted: () => Promise<Listed<unknown>>): Promise<string> {
  const read = await readable(counted);
  return read === undefined ? '' : `${read.items.length}${read.more ? '+' : ''}`;
}

/** Only what is read, so that an earlier version can answer. */
const counting = {
  ...getStatistics,
  schema: z.object({ enabled: z.boolean(), total: z.object({ messages: z.number() }) }),
};

async function messagesOfToday(api: ApiClient, queue: string): Promise<string> {
  const answer = await readable(() => api.call(counting, { path: { queue } }));
  return answer?.enabled === true ? String(answer.total.messages) : '';
}

/** Undefined if the API refuses: one missing count must not cost the whole list. */
async function readable<Answer>(read: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ApiRefusal || error instanceof NoSuchQueue) return undefined;
    throw error;
  }
}
