import type { ApiClient } from '../../../api-client/api-client.ts';
import {
  type DeliveryFilter,
  deliveryPath,
  deliveryQuery,
  toSummary,
} from '../../../api-client/deliveries.ts';
import { showMessage } from '../../../api-client/messages.ts';
import {
  getDelivery,
  listDeliveries,
  listDeliveriesOfMessage,
  listDeliveriesOfSubscription,
  type ListedDelivery,
} from '../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../api-client/refusal.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import { commandText, shellWord } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { orAfter } from '../../interruption.ts';
import { openApi } from '../../api/api-access.ts';
import {
  DELIVERY_ADDRESS,
  option,
  parseDuration,
  parseId,
  QUEUE,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed, group } from '../../options/deployed.ts';
import { type DeploymentOptions, VERBOSE } from '../../options/deployment-options.ts';
import { printList, right } from '../../output/list.ts';
import { clockTime, colouredStatus, printable } from '../../output/text.ts';
import { pollUntilDone } from '../../polling.ts';
import type { Terminal } from '../../terminal.ts';
import {
  DELIVERY_FILTER,
  describeDelivery,
  EXAMPLE_ADDRESS,
  findAddress,
  statusText,
  whenText,
} from './delivery-text.ts';

const show = deployed({
  description: 'Show a delivery with its attempts and planned retries.',
  arguments: DELIVERY_ADDRESS,
  json: 'the delivery, as in the API',
  examples: [`deliveries show ${EXAMPLE_ADDRESS}`],
  read: async ({ api, options, terminal }, queue, message, subscription) => {
    const address = await findAddress(api, queue, message, subscription);
    const delivery = await api.call(getDelivery, deliveryPath(address)).catch((error: unknown) => {
      throw isNotFound(error) ? new Problem(`There is no such delivery. ${whyText(queue, message)}`) : error;
    });
    const labels = subscriptionLabels(api, queue);
    if (options.json !== true) await labels.load([delivery.subscriptionId]);
    return [delivery, () => describeDelivery(delivery, terminal, labels.of(delivery.subscriptionId))];
  },
});

function whyText(queue: string, message: string): string {
  return `To see why, run ${commandText(`explain ${queue} ${printable(shellWord(message))}`)}`;
}

type Options = DeliveryFilter & { message?: string; all?: true; limit?: number };

const list = deployed<Options>({
  description: 'List open and failed deliveries, newest first, or all deliveries of a message.',
  arguments: [QUEUE],
  options: [
    option('--message <ID>', 'all deliveries of this message, including delivered ones', parseId).conflicts([
      'status',
      'subscription',
      'since',
      'until',
    ]),
    option('--all', 'with --subscription: delivered ones too, of the last 24 h without --since').conflicts([
      'status',
      'message',
    ]),
    option('--deleted', 'list deliveries of a deleted queue'),
    option(
      '--limit <N>',
      'maximum number of deliveries (default: 100 for a queue, all for a message)',
      wholeNumber(1),
    ),
    ...DELIVERY_FILTER,
  ],
  json: 'one delivery per line, as in the API',
  examples: [
    'deliveries list orders --status exhausted --since 2h',
    'deliveries list orders --message order-17',
    'deliveries list orders --subscription 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --all',
  ],
  run: async ({ options, terminal, refuse }, queue) => {
    const { message, all, limit, json } = options;
    if (all === true && options.subscription === undefined) refuse('--all needs --subscription');
    const api = await openApi(options, terminal);
    const labels = subscriptionLabels(api, queue);
    const form = {
      ...(json && { json }),
      columns: COLUMNS,
      prepare: (items: readonly { subscriptionId: string }[]) =>
        labels.load(items.map(({ subscriptionId }) => subscriptionId)),
      none: () =>
        message === undefined
          ? noneText(all === undefined && options.status === undefined)
          : `The message has no delivery. ${whyText(queue, message)}`,
    };
    const rowOfListed = (delivery: ListedDelivery): string[] => formatRow(delivery, labels, terminal);
    if (message === undefined) {
      const filter = await filterFrom(api, queue, options);
      const listed = (all === true ? listAll : listUndelivered)(api, queue, filter, limit);
      await printList(terminal, listed, { ...form, formatRow: rowOfListed });
    } else {
      const found = api.list(listDeliveriesOfMessage, { path: { queue, message }, most: limit });
      await printList(terminal, found, { ...form, formatRow: (view) => rowOfListed(toSummary(view)) });
    }
  },
});

function noneText(isDefault: boolean): string {
  return isDefault
    ? 'No open or failed deliveries. Delivered ones: --message ID, or --subscription ID --all'
    : 'No matching deliveries.';
}

