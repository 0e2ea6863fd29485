import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { isBalanced } from '../../shared/domain/delivery/books.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { type Delivery, isOpen } from '../../shared/domain/delivery/delivery.ts';
import { isDuring, isLost, unexplainedDuplicatesOf } from '../chaos/books.ts';
import { messagesOn, type System } from '../chaos/deployed-system.ts';
import { faultLog } from '../chaos/fault-proxy.ts';
import { allBooks } from '../support/all-books.ts';
import { functionLogs } from '../support/function-logs.ts';
import { toClientOptions } from '../../local/endpoints.ts';
import type { Api, Listener, Published, PullSubscriber } from './traffic.ts';
import type { Fleet } from './two-versions.ts';

export type Context = {
  system: System;
  published: readonly Published[];
  listeners: readonly Listener[];
  pull: PullSubscriber;
  /** `message subscription` of each delivery that was cancelled by hand, or a deleted subscription. */
  cancelled: Set<string>;
};

/**
 * What has not ended: messages on the work queues, and open deliveries. Not the operation queue: the cancellation of a
 * deleted subscription looks once more after some minutes.
 */
export async function findOpen(context: Context): Promise<string[]> {
  const { endpoints } = context.system;
  const urls = [endpoints.ingressQueueUrl, endpoints.deliveryQueueUrl, endpoints.retryQueueUrl];
  const counts = await Promise.all(
    urls.map(async (url) => ({ url, count: await messagesOn(context.system, url) })),
  );
  const queued = counts.flatMap(({ url, count }) => (count === 0 ? [] : [`${count} on ${url}`]));
  const all = await readDeliveries(context);
  const open = all.flatMap(({ message: { queue, messageId }, records }) =>
    records.length === 0 && !isLeft(context, queue)
      ? [`${queue} ${messageId}: no record`]
      : records
          .filter(isOpen)
          .map(({ key, status }) => `${queue} ${messageId} ${key.subscriptionId}: ${status}`),
  );
  return [...queued, ...open];
}

/** Whether the only subscription of a queue was deleted, so that its messages match none. */
function isLeft({ listeners, cancelled }: Context, queue: string): boolean {
  return listeners.some((one) => one.queue === queue && cancelled.has(one.subscriptionId));
}

/** Every message with the records of its deliveries, from consistent reads. */
async function readDeliveries({ system, published }: Pick<Context, 'system' | 'published'>) {
  const { dynamo, endpoints } = system;
  const context = {
    messageRecords: dynamoMessageRecords(dynamo, endpoints.deliveriesTable),
    deliveryListings: dynamoDeliveryListings(dynamo, endpoints.deliveriesTable, {
      sleep: (milliseconds) => pause(milliseconds),
      random: Math.random,
    }),
  };
  return inParallel(published, 4, async (message) => {
    const found = await context.messageRecords.find(message);
    const page = found && (await context.deliveryListings.ofMessage(found, { limit: 100 }));
    return { message, records: page?.items ?? [] };
  });
}

/** What is wrong with the deliveries, a line for each. */
export async function findFaults(context: Context): Promise<string[]> {
  const all = await readDeliveries(context);
  return all.flatMap(({ message, records }) => {
    if (message.queue === 'shelf') return pullFaults(message, records, context);
    const expected = context.listeners.filter(({ queue }) => queue === message.queue);
    return expected.flatMap((listener) =>
      deliveryFaults(
        message,
        listener,
        records.find(({ key }) => key.subscriptionId === listener.subscriptionId),
        context,
      ),
    );
  });
}

