import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dynamoClient, singleRequestClient } from '../../../shared/adapters/dynamodb/client.ts';
import { dynamoDeliveries } from '../../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { toDeliveryItem } from '../../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { toItemKey } from '../../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { dynamoDeliveryListings } from '../../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import { dynamoMessageRecords } from '../../../shared/adapters/dynamodb/deliveries/message-records.ts';
import {
  type Direction,
  mergedPage,
  type PlacedItem,
  type ReadPart,
} from '../../../shared/adapters/dynamodb/pages.ts';
import type { BatchReading } from '../../../shared/adapters/dynamodb/queries.ts';
import { dynamoQueueStatistics } from '../../../shared/adapters/dynamodb/deliveries/queue-statistics.ts';
import {
  toQueueItem,
  toSubscriptionItem,
} from '../../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { dynamoRegistry } from '../../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { dynamoSubscriptions } from '../../../shared/adapters/dynamodb/subscriptions/subscriptions.ts';
import { transactWrite } from '../../../shared/adapters/dynamodb/writes.ts';
import type { CallDeadline } from '../../../shared/adapters/lambda/invocation-deadline.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery } from '../../support/delivery-builders.ts';
import { interruptedClient } from '../../support/dynamo-clients.ts';
import { inAnyOrder } from '../../support/in-any-order.ts';
import { fault, ok, operationOf, serviceThat } from './service.ts';

const NOWHERE = {
  endpoint: 'http://127.0.0.1:9',
  region: 'us-east-1',
  accessKeyId: 'test',
  secretAccessKey: 'test',
};

const inputs: unknown[] = [];
const client = interruptedClient(NOWHERE, (_, input) => {
  inputs.push(input);
  return Promise.reject(new Error('nowhere'));
});
const clock = { now: () => 0, sleep: () => Promise.resolve() };
const deliveries = dynamoDeliveries(client, 'table');
const listings = dynamoDeliveryListings(client, 'table', { sleep: clock.sleep, random: () => 0 });
const messageRecords = dynamoMessageRecords(client, 'table');
const registry = dynamoRegistry(client, 'table', clock);
const subscriptions = dynamoSubscriptions(client, 'table', { clock, cacheSeconds: 5 });
const message = { queue: 'q', messageId: 'm' };

describe('a read that a decision depends on', () => {
  it.each([
    ['a delivery', () => deliveries.find({ ...message, subscriptionId: 's', bucket: 0 })],
    ['the deliveries of a message', () => listings.ofMessage({ key: message, buckets: 1 }, { limit: 1 })],
    ['the status counts of a message', () => listings.tally({ key: message, buckets: 1 })],
    ['a message', () => messageRecords.find(message)],
    ['a list of subscriptions', () => subscriptions.page('q', 'fresh')],
    ['a list of subscriptions to be cached', () => subscriptions.page('q', 'cached')],
    ['a subscription', () => subscriptions.find('q', 's', 'fresh')],
    ['a queue for administration', () => registry.findQueue('q')],
    ['a subscription for administration', () => registry.findSubscription('q', 's')],
    ['a page of subscriptions', () => registry.listSubscriptions('q', { limit: 1 })],
    ['a search of subscriptions', () => registry.listSubscriptions('q', { limit: 1 }, 'text')],
    ['a queue that is being deleted', () => registry.removeDeletedQueue('q', () => true)],
  ])('is strongly consistent: %s', async (_, read) => {
    inputs.length = 0;
    await expect(read()).rejects.toThrow('nowhere');
    expect(inputs.length).toBeGreaterThan(0);
    for (const input of inputs) expect(input).toMatchObject({ TableName: 'table', ConsistentRead: true });
  });
});

const canceledFor = (...codes: string[]) =>
  new TransactionCanceledException({
    message: 'cancelled',
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ Code })),
  });

const finished = new Error('got through');