function listUndelivered(api: ApiClient, queue: string, filter: DeliveryFilter, most = 100) {
  return api.list(listDeliveries, { path: { queue }, query: deliveryQuery(filter), most });
}

function listAll(api: ApiClient, queue: string, filter: DeliveryFilter, most = 100) {
  const { subscription = '', since, until, deleted } = filter;
  const query = deliveryQuery({ since, until, deleted });
  return api.list(listDeliveriesOfSubscription, { path: { queue, subscription }, query, most });
}

/** The filter among the options of a command, with the id of the subscription. */
async function filterFrom(
  api: ApiClient,
  queue: string,
  { subscription: given, status, since, until, deleted }: DeliveryFilter,
): Promise<DeliveryFilter> {
  const subscription = given === undefined ? undefined : await resolveSubscription(api, queue, given);
  return { status, subscription, since, until, deleted };
}

const COLUMNS = [
  'Message',
  'Subscription',
  'Subscriber',
  'Status',
  right('Attempts'),
  'Last response',
  'Next attempt',
];

function formatRow(
  delivery: ListedDelivery,
  labels: Pick<SubscriptionLabels, 'of'>,
  terminal: Terminal,
): string[] {
  const { messageId, subscriptionId, attemptCount, lastAttempt, nextAttemptAt, waiting } = delivery;
  return [
    printable(messageId),
    printable(shortId(subscriptionId)),
    printable(labels.of(subscriptionId)),
    colouredStatus(statusText(delivery), terminal),
    String(attemptCount),
    printable(String(lastAttempt?.statusCode ?? lastAttempt?.error ?? '')),
    whenText(nextAttemptAt, waiting),
  ];
}

type WatchOptions = DeliveryFilter & { message?: string; for?: number; verbose?: true };

const watch = deployed<WatchOptions>({
  description: 'Print deliveries as they change.',
  arguments: [QUEUE],
  options: [
    option('--message <ID>', 'only deliveries of this message', parseId),
    VERBOSE,
    option('--for <DURATION>', 'stop after this long: seconds, or 30m, 1h', parseDuration),
    ...DELIVERY_FILTER,
  ],
  json: 'one change per line: at, queue, messageId, subscriptionId, status, reason, attemptCount, last, nextAttemptAt',
  more: `
Prints the current deliveries, then each change. It polls every second while
there are changes, and up to every 10 s otherwise. For a queue it watches the
100 newest open or failed deliveries, and open ones it has seen until they end.
With --message it watches all deliveries of one message, and stops when they
have ended.

Exit status: 0, also after Ctrl-C.
`,
  examples: ['deliveries watch orders --for 10m', 'deliveries watch orders --message order-17'],
  read: async ({ api, options, terminal }, queue) => {
    const filter = await filterFrom(api, queue, options);
    const changes = await terminal.untilInterrupted((interrupted) => {
      const signal = orAfter(interrupted, options.for);
      return watchDeliveries(api, { ...options, queue, filter, signal }, terminal);
    });
    if (changes === 0 && options.json !== true)
      terminal.printError(`Watched ${watchedText(queue, options.message, filter)}: nothing happened.`);
  },
});

export const deliveriesCommands = group({ list, show, watch });

function watchedText(queue: string, message: string | undefined, filter: DeliveryFilter): string {
  if (message !== undefined) return `the deliveries of message ${printable(message)} on queue ${queue}`;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return `the ${isFiltered ? 'matching ' : ''}open and failed deliveries of queue ${queue}`;
}

function changeText(change: Change, terminal: Terminal): string {
  const { at, messageId, subscriptionId, attemptCount, last, nextAttemptAt } = change;
  const next = nextAttemptAt === undefined ? '' : `, next ${clockTime(nextAttemptAt)}`;
  const answer = last === undefined ? '' : `, ${printable(last)}`;
  return (
    `${clockTime(at)}  ${printable(messageId)}  ${printable(shortId(subscriptionId))}  ` +
    `${colouredStatus(statusText(change), terminal)}  #${attemptCount}${answer}${next}`
  );
}

/** The state of a delivery when a poll found it changed. `last`: status or error of the last attempt. */
type Snapshot = Pick<ListedDelivery, 'queue' | 'messageId' | 'subscriptionId' | 'status' | 'attemptCount'> &
  Record<'reason' | 'last' | 'nextAttemptAt', string | undefined>;

/** `at`: time of the poll. */
type Change = Snapshot & { at: string };

