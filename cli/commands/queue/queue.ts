import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import type { ApiClient, Listed } from '../../../api-client/api-client.ts';
import { deleteQueueFor } from '../../../api-client/archives.ts';
import {
  countWaitingOfQueue,
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
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import {
  collect,
  jsonText,
  objectText,
  parseJsonObjectText,
  parseJsonText,
  parseQueue,
  wholeNumber,
  withMembers,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { parsePolicy } from '../../options/input.ts';
import { printList, right } from '../../output/list.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { NOW_OPTION, restorableText } from '../../output/restorable.ts';
import { clockTime, colouredStatus } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import { addQueuePauses, describePauseTimes } from '../subscription/pause.ts';
import { addQueueRestore } from '../restore/restore.ts';

export function addQueueCommands(queue: Command, terminal: Terminal): void {
  addQueueList(queue, terminal);
  addQueueShow(queue, terminal);
  addQueueCreate(queue, terminal);
  addQueueSet(queue, terminal);
  addQueuePauses(queue, terminal);
  addQueueDelete(queue, terminal);
  addQueueRestore(queue, terminal);
}

type Options = DeploymentOptions & { metadata?: string; policy?: string };

/** `posthaste queue create` */
function addQueueCreate(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('create')
    .description('Create a queue. Fails if it exists.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .option('--metadata <JSON>', 'metadata, as a JSON object', parseJsonObjectText)
    .option(
      '--policy <POLICY>',
      'retry policy, as JSON or a preset (_retry_policy in the metadata)',
      parsePolicy,
    )
    .action(async (name: string, { metadata = '{}', policy, ...options }: Options) => {
      const api = await openApiToWrite(options, terminal);
      // PUT would replace the metadata of an existing queue.
      if ((await findQueue(api, name)) !== undefined)
        throw new Problem(`Queue ${name} already exists. To change it, use ${commandText('queue set')}`);
      const body = withMembers(metadata, [['_retry_policy', policy]]);
      await api.call(putQueue, { path: { queue: name }, body });
      terminal.printResult(options, { queue: name }, () => `Created queue ${name}.`);
    });
  onDeployment(command, {
    json: 'queue',
    examples: [
      'queue create orders',
      'queue create orders --policy patient',
      `queue create orders --policy '{"maximum_delay": 60, "backoff_retries": 12}'`,
    ],
  });
}

type DeleteOptions = DeploymentOptions & { yes?: true; now?: true };

const MORE = `
If the queue has subscriptions, the command asks for its name. Without a
terminal to ask on, it requires --yes. The deletion can be undone for some days
(setting archiveDays, 7 by default): the command prints until when and how.
--now leaves nothing to restore.
`;

/** `posthaste queue delete` */
function addQueueDelete(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('delete')
    .description('Delete a queue and its subscriptions, and cancel their open deliveries.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .option('--yes', 'delete the queue even if it has subscriptions, without a question')
    .option(...NOW_OPTION)
    .action(async (name: string, { now, ...options }: DeleteOptions) => {
      const api = await openApiToWrite(options, terminal);
      if ((await findQueue(api, name)) === undefined) throw await noSuchQueue(api, name);
      const count = options.yes === true ? 'none' : await countedSubscriptions(api, name);
      if (count !== 'none') {
        const answer = await terminal.ask(`Queue ${name} has ${count}. Type its name to delete them too: `);
        if (answer === undefined)
          return command.error(`error: queue ${name} has ${count}; add --yes to delete them too`);
        if (answer.trim() !== name) throw new Problem('That is not its name: nothing was deleted.');
      }
      const deletion = await deleteQueueFor(api, { path: { queue: name }, query: { now } });
      terminal.printResult(
        options,
        { queue: name, ...deletion },
        () => `Deleted queue ${name}. ${restorableText(deletion, `queue restore ${name}`)}`,
      );
    });
  onDeployment(command, {
    json: 'queue, restorableUntil, requestsEndWithinSeconds',
    more: MORE,
    examples: ['queue delete orders', 'queue delete orders --yes --now'],
  });
}

/** Counting stops here, at one page. */
const MAX_COUNTED = 100;

async function countedSubscriptions(api: ApiClient, queue: string): Promise<string> {
  const { items, more } = await api.items(listSubscriptions, { path: { queue }, most: MAX_COUNTED });
  if (items.length === 0) return 'none';
  return more
    ? `more than ${items.length} subscriptions`
    : counted(items.length, 'subscription', 'subscriptions');
}

type SetOptions = DeploymentOptions & { policy?: string; set?: readonly Member[]; unset?: readonly string[] };

/** `source` is JSON source text. */
type Member = { key: string; source: string };

const SET_MORE = `
Values are JSON, so a text needs double quotes. --policy is short for --set
_retry_policy=<JSON>.
`;

/** `posthaste queue set` */
function addQueueSet(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('set')
    .description('Change the given metadata of a queue, and keep the rest.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .option('--policy <POLICY>', 'retry policy, as JSON or a preset', parsePolicy)
    .option('--set <KEY=JSON>', 'set a metadata key; repeatable', collect(parseMember))
    .option('--unset <KEY>', 'remove a metadata key; repeatable', collect(String))
    .action(async (name: string, options: SetOptions) => {
      const changes = buildPatch(options);
      if (changes.length === 0)
        command.error('error: there is nothing to change; add --policy, --set or --unset');
      const api = await openApiToWrite(options, terminal);
      const body = `[${changes.join(',')}]`;
      const metadata = await api.call(patchQueue, { path: { queue: name }, body });
      terminal.printResult(options, metadata, () => printableJson(JSON.stringify(metadata, undefined, 2)));
    });
  onDeployment(command, {
    json: 'the metadata after the change',
    more: SET_MORE,
    examples: [
      `queue set orders --policy '{"retry_backoff_function": "geometric"}'`,
      `queue set orders --set owner='"billing"' --unset note`,
    ],
  });
}

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
      objectText([
        ['op', '"add"'],
        ['path', jsonText(metadataPointer(key))],
        ['value', source],
      ]),
    ),
    ...unset.map((key) => JSON.stringify({ op: 'remove', path: metadataPointer(key) })),
  ];
}

/** `posthaste queue show` */
function addQueueShow(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('show')
    .description('Show the metadata of a queue, including its retry policy, and whether it is paused.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .action(async (name: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const metadata = await findQueue(api, name);
      if (metadata === undefined) throw await noSuchQueue(api, name);
      terminal.printResult(options, metadata, () => printableJson(JSON.stringify(metadata, undefined, 2)));
      if (options.json === true) return;
      // On stderr: stdout is JSON for other programs, also without the option.
      const waiting = await readable(api.call(countWaitingOfQueue, { path: { queue: name } }));
      if (waiting?.paused === undefined) return;
      terminal.printError(
        `Paused ${describePauseTimes(waiting.paused)}. Waiting: ${waitingCountText(waiting, clockTime)}.`,
      );
      terminal.printError(`To resume it: ${commandText(`queue resume ${name}`)}`);
    });
  onDeployment(command, { json: 'the metadata', examples: ['queue show orders'] });
}

const LIST_MORE = `
Undelivered are open and failed deliveries. Messages are those of the last 24
hours, where the deployment counts them (queueStatistics). With --json, queues
are listed without counts.
`;

/** `posthaste queue list` */
function addQueueList(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('list')
    .description(
      'List the queues, with the numbers of their subscriptions, undelivered deliveries and messages.',
    )
    .option('--limit <N>', 'maximum number of queues (default: all)', wholeNumber(1))
    .action(async ({ limit, ...options }: DeploymentOptions & { limit?: number }) => {
      const api = await openApi(options, terminal);
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
    });
  onDeployment(command, {
    json: 'one queue per line: name, metadata, paused',
    more: LIST_MORE,
    examples: ['queue list', 'queue list --json'],
  });
}

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