/**
 * Runs a transaction that fails with each error in turn and then with `finished`, because there is no DynamoDB.
 */
const attemptedWith = async (errors: Error[], deadline?: CallDeadline) => {
  const pauses: number[] = [];
  const clock = { sleep: (milliseconds: number) => Promise.resolve(void pauses.push(milliseconds)) };
  const client = interruptedClient(NOWHERE, () => Promise.reject(errors.shift() ?? finished));
  const pacing = deadline === undefined ? clock : { ...clock, deadline };
  const outcome = await transactWrite({ name: 'table', client, clock: pacing }, []).catch(
    (error: unknown) => error,
  );
  return { outcome, pauses };
};

const conflict = canceledFor('None', 'TransactionConflict');
const [invalid, unreachable] = [canceledFor('ValidationError'), new Error('unreachable')];

describe('a transaction', () => {
  it.each<[what: string, errors: Error[], outcome: Error, pauses: number]>([
    ['is retried while another one holds its items', Array(7).fill(conflict), finished, 7],
    ['fails with the conflict after eight tries', Array(8).fill(conflict), conflict, 7],
    ['is retried if an item was throttled', [canceledFor('None', 'ThrottlingError')], finished, 1],
    ['is retried if a table was throttled', [canceledFor('ProvisionedThroughputExceeded')], finished, 1],
    ['passes on that it is not valid', [invalid], invalid, 0],
    ['passes on that DynamoDB is not reached', [unreachable], unreachable, 0],
  ])('%s, after growing pauses', async (_what, errors, outcome, count) => {
    const attempted = await attemptedWith(errors);
    expect(attempted.outcome).toBe(outcome);
    expect(attempted.pauses).toHaveLength(count);
    for (const [index, pause] of attempted.pauses.entries()) expect(pause).toBeLessThan(50 * 2 ** index);
  });

  it('whose response was lost is repeated with the same idempotency token', async () => {
    const { options, sent } = await serviceThat((_, index) => (index === 0 ? 'hang_up' : {}));
    const clock = { sleep: () => Promise.reject(new Error('nothing to wait for')) };
    const table = { name: 'table', client: dynamoClient(options), clock };
    expect(await transactWrite(table, [{ Put: { Item: { pk: 'p' } } }])).toEqual({
      kind: 'written',
    });
    const [first, second] = sent();
    expect(first).toMatchObject({ ClientRequestToken: expect.any(String) as unknown });
    expect(second).toEqual(first);
  });

  it('reports the failed condition, even if there was also a conflict', async () => {
    const error = canceledFor('None', 'ConditionalCheckFailed', 'TransactionConflict');
    const { outcome, pauses } = await attemptedWith([error]);
    expect(outcome).toMatchObject({
      kind: 'refused',
      writes: [{ failed: false }, { failed: true }, { failed: false }],
      error,
    });
    expect(pauses).toEqual([]);
  });

  it('is not retried without time for the pause and another try', async () => {
    const { outcome, pauses } = await attemptedWith([conflict], { remainingMs: () => 499 });
    expect(outcome).toBe(conflict);
    expect(pauses).toEqual([]);
  });
});

describe('a change of one item', () => {
  it('is tried again while a transaction holds the item', async () => {
    const Item = marshall(toQueueItem(aQueue({ name: 'orders' })));
    let conflicts = 0;
    const { options } = await serviceThat((request) => {
      if (operationOf(request) === 'GetItem') return ok({ Item });
      conflicts += 1;
      // The client itself gives up after three requests.
      return conflicts <= 3 ? fault(400, 'TransactionConflictException') : ok({});
    });
    const deleting = dynamoRegistry(dynamoClient(options), 'table', clock).deleteQueue('orders', 1);
    expect(await deleting).toEqual({ restorableUntil: undefined });
  });
});

const attribute = z.object({ S: z.string() });
const batchRequest = z.object({
  RequestItems: z.object({
    table: z.object({
      Keys: z.array(z.object({ pk: attribute, sk: attribute })),
      ConsistentRead: z.literal(true),
    }),
  }),
});