type Watched = DeploymentOptions & {
  queue: string;
  message?: string;
  filter: DeliveryFilter;
  /** Ends the watch without an error. */
  signal: AbortSignal;
  verbose?: true;
};

/** Deliveries per poll of a queue. */
const NEWEST = 100;
/** Open deliveries that left the listing and are fetched one by one; further ones are no longer watched. */
const MAX_FOLLOWED = 50;
/** Seconds. */
const POLLING = { floor: 1, ceiling: 10 };

/**
 * Polls, prints each change once, and returns how many there were. With `message`, it returns when all deliveries of the
 * message have ended.
 */
async function watchDeliveries(api: ApiClient, watched: Watched, terminal: Terminal): Promise<number> {
  const { message, signal, verbose } = watched;
  let printed = 0;
  const known = new Map<string, Snapshot>();
  await pollUntilDone({ limits: POLLING, signal, verbose }, terminal, async () => {
    const found = await (message === undefined
      ? pollQueue(api, watched, known)
      : pollMessage(api, message, watched));
    const changes = found.filter((seen) => JSON.stringify(known.get(toKey(seen))) !== JSON.stringify(seen));
    for (const seen of changes) {
      known.delete(toKey(seen));
      known.set(toKey(seen), seen);
      const change: Change = { at: new Date().toISOString(), ...seen };
      terminal.printResult(watched, change, () => changeText(change, terminal));
    }
    printed += changes.length;
    forgetOldest(known);
    if (await isFinished(api, watched, found)) return 'done';
    return changes.length > 0 ? 'changed' : 'empty';
  });
  return printed;
}

/** Deliveries are recorded from their first attempt on, so fewer may be found than subscriptions matched. */
async function isFinished(
  api: ApiClient,
  { queue, message }: Watched,
  found: readonly Snapshot[],
): Promise<boolean> {
  if (message === undefined || found.length === 0) return false;
  if (found.some(({ status }) => isOpenStatus(status))) return false;
  const { view } = await showMessage(api, queue, message);
  return view.unfinished !== true && found.length >= view.matched;
}

function toKey({ messageId, subscriptionId }: Snapshot): string {
  return JSON.stringify([messageId, subscriptionId]);
}

/** Bounds the memory of a watch that runs for weeks; the last 2,000 deliveries are enough to recognise changes. */
function forgetOldest(known: Map<string, Snapshot>): void {
  for (const key of known.keys()) {
    if (known.size <= 20 * NEWEST) return;
    known.delete(key);
  }
}

/** Empty as long as the message has no record: it may just have been published. */
async function pollMessage(api: ApiClient, message: string, { queue, signal }: Watched): Promise<Snapshot[]> {
  const { items } = await api
    .items(listDeliveriesOfMessage, { path: { queue, message }, signal })
    .catch(orElse(isNotFound, { items: [], more: false }));
  return items.map((delivery) => takeSnapshot(toSummary(delivery)));
}

async function pollQueue(
  api: ApiClient,
  { queue, filter, signal }: Watched,
  known: ReadonlyMap<string, Snapshot>,
): Promise<Snapshot[]> {
  const query = deliveryQuery(filter);
  const { items } = await api.items(listDeliveries, { path: { queue }, query, most: NEWEST, signal });
  const newest = items.map(takeSnapshot);
  const keys = new Set(newest.map(toKey));
  // The queue's listing omits delivered ones, so a missing open delivery is fetched separately.
  const gone = [...known.values()].filter((seen) => isOpenStatus(seen.status) && !keys.has(toKey(seen)));
  const followed = await Promise.all(gone.slice(-MAX_FOLLOWED).map((seen) => refetch(api, seen, signal)));
  // Oldest first, so that lines are printed in chronological order.
  return [...newest.toReversed(), ...followed];
}

function refetch(api: ApiClient, seen: Snapshot, signal: AbortSignal): Promise<Snapshot> {
  // Not found: the record was deleted together with its message.
  const gone: Snapshot = { ...seen, status: 'cancelled', reason: 'gone' };
  return api
    .call(getDelivery, { ...deliveryPath(seen), signal })
    .then((view) => takeSnapshot(toSummary(view)))
    .catch(orElse(isNotFound, gone));
}

function takeSnapshot(delivery: ListedDelivery): Snapshot {
  const { queue, messageId, subscriptionId, status, reason, attemptCount, lastAttempt } = delivery;
  const last = lastAttempt?.statusCode?.toString() ?? lastAttempt?.error;
  const { nextAttemptAt } = delivery;
  return { queue, messageId, subscriptionId, status, reason, attemptCount, last, nextAttemptAt };
}
