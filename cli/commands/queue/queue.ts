import { InvalidArgumentError } from 'commander';
import * as z from 'zod';
import type { ApiClient, Listed } from '../../../api-client/api-client.ts';
import { deletionBy } from '../../../api-client/archives.ts';
import {
  countWaitingOfQueue,
  deleteQueue,
  getStatistics,
  listDeliveries,
  type ListedQueue,
  listQueues,
  listSubscriptions,
  patchQueue,
  putQueue,
} from '../../../api-client/operations.ts';
import { findQueue, metadataPointer } from '../../../api-client/queues.ts';
import { isRefusal, orElse } from '../../../api-client/refusal.ts';
import { waitingCountText } from '../../../api-client/waiting.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { noSuchQueue, NoSuchQueue } from '../../api/find-subscription.ts';
import {
  collect,
  jsonText,
  NOW,
  objectText,
  option,
  parseJsonObjectText,
  parseJsonText,
  QUEUE,
  wholeNumber,
  withMembers,
} from '../../options/arguments.ts';
import { openApiToWrite } from '../../api/api-access.ts';
import { deployed, group } from '../../options/deployed.ts';
import { parsePolicy } from '../../options/input.ts';
import { printList, right } from '../../output/list.ts';
import { clockTime, colouredStatus, printable, printableJson, restorableText } from '../../output/text.ts';
import { describePauseTimes, queuePauses } from '../subscription/pause.ts';
import { queueRestore } from '../restore/restore.ts';

