import { setTimeout as pause } from 'node:timers/promises';
import type { CallLogEntry, Invocation } from '../../test/support/call-log.ts';
import { toClientOptions } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { toDeliveryItem } from '../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { toMessageItem } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { toSubscriptionItem } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/domain/duration.ts';
import { aSubscription, NO_RETRIES } from '../../test/support/builders.ts';
import { aDelivery, anAttempt } from '../../test/support/delivery-builders.ts';
import { median, sumOf } from '../harness/figures.ts';
import { type ApiWorld, mostAtOnce, RESERVED } from './api-world.ts';

/**
 * A request alone. `on AWS ms`: with one processor, which the function has there too, and ten calls at a time that take
 * 10 ms each.
 */
export type RequestFigures = {
  request: string;
  calls: number;
  kilobytes: number;
  'cpu ms': number;
  'local ms': number;
  'on AWS ms': number;
};

/** `refused`: at the limit of invocations. `timed out`: the local AWS did not answer a call in time. */
export type CallerFigures = {
  callers: number;
  reserved: number;
  'most at once': number;
  answered: number;
  refused: number;
  'timed out': number;
  'longest cpu ms': number;
  'longest local ms': number;
};

const QUEUE = 'deep';
const SUBSCRIPTIONS = ['s-1', 's-2', 's-3'];
const UNUSED = 's-none';
const LARGE = { matched: 100_000, buckets: 400, stored: 40, perBucket: 250 };

const SEEDED_AT = Date.now();
const SPREAD_MS = 120 * MINUTE_MS;
const since = new Date(SEEDED_AT - SPREAD_MS).toISOString();

/** That match nothing, or read as much as a page can. */
const requests: Readonly<Record<string, string>> = {
  'deliveries by a status that none has': 'deliveries?status=rejected&limit=100',
  'deliveries of a subscription by it': `deliveries?status=rejected&subscription=${UNUSED}&limit=100`,
  'all deliveries of a subscription that got none': `subscriptions/${UNUSED}/deliveries?limit=100`,
  'a page of messages': 'messages?limit=100',
  'reconciliation report': `books?since=${since}`,
  'reconciliation report of a subscription': `books?since=${since}&subscription=${UNUSED}`,
  [`a message to ${LARGE.matched} subscriptions`]: 'messages/large',
};

const CALLERS = 50;
const ROUNDS = 3;
/** The line of an invocation is written after its answer. */
const LOG_MS = 250;

const CALL_MS = 10;
const CALLS_AT_ONCE = 10;

/** DynamoDB takes so many items in one request ("BatchWriteItem", DynamoDB API reference). */
const BATCH = 25;

/** Three exhausted deliveries of each message of the last hours, and of an earlier message the buckets that a request counts. */
export async function seedDeep({ endpoints, makeQueue, say }: ApiWorld, messages: number): Promise<void> {
  say(`Storing ${messages} messages with ${SUBSCRIPTIONS.length} deliveries each`);
  await makeQueue(QUEUE, NO_RETRIES);
  const documents = dynamoClient(toClientOptions(endpoints));
  const now = SEEDED_AT;
  const expiresAt = now + DAY_MS;
  const write = async (table: string, items: readonly Record<string, unknown>[]): Promise<void> => {
    for (let from = 0; from < items.length; from += BATCH) {
      const writes = items.slice(from, from + BATCH).map((Item) => ({ PutRequest: { Item } }));
      await documents.batchWrite({ RequestItems: { [table]: writes } });
    }
  };
  await write(
    endpoints.subscriptionsTable,
    [...SUBSCRIPTIONS, UNUSED].map((id) =>
      toSubscriptionItem(
        aSubscription({ id, queue: QUEUE, subscriber: `http://127.0.0.1:9/${id}`, createdAt: 1 }),
      ),
    ),
  );
  const attempts = [anAttempt({ startedAt: now })];
  const stored = (
    messageId: string,
    acceptedAt: number,
    keys: readonly { subscriptionId: string; bucket: number }[],
  ) =>
    keys.map((key) =>
      toDeliveryItem(
        aDelivery({
          key: { queue: QUEUE, messageId, ...key },
          status: 'exhausted',
          acceptedAt,
          attempts,
          expiresAt,
        }),
      ),
    );
  const message = (messageId: string, acceptedAt: number, counts: { matched: number; buckets: number }) =>
    toMessageItem({
      key: { queue: QUEUE, messageId },
      acceptedAt,
      listedAt: acceptedAt,
      filtered: 0,
      duplicates: 0,
      expiresAt,
      ...counts,
    });
  const items: Record<string, unknown>[] = [];
  const keys = SUBSCRIPTIONS.map((subscriptionId) => ({ subscriptionId, bucket: 0 }));
  for (let index = 0; index < messages; index += 1) {
    const acceptedAt = now - Math.ceil((SPREAD_MS * (index + 1)) / messages);
    items.push(message(`m-${index}`, acceptedAt, { matched: keys.length, buckets: 1 }));
    items.push(...stored(`m-${index}`, acceptedAt, keys));
  }
  const { matched, buckets, stored: filled, perBucket } = LARGE;
  const acceptedAt = now - 130 * MINUTE_MS;
  items.push(message('large', acceptedAt, { matched, buckets }));
  const ofLarge = Array.from({ length: filled * perBucket }, (_, index) => ({
    subscriptionId: `l-${index}`,
    bucket: index % filled,
  }));
  items.push(...stored('large', acceptedAt, ofLarge));
  await write(endpoints.deliveriesTable, items);
}

