import type { ApiClient } from '../../../api-client/api-client.ts';
import {
  listArchivedQueues,
  listArchivedSubscriptions,
  restoreQueue,
  restoreSubscription,
} from '../../../api-client/operations.ts';
import { findQueue } from '../../../api-client/queues.ts';
import { isRefusal } from '../../../api-client/refusal.ts';
import { isWholeId, shortId } from '../../../api-client/subscription-labels.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { isMeant } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { argument, option, parseQueue, parseTime, QUEUE } from '../../options/arguments.ts';
import { deployed, type Result } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { clockTime, printable } from '../../output/text.ts';
import type { Terminal } from '../../terminal.ts';
import { describeName } from '../subscription/pause.ts';

type QueueOptions = DeploymentOptions & { until?: number };

/** `posthaste queue restore` */
export const queueRestore = deployed<QueueOptions>({
  description: 'Restore a deleted queue with its subscriptions, or list what can be restored.',
  arguments: [argument('[queue]', 'name of the deleted queue', parseQueue)],
  options: [
    option('--until <TIME>', 'undo the last deletion up to this time (default: the last one)', parseTime),
  ],
  json: 'name, state; in a list one queue per line: name, deletedAt, restorableUntil',
  more: `
Without a queue, the command lists the deleted queues that can be restored, and
until when (setting archiveDays). A restored queue has its subscriptions again,
with their ids and secrets. What the deletion cancelled is not sent by itself:
recover start sends it.
`,
  examples: ['queue restore', 'queue restore orders'],
  run: ({ options, terminal }, name: string | undefined) =>
    name === undefined ? listQueues(options, terminal) : restoreNamed(name, options, terminal),
});

async function listQueues(options: DeploymentOptions, terminal: Terminal): Promise<undefined> {
  const api = await openApi(options, terminal);
  await printList(terminal, api.list(listArchivedQueues, {}), {
    ...options,
    columns: ['Queue', ...TIMES],
    formatRow: (one) => [one.name, ...timeCells(one)],
    none: () => 'No deleted queue can be restored.',
  });
}

async function restoreNamed(
  name: string,
  { until, ...options }: QueueOptions,
  terminal: Terminal,
): Promise<Result> {
  const api = await openApiToWrite(options, terminal);
  // The list shows whole seconds.
  const body = { until: until === undefined ? undefined : new Date(until + 999).toISOString() };
  const restored = await api
    .call(restoreQueue, { path: { queue: name }, body })
    .catch(async (error: unknown) => {
      const isTaken = isRefusal(error) && error.code === 'conflict' && (await findQueue(api, name));
      throw isTaken ? queueExists(name, error) : error;
    });
  const result =
    restored.state === 'restored'
      ? `Restored queue ${name} with its subscriptions.`
      : `Queue ${name} has many subscriptions. It appears once all are back: ${commandText(`queue show ${name}`)}`;
  return [restored, () => withRecovery(result, name)];
}

function queueExists(name: string, cause: unknown): Problem {
  const advice = `To restore the deleted one, delete this one for good: ${commandText(`queue delete ${name} --now`)}`;
  return new Problem(`Queue ${name} exists. ${advice}`, { cause });
}

/** `posthaste subscription restore` */
export const subscriptionRestore = deployed({
  description: 'Restore a deleted subscription, or list what can be restored.',
  arguments: [
    QUEUE,
    argument('[subscription]', 'id of the deleted subscription, or its first characters, its name or URL'),
  ],
  json: 'the subscription; in a list one per line: id, name, subscriber, deletedAt, restorableUntil',
  more: `
Without a subscription, the command lists the deleted ones of the queue that
can be restored, and until when (setting archiveDays). A restored subscription
has its id, secrets and tokens again. What the deletion cancelled is not sent by
itself: recover start sends it.
`,
  examples: ['subscription restore orders', 'subscription restore orders 5b0c0f1e'],
  run: async ({ options, terminal }, queue, reference: string | undefined) => {
    if (reference === undefined) return listSubscriptions(queue, options, terminal);
    const api = await openApiToWrite(options, terminal);
    const path = { queue, subscription: await resolveArchived(api, queue, reference) };
    const view = await api.call(restoreSubscription, { path });
    const of = `${queue} --subscription ${shortId(view.id)}`;
    return [view, () => withRecovery(`Restored ${describeName(view)}.`, of)];
  },
});

async function listSubscriptions(
  queue: string,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<undefined> {
  const api = await openApi(options, terminal);
  await printList(terminal, api.list(listArchivedSubscriptions, { path: { queue } }), {
    ...options,
    columns: ['Subscription', 'Name', ...TIMES, 'Subscriber'],
    formatRow: ({ id, name = '', subscriber, ...times }) => [
      ...[shortId(id), name].map(printable),
      ...timeCells(times),
      printable(subscriber),
    ],
    none: () => `No deleted subscription of queue ${queue} can be restored.`,
  });
}

/** The id of the deleted subscription that a user means. @throws Problem if none or several fit */
async function resolveArchived(api: ApiClient, queue: string, reference: string): Promise<string> {
  if (isWholeId(reference)) return reference;
  const { items } = await api.items(listArchivedSubscriptions, { path: { queue } });
  const [first, second] = items.filter((one) => one.subscriber === reference || isMeant(one, reference));
  const list = commandText(`subscription restore ${queue}`);
  if (first === undefined)
    throw new Problem(`No deleted subscription ${reference} can be restored. To see all, run ${list}`);
  if (second !== undefined)
    throw new Problem(`${reference} fits several deleted subscriptions. Give the id: ${list}`);
  return first.id;
}

const TIMES = ['Deleted at', 'Restorable until'];

function timeCells({ deletedAt, restorableUntil }: Record<'deletedAt' | 'restorableUntil', string>) {
  return [clockTime(deletedAt), clockTime(restorableUntil)];
}

/** `of`: whose deliveries recover start sends. */
function withRecovery(result: string, of: string): string {
  return `${result}\nTo send what the deletion cancelled: ${commandText(`recover start ${of} --since 7d`)}`;
}