/**
 * A table with these deliveries that reads at most `atMost` keys of a request and leaves the rest unprocessed.
 */
const tableOf = async (
  deliveries: readonly Delivery[],
  atMost: (request: number) => number,
  change: (item: Record<string, unknown>) => Record<string, unknown> = (item) => item,
) => {
  const items = new Map(
    deliveries.map((delivery) => {
      const { pk, sk } = toItemKey(delivery.key);
      const item = change(toDeliveryItem(delivery));
      return [`${pk} ${sk}`, marshall(item, { removeUndefinedValues: true })] as const;
    }),
  );
  const { options, requests } = await serviceThat(({ body }, index) => {
    const { Keys } = batchRequest.parse(JSON.parse(body)).RequestItems.table;
    const asked = Keys.slice(0, atMost(index)).map(({ pk, sk }) => items.get(`${pk.S} ${sk.S}`));
    const read = asked.filter((item) => item !== undefined);
    const unread = Keys.slice(atMost(index));
    const UnprocessedKeys = unread.length === 0 ? {} : { table: { Keys: unread, ConsistentRead: true } };
    return ok({ Responses: { table: read }, UnprocessedKeys });
  });
  const waits: number[] = [];
  const reading = {
    sleep: (milliseconds: number) => Promise.resolve(void waits.push(milliseconds)),
    random: () => 0.5,
  };
  const keys = deliveries.map(({ key }) => key);
  const read = (more: Partial<BatchReading> = {}) =>
    dynamoDeliveryListings(dynamoClient(options), 'table', { ...reading, ...more }).records(keys);
  return { read, waits, requests };
};

describe('a batch of records', () => {
  const deliveries = Array.from({ length: 7 }, () => aDelivery());

  it('takes one request if DynamoDB reads all of it', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 100);
    expect(inAnyOrder((await read()).deliveries)).toEqual(inAnyOrder(deliveries));
    expect(requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  it('requests unprocessed keys again after a jittered wait that doubles', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 2);
    expect(inAnyOrder((await read()).deliveries)).toEqual(inAnyOrder(deliveries));
    expect(requests).toHaveLength(4);
    expect(waits).toEqual([25, 50, 100]);
  });

  it('reports unreadable records and returns the others', async () => {
    const [poison, ...others] = deliveries;
    const sk = `DELIVERY#${poison?.key.subscriptionId}`;
    const poisoned = (item: Record<string, unknown>) => (item['sk'] === sk ? { ...item, v: 99 } : item);
    const { read } = await tableOf(deliveries, () => 100, poisoned);
    const records = await read();
    expect(inAnyOrder(records.deliveries)).toEqual(inAnyOrder(others));
    expect(records.unreadable).toMatchObject([
      { key: poison?.key, error: { name: 'UnreadableRecordError' } },
    ]);
  });

  it('fails after five requests with an error that counts the unread items', async () => {
    const { read, requests } = await tableOf(deliveries, (index) => (index === 0 ? 3 : 0));
    await expect(read()).rejects.toMatchObject({
      name: 'ItemsNotReadError',
      message: 'DynamoDB left 4 of 7 items unread.',
    });
    expect(requests).toHaveLength(5);
  });

  it('fails before a wait that there is no time for', async () => {
    const { read, waits, requests } = await tableOf(deliveries, () => 0);
    await expect(read({ deadline: { remainingMs: () => 530 } })).rejects.toThrow('left 7 of 7 items unread');
    expect(requests).toHaveLength(2);
    expect(waits).toEqual([25]);
  });
});