const create = deployed<{ metadata?: string; policy?: string }>({
  description: 'Create a queue. Fails if it exists.',
  arguments: [QUEUE],
  options: [
    option('--metadata <JSON>', 'metadata, as a JSON object', parseJsonObjectText),
    option(
      '--policy <POLICY>',
      'retry policy, as JSON or a preset (_retry_policy in the metadata)',
      parsePolicy,
    ),
  ],
  json: 'queue',
  examples: [
    'queue create orders',
    'queue create orders --policy patient',
    `queue create orders --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
  ],
  write: async ({ api, options: { metadata = '{}', policy } }, queue) => {
    // PUT would replace the metadata of an existing queue.
    if ((await findQueue(api, queue)) !== undefined)
      throw new Problem(`Queue ${queue} already exists. To change it, use ${commandText('queue set')}`);
    const body = withMembers(metadata, { _retry_policy: policy });
    await api.call(putQueue, { path: { queue }, body });
    return [{ queue }, () => `Created queue ${queue}.`];
  },
});

const remove = deployed<{ yes?: true; now?: true }>({
  description: 'Delete a queue and its subscriptions, and cancel their open deliveries.',
  arguments: [QUEUE],
  options: [option('--yes', 'delete the queue even if it has subscriptions, without a question'), NOW],
  json: 'queue, restorableUntil, requestsEndWithinSeconds',
  more: `
If the queue has subscriptions, the command asks for its name. Without a
terminal to ask on, it requires --yes. The deletion can be undone for some days
(setting archiveDays, 7 by default): the command prints until when and how.
--now leaves nothing to restore.
`,
  examples: ['queue delete orders', 'queue delete orders --yes --now'],
  write: async ({ api, options: { yes, now }, terminal, refuse }, queue) => {
    if ((await findQueue(api, queue)) === undefined) throw await noSuchQueue(api, queue);
    const count = yes === true ? 'none' : await countedSubscriptions(api, queue);
    if (count !== 'none') {
      const answer = await terminal.ask(`Queue ${queue} has ${count}. Type its name to delete them too: `);
      if (answer === undefined) return refuse(`queue ${queue} has ${count}; add --yes to delete them too`);
      if (answer.trim() !== queue) throw new Problem('That is not its name: nothing was deleted.');
    }
    const deletion = await deletionBy(api, deleteQueue, { path: { queue }, query: { now } });
    const text = `Deleted queue ${queue}. ${restorableText(deletion, `queue restore ${queue}`)}`;
    return [{ queue, ...deletion }, () => text];
  },
});

/** Counting stops here, at one page. */
const MAX_COUNTED = 100;

async function countedSubscriptions(api: ApiClient, queue: string): Promise<string> {
  const { items, more } = await api.items(listSubscriptions, { path: { queue }, most: MAX_COUNTED });
  if (items.length === 0) return 'none';
  return more
    ? `more than ${items.length} subscriptions`
    : counted(items.length, 'subscription', 'subscriptions');
}

type SetOptions = { policy?: string; set?: readonly Member[]; unset?: readonly string[] };

/** `source` is JSON source text. */
type Member = { key: string; source: string };

const set = deployed<SetOptions>({
  description: 'Change the given metadata of a queue, and keep the rest.',
  arguments: [QUEUE],
  options: [
    option('--policy <POLICY>', 'retry policy, as JSON or a preset', parsePolicy),
    option('--set <KEY=JSON>', 'set a metadata key; repeatable', collect(parseMember)),
    option('--unset <KEY>', 'remove a metadata key; repeatable', collect(String)),
  ],
  json: 'the metadata after the change',
  more: `
Values are JSON, so a text needs double quotes. --policy is short for --set
_retry_policy=<JSON>.
`,
  examples: [
    `queue set orders --policy '{"retry_backoff_function": "geometric"}'`,
    `queue set orders --set owner='"billing"' --unset note`,
  ],
  run: async ({ options, terminal, refuse }, queue) => {
    const changes = buildPatch(options);
    if (changes.length === 0) refuse('there is nothing to change; add --policy, --set or --unset');
    const api = await openApiToWrite(options, terminal);
    const metadata = await api.call(patchQueue, { path: { queue }, body: `[${changes.join(',')}]` });
    return [metadata, () => printableJson(JSON.stringify(metadata, undefined, 2))];
  },
});

function parseMember(text: string): Member {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected KEY=JSON.');
  return { key: text.slice(0, at), source: parseJsonText(text.slice(at + 1)) };
}

/** Operations of a JSON patch (RFC 6902). `add` replaces an existing member. */
function buildPatch({ policy, set = [], unset = [] }: SetOptions): string[] {
  const members = [...(policy === undefined ? [] : [{ key: '_retry_policy', source: policy }]), ...set];
  return [
    ...members.map(({ key, source }) =>
      objectText({ op: '"add"', path: jsonText(metadataPointer(key)), value: source }),
    ),
    ...unset.map((key) => JSON.stringify({ op: 'remove', path: metadataPointer(key) })),
  ];
}

const show = deployed({
  description: 'Show the metadata of a queue, including its retry policy, and whether it is paused.',
  arguments: [QUEUE],
  json: 'the metadata',
  examples: ['queue show orders'],
  read: async ({ api, options, terminal }, queue) => {
    const metadata = await findQueue(api, queue);
    if (metadata === undefined) throw await noSuchQueue(api, queue);
    terminal.printResult(options, metadata, () => printableJson(JSON.stringify(metadata, undefined, 2)));
    if (options.json === true) return undefined;
    // On stderr: stdout is JSON for other programs, also without the option.
    const waiting = await readable(api.call(countWaitingOfQueue, { path: { queue } }));
    if (waiting?.paused === undefined) return undefined;
    terminal.printError(
      `Paused ${describePauseTimes(waiting.paused)}. Waiting: ${waitingCountText(waiting, clockTime)}.`,
    );
    terminal.printError(`To resume it: ${commandText(`queue resume ${queue}`)}`);
    return undefined;
  },
});

const list = deployed<{ limit?: number }>({
  description:
    'List the queues, with the numbers of their subscriptions, undelivered deliveries and messages.',
  options: [option('--limit <N>', 'maximum number of queues (default: all)', wholeNumber(1))],
  json: 'one queue per line: name, metadata, paused',
  more: `
Undelivered are open and failed deliveries. Messages are those of the last 24
hours, where the deployment counts them (queueStatistics). With --json, queues
are listed without counts.
`,
  examples: ['queue list', 'queue list --json'],
  read: async ({ api, options: { limit, ...options }, terminal }) => {
    const counts = new Map<string, readonly string[]>();
    await printList(terminal, api.list(listQueues, { query: { detailed: true }, most: limit }), {
      ...options,
      columns: COLUMNS,
      prepare: async (queues) => {
        await inParallel(queues, SIDE_BY_SIDE, async ({ name }) => {
          counts.set(name, await countsOfQueue(api, name));
        });
      },
      formatRow: ({ name, metadata, paused }: ListedQueue) => [
        name,
        paused === undefined ? '' : colouredStatus('paused', terminal),
        ...(counts.get(name) ?? []),
        printable(JSON.stringify(metadata)),
      ],
      none: () => `No queue yet. Create one with ${commandText('queue create <queue>')}`,
      total: async () => (await api.call(listQueues, { query: { limit: 1, with_count: true } })).count,
    });
  },
});

/** Queues counted at a time, with three requests each. */
const SIDE_BY_SIDE = 5;

const COLUMNS = [
  'Queue',
  'State',
  right('Subscriptions'),
  right('Undelivered'),
  right('Messages (24 h)'),
  'Metadata',
];

/**
 * How many subscriptions, open and failed deliveries, and messages of the last 24 hours, as text. Empty: unknown, because
 * the caller may not read it or the deployment does not count.
 */
function countsOfQueue(api: ApiClient, queue: string): Promise<string[]> {
  return Promise.all([
    readCount(api.items(listSubscriptions, { path: { queue }, most: MAX_COUNTED })),
    readCount(api.items(listDeliveries, { path: { queue }, most: MAX_COUNTED })),
    messagesOfToday(api, queue),
  ]);
}

async function readCount(counted: Promise<Listed<unknown>>): Promise<string> {
  const read = await readable(counted);
  return read === undefined ? '' : `${read.items.length}${read.more ? '+' : ''}`;
}

/** Only what is read, so that an earlier version can answer. */
const counting = {
  ...getStatistics,
  schema: z.object({ enabled: z.boolean(), total: z.object({ messages: z.number() }) }),
};

async function messagesOfToday(api: ApiClient, queue: string): Promise<string> {
  const answer = await readable(api.call(counting, { path: { queue } }));
  return answer?.enabled === true ? String(answer.total.messages) : '';
}

/** Undefined if the API refuses: one missing count must not cost the whole list. */
function readable<Answer>(read: Promise<Answer>): Promise<Answer | undefined> {
  const isRefused = (error: unknown): boolean => isRefusal(error) || error instanceof NoSuchQueue;
  return read.catch(orElse(isRefused, undefined));
}

export const queueCommands = group({
  list,
  show,
  create,
  set,
  ...queuePauses,
  delete: remove,
  restore: queueRestore,
});