function deliveryFaults(
  { messageId }: Published,
  listener: Listener,
  record: Delivery | undefined,
  { cancelled }: Context,
): string[] {
  const pair = { messageId, record, replies: listener.replies.get(messageId) ?? [] };
  const isCancelled = cancelled.has(`${messageId} ${listener.subscriptionId}`);
  const ends = possibleEnds(listener, isCancelled, cancelled);
  const status = record?.status ?? 'not_recorded';
  return [
    ...(ends.includes(status) ? [] : [`${status} in place of ${ends.join(' or ')}`]),
    ...(record !== undefined && isLost(pair) ? ['not ended, or delivered without a success'] : []),
    ...unexplainedDuplicatesOf(pair, faultLog()).flatMap(({ at }) =>
      describeDuplicate(at, record, isCancelled),
    ),
  ].map((fault) => `${listener.path} ${messageId}: ${fault}`);
}

function possibleEnds(
  { kind, subscriptionId }: Listener,
  isCancelled: boolean,
  cancelled: ReadonlySet<string>,
): string[] {
  // What is published after its subscription was deleted does not match.
  if (cancelled.has(subscriptionId)) return [kind.ends, 'cancelled', 'not_recorded'];
  return isCancelled ? [kind.ends, 'cancelled'] : [kind.ends];
}

/** A request that was on its way when its delivery was cancelled is a late result, and no fault. */
function describeDuplicate(
  at: number,
  record: Pick<Delivery, 'attempts' | 'lateResults'> = { attempts: [], lateResults: [] },
  isCancelled: boolean,
): string[] {
  const { attempts, lateResults } = record;
  if (isCancelled && lateResults.some((attempt) => isDuring(attempt, at))) return [];
  const spans = (list: readonly Attempt[]) =>
    list.map(({ startedAt, durationMs }) => [startedAt, durationMs]);
  const recorded = JSON.stringify({ attempts: spans(attempts), lateResults: spans(lateResults) });
  return [`a request at ${at} without an attempt; start and length of those on record: ${recorded}`];
}

function pullFaults({ messageId }: Published, records: readonly Delivery[], { pull }: Context): string[] {
  const [record] = records;
  if (record?.status !== 'delivered') return [`shelf ${messageId}: ${record?.status ?? 'no record'}`];
  if (!pull.acknowledged.has(messageId)) return [`shelf ${messageId}: delivered without an acknowledgement`];
  return pull.again.includes(messageId) ? [`shelf ${messageId}: received again after its end`] : [];
}

/** The reconciliation report of a queue, if it does not balance. @throws AssertionError if the API refuses */
export async function findImbalance(api: Api, queue: string): Promise<string | undefined> {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const books = await allBooks((path) => api({ method: 'GET', path }), queue, since);
  return isBalanced(books) ? undefined : `${queue} does not balance: ${JSON.stringify(books)}`;
}

/** Dead letters of any queue. */
export async function deadLetters(system: System): Promise<string[]> {
  const { endpoints } = system;
  const urls = [
    endpoints.ingressDeadLetterUrl,
    endpoints.deliveryDeadLetterUrl,
    endpoints.operationDeadLetterUrl,
  ];
  const counts = await Promise.all(urls.map(async (url) => ({ url, count: await messagesOn(system, url) })));
  return counts.flatMap(({ url, count }) => (count === 0 ? [] : [`${count} dead letters on ${url}`]));
}

const logLine = z.looseObject({ level: z.string(), message: z.string(), error: z.unknown() });

/** Errors that the functions of a version logged, counted; and how many lines they logged. */
export async function readLogs({ endpoints }: System, { functions }: Fleet) {
  const lines = await functionLogs(toClientOptions(endpoints))(Object.values(functions));
  const errors = new Map<string, number>();
  for (const { level, message, error } of lines.flatMap(parseLine)) {
    if (level !== 'ERROR') continue;
    const text = `${message} ${JSON.stringify(error ?? '').slice(0, 600)}`;
    errors.set(text, (errors.get(text) ?? 0) + 1);
  }
  return { lines: lines.length, errors: [...errors].map(([text, count]) => `${count} × ${text}`) };
}

function parseLine(line: string): z.output<typeof logLine>[] {
  try {
    const parsed = logLine.safeParse(JSON.parse(line));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}