describe('adding counters in DynamoDB', () => {
  /** Of the calls of deliveries, with which its alarm counts. */
  const journal = {
    note: () => {
      throw new Error('A lost chart is no failed call.');
    },
  };

  const adding = async (answer: StubAnswer) => {
    const { options, requests } = await serviceThat(answer);
    const counters = noCounters();
    counters.counts.messages = 1;
    const client = singleRequestClient(dynamoClient({ ...options, journal }));
    const statistics = dynamoQueueStatistics(client, 'table');
    return { added: statistics.add({ queue: 'orders', at: 0, counters, expiresAt: 1 }), requests };
  };

  it.each(['ThrottlingException', 'ProvisionedThroughputExceededException', 'AccessDeniedException'])(
    'says that they were certainly not added: %s',
    async (type) => {
      const { added, requests } = await adding(fault(400, type));
      expect(await added).toMatchObject({ kind: 'refused', error: { name: type } });
      expect(requests).toHaveLength(1);
    },
  );

  it.each<[string, StubAnswer]>([
    ['an internal error', fault(500, 'InternalServerError')],
    ['a lost answer', 'hang_up'],
  ])('throws if they may have been added: %s', async (_what, failure) => {
    const { added, requests } = await adding(failure);
    await expect(added).rejects.toThrow();
    expect(requests).toHaveLength(1);
  });
});

/** The maximum size of options. */
const post_data = 'x'.repeat(65_000);

/** Each takes twice that in memory: 64 MiB hold 516 of them. */
const MORE_THAN_FIT = 520;

const itemOf = (sk: string) =>
  sk === 'META'
    ? toQueueItem(aQueue())
    : toSubscriptionItem(aSubscription({ id: sk.slice('SUB#'.length), options: { post_data } }));

describe('the cache of the subscriptions table', () => {
  it('is limited by memory and evicts the oldest entries first', async () => {
    const { options, requests } = await serviceThat(({ body }) => {
      const { Key } = JSON.parse(body) as { Key: { sk: { S: string } } };
      return ok({ Item: marshall(itemOf(Key.sk.S)) });
    });
    const cached = dynamoSubscriptions(dynamoClient(options), 'table', { clock, cacheSeconds: 5 });
    const requestsFor = async (id: string): Promise<number> => {
      const before = requests.length;
      await cached.find('orders', id, 'cached');
      return requests.length - before;
    };
    for (let index = 0; index < MORE_THAN_FIT; index += 1) await requestsFor(`s-${index}`);
    expect(await requestsFor(`s-${MORE_THAN_FIT - 1}`)).toBe(0);
    expect(await requestsFor('s-100')).toBe(0);
    expect(await requestsFor('s-0')).toBe(1);
  });
});

type Shard = readonly PlacedItem<string>[];

const noReads = () => ({ count: 0, passed: 0 });

/** A part over sorted entries. `isWanted` is its filter, and `reads` counts the reads. */
const partOf = (
  shard: Shard,
  reads = noReads(),
  isWanted: (item: string) => boolean = () => true,
): ReadPart<string> => {
  const from =
    (start: number): ReadPart<string> =>
    (most) => {
      reads.count += 1;
      const passed = shard.slice(start, start + most);
      reads.passed += passed.length;
      const last = passed.at(-1);
      const found = passed.filter(({ item }) => isWanted(item));
      // As in DynamoDB: a query that stops exactly at the end does not know yet that it is the end.
      return Promise.resolve(
        last === undefined || passed.length < most
          ? { found }
          : { found, rest: { readTo: last.place, read: from(start + most) } },
      );
    };
  return from(0);
};

const place = (index: number): string => String(index).padStart(7, '0');

const placedIn = (direction: Direction, places: readonly string[]): Shard => {
  const sorted = [...places].sort();
  return (direction === 'ascending' ? sorted : sorted.reverse()).map((one) => ({ place: one, item: one }));
};