/** Each request several times, while nothing else runs. */
export async function measureAlone(world: ApiWorld): Promise<RequestFigures[]> {
  const figures: RequestFigures[] = [];
  for (const [request, path] of Object.entries(requests)) {
    world.say(`Alone: ${request}`);
    const rounds: Round[] = [];
    for (let tries = 0; tries < 2 * ROUNDS && rounds.length < ROUNDS; tries += 1)
      rounds.push(...(await roundOf(world, path)));
    if (rounds.length < ROUNDS) throw new Error(`${path}: the local AWS is too busy`);
    const of = (name: keyof Round): number => median(rounds.map((round) => round[name]));
    figures.push({
      request,
      calls: of('calls'),
      kilobytes: of('bytes') / 1_024,
      'cpu ms': of('cpuMs'),
      'local ms': of('ms'),
      'on AWS ms': of('cpuMs') + Math.ceil(of('calls') / CALLS_AT_ONCE) * CALL_MS,
    });
  }
  return figures;
}

type Round = { calls: number; bytes: number; cpuMs: number; ms: number };

/** Empty where the local AWS is busy and does not answer a call in time. */
async function roundOf(world: ApiWorld, path: string): Promise<Round[]> {
  const from = Date.now();
  const { status, text } = await world.call('GET', `/v2/queues/${QUEUE}/${path}`);
  if (status === 500) return [];
  if (status !== 200) throw new Error(`${path} got ${status}: ${text}`);
  await pause(LOG_MS, undefined, { signal: world.signal });
  const log = world.logSince(from);
  const calls = log.flatMap((entry) => (entry.kind === 'call' && isOfApi(world, entry) ? [entry] : []));
  const bytes = sumOf(calls, ({ responseBytes }) => responseBytes);
  return invocationsIn(world, log).map(({ cpuMs, ms }) => ({
    calls: calls.length,
    bytes,
    cpuMs: cpuMs ?? Number.NaN,
    ms,
  }));
}

/** Fifty callers at once, each with one request. */
export async function listTogether(world: ApiWorld): Promise<CallerFigures> {
  const { call, say, signal, logSince, endpoints } = world;
  say(`${CALLERS} callers at once`);
  const paths = Object.values(requests);
  const from = Date.now();
  const statuses = await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const { status } = await call('GET', `/v2/queues/${QUEUE}/${paths[caller % paths.length] ?? 'books'}`);
      return status;
    }),
  );
  const counted = (...wanted: readonly number[]): number =>
    statuses.filter((status) => wanted.includes(status)).length;
  await pause(LOG_MS, undefined, { signal });
  const log = logSince(from);
  const invocations = invocationsIn(world, log);
  return {
    callers: CALLERS,
    reserved: RESERVED,
    'most at once': mostAtOnce(log, endpoints.functions.api),
    answered: counted(200),
    refused: counted(429, 503),
    'timed out': counted(500),
    'longest cpu ms': Math.max(...invocations.map(({ cpuMs }) => cpuMs ?? Number.NaN)),
    'longest local ms': Math.max(...invocations.map(({ ms }) => ms)),
  };
}

function isOfApi({ endpoints }: ApiWorld, { caller }: { caller: string }): boolean {
  return caller.endsWith(`/${endpoints.functions.api}`);
}

function invocationsIn({ endpoints }: ApiWorld, log: readonly CallLogEntry[]): Invocation[] {
  return log.flatMap((entry) =>
    entry.kind === 'invocation' && entry.function === endpoints.functions.api ? [entry] : [],
  );
}