/** The whole listing, page by page: each page starts after the position where the last one ended. */
const walk = async (
  shards: readonly Shard[],
  direction: Direction,
  limit: number,
  isWanted?: (item: string) => boolean,
) => {
  const found: string[] = [];
  const pages: number[] = [];
  let after: string | undefined;
  do {
    const isLeft = ({ place: one }: PlacedItem<string>) =>
      after === undefined || (direction === 'ascending' ? one > after : one < after);
    const parts = shards.map((shard) => partOf(shard.filter(isLeft), undefined, isWanted));
    const page = await mergedPage(parts, direction, limit);
    found.push(...page.found.map(({ item }) => item));
    pages.push(page.found.length);
    after = page.readTo;
  } while (after !== undefined);
  return { found, pages };
};

const spread = (count: number, over: number): Shard[] => {
  const places = Array.from({ length: count }, (_, index) => place(index));
  return Array.from({ length: over }, (_, shard) =>
    // Unevenly, as with a hash.
    placedIn(
      'descending',
      places.filter((_, index) => ((index * 7919) % 104_729) % over === shard),
    ),
  );
};

describe('a page merged from shards', () => {
  it('takes one or two reads of each of eight shards with a hundred thousand entries', async () => {
    const reads = noReads();
    const shards = spread(100_000, 8);
    const parts = shards.map((shard) => partOf(shard, reads));
    const { found, readTo } = await mergedPage(parts, 'descending', 100);
    expect(found.map(({ item }) => item)).toEqual(
      Array.from({ length: 100 }, (_, index) => place(99_999 - index)),
    );
    expect(readTo).toBe(place(99_900));
    expect(reads.count).toBeLessThanOrEqual(16);
    expect(reads.passed).toBeLessThanOrEqual(1_000);
  });

  it('reads further only where necessary if all entries are in one shard', async () => {
    const reads = Array.from({ length: 8 }, noReads);
    const places = Array.from({ length: 5_000 }, (_, index) => place(index));
    const parts = reads.map((count, shard) =>
      partOf(placedIn('ascending', shard === 3 ? places : []), count),
    );
    const { found } = await mergedPage(parts, 'ascending', 100);
    expect(found.map(({ place: one }) => one)).toEqual(places.slice(0, 100));
    expect(reads.map(({ count }) => count)).toEqual([1, 1, 1, 2, 1, 1, 1, 1]);
  });

  it('limits its reads if a filter drops everything, and returns the position reached', async () => {
    const reads = noReads();
    const parts = spread(100_000, 8).map((shard) => partOf(shard, reads, () => false));
    const { found, readTo } = await mergedPage(parts, 'descending', 100);
    expect(found).toEqual([]);
    expect(readTo).toBeDefined();
    expect(reads.count).toBe(8 * 3);
    expect(reads.passed).toBeLessThanOrEqual(8 * 1_000);
  });

  it('finds the one match among fifty thousand after some empty pages', async () => {
    const { found, pages } = await walk(spread(50_000, 8), 'descending', 10, (item) => item === place(17));
    expect(found).toEqual([place(17)]);
    expect(pages.length).toBeLessThanOrEqual(12);
  });

  it('returns each entry once and in order for any shards, limit and filter', async () => {
    const listing = fc.record({
      numbers: fc.uniqueArray(fc.nat({ max: 9_999 }), { maxLength: 200 }),
      count: fc.integer({ min: 1, max: 8 }),
      limit: fc.integer({ min: 1, max: 30 }),
      direction: fc.constantFrom<Direction[]>('ascending', 'descending'),
      every: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(listing, async ({ numbers, count, limit, direction, every }) => {
        const shards = Array.from({ length: count }, (_, shard) =>
          placedIn(direction, numbers.filter((_one, index) => (index * index) % count === shard).map(place)),
        );
        const wanted = (item: string) => Number(item) % every === 0;
        const { found, pages } = await walk(shards, direction, limit, wanted);
        const all = shards.flat().map(({ item }) => item);
        expect(found).toEqual(placedIn(direction, all.filter(wanted)).map(({ item }) => item));
        expect(Math.max(...pages)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 300 },
    );
  });
});
