import { randomUUID } from 'node:crypto';
import { BatchWriteCommand, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { dynamoChunks, dynamoSeparateRecords } from '../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries/deliveries.ts';
import { toDeliveryItem } from '../../shared/adapters/dynamodb/deliveries/delivery-item.ts';
import { toChunkItemKey, toItemKey } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { dynamoDeliveryListings } from '../../shared/adapters/dynamodb/deliveries/delivery-listings.ts';
import { dynamoMessageListings } from '../../shared/adapters/dynamodb/deliveries/message-listings.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { inParallel } from '../../shared/adapters/in-parallel.ts';
import { deliveryIndexes, ttlAttribute } from '../../shared/config/tables.ts';
import {
  type ChunkTransition,
  claimChunk,
  dissolveChunk,
  recordSuccesses,
  removeMember,
} from '../../shared/domain/delivery/chunk.ts';
import type {
  ChunkKey,
  Delivery,
  DeliveryChange,
  Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { openForPull, receive } from '../../shared/domain/delivery/pull.ts';
import { aMessage } from '../support/builders.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { clientLosingAResponse, countingClient, privateTables } from '../support/dynamo-clients.ts';
import { describeChunksContract } from './chunks.contract.ts';
import { describeDeliveriesContract, describeOverdueDeliveriesContract } from './deliveries.contract.ts';
import { type ChangedFields, creation } from './delivery-cases.ts';
import { describeDeliveryListingsContract, describeMessageListingsContract } from './listings.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

const deliveries = dynamoDeliveries(documents, table);

const stored = async (Key: Record<string, string>): Promise<Record<string, unknown>> => {
  const { Item = {} } = await dynamo.send(new GetCommand({ TableName: table, Key }));
  return Item;
};

describeDeliveriesContract('in DynamoDB', () => deliveries);
describeOverdueDeliveriesContract('in DynamoDB', async () =>
  dynamoDeliveries(documents, await tables.like(endpoints.deliveriesTable)),
);

describe('deliveries that wait for pull', () => {
  let subscriptionId: string;
  beforeEach(() => {
    subscriptionId = randomUUID();
  });

  const wait = async (messageId: string, seconds: number) => {
    const now = SOME_TIME + 1000 * seconds;
    const key = { queue: 'orders', messageId, subscriptionId, bucket: 0 };
    const job = { kind: 'job', key, attempt: 1, body: { kind: 'inline', message: aMessage() } } as const;
    await deliveries.write(openForPull({ ...job, acceptedAt: now }, { now, retentionMs: 1e9 }));
    return key;
  };

  const waiting = (limit: number) =>
    deliveries.waiting({ queue: 'orders', subscriptionId }, SOME_TIME + 1e6, limit);
  const orderOf = async (limit: number) => (await waiting(limit)).map(({ key }) => key.messageId);

  it('are spread over four partitions, and found in the order of their waits', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
    for (const [index, id] of ids.entries()) await wait(id, index);
    const shards = [0, 1, 2, 3].map((shard) => countIn(`PULL#orders#${subscriptionId}#${shard}`));
    const counts = await Promise.all(shards);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(counts.reduce((sum, count) => sum + count)).toBe(20);
    expect(await orderOf(20)).toEqual(ids);
    expect(await orderOf(3)).toEqual(ids.slice(0, 3));
  });

  /** As an earlier version put it there, into one partition. */
  const waitUndivided = async (messageId: string, seconds: number) =>
    documents.update({
      TableName: table,
      Key: toItemKey(await wait(messageId, seconds)),
      UpdateExpression: 'SET overduePk = :undivided',
      ExpressionAttributeValues: { ':undivided': `PULL#orders#${subscriptionId}` },
    });

  it('include those that an earlier version put into one partition', async () => {
    await waitUndivided('early', 0);
    await waitUndivided('old', 1);
    await wait('new', 2);
    expect(await orderOf(10)).toEqual(['early', 'old', 'new']);
    const [found] = await waiting(1);
    if (found === undefined) throw new Error('it waits');
    const lease = { owner: 'pull/one', until: SOME_TIME + 1e7, receivedAt: SOME_TIME };
    expect((await deliveries.write(receive(found, lease, { now: SOME_TIME }))).kind).toBe('written');
    expect(await orderOf(10)).toEqual(['old', 'new']);
  });

  it('include after a minute what an earlier version puts there while it is replaced', async () => {
    expect(await orderOf(10)).toEqual([]);
    await waitUndivided('late', 0);
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
    onTestFinished(() => {
      clock.mockRestore();
    });
    expect(await orderOf(10)).toEqual(['late']);
  });

  const countIn = async (partition: string): Promise<number> => {
    const { Count = 0 } = await documents.send(
      new QueryCommand({
        TableName: table,
        IndexName: deliveryIndexes.overdue.name,
        KeyConditionExpression: 'overduePk = :partition',
        ExpressionAttributeValues: { ':partition': partition },
        Select: 'COUNT',
      }),
    );
    return Count;
  };
});

const revision = (
  { key, expiresAt }: Delivery,
  change: ChangedFields,
  expectation: Extract<Transition, { change: DeliveryChange }>['expect'] = { kind: 'present' },
): Transition => ({
  name: 'record',
  key,
  expect: expectation,
  change: { updatedAt: SOME_TIME, expiresAt, ...change },
});

const listing = z.object({ pk: z.string(), notDeliveredSk: z.string(), status: z.string() });

/** The index entries of a delivery, by queue and by subscription. */
const listed = async (delivery: Delivery) => {
  const { byQueue, bySubscription } = deliveryIndexes;
  const { queue, subscriptionId } = delivery.key;
  const queries = [
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((shard) => ({ index: byQueue, value: `${queue}#${shard}` })),
    ...[0, 1, 2, 3].map((shard) => ({ index: bySubscription, value: `${queue}#${subscriptionId}#${shard}` })),
  ];
  const pages = await Promise.all(
    queries.map(({ index, value }) =>
      dynamo.send(
        new QueryCommand({
          TableName: table,
          IndexName: index.name,
          KeyConditionExpression: `${index.partition} = :value`,
          ExpressionAttributeValues: { ':value': value },
        }),
      ),
    ),
  );
  return pages
    .flatMap(({ Items = [] }) => Items)
    .map((item) => listing.parse(item))
    .filter(({ pk }) => pk === `${queue}#${delivery.key.messageId}#0`)
    .map(({ notDeliveredSk, status }) => ({ notDeliveredSk, status }));
};

const noSuchTable = { name: 'ResourceNotFoundException' };

describe('the deliveries table', () => {
  it('lists a delivery by queue and by subscription from its first failure until it is delivered', async () => {
    const delivery = aDelivery();
    const { messageId, subscriptionId } = delivery.key;
    const inBoth = ({ status }: ChangedFields) =>
      [1, 2].map(() => ({ notDeliveredSk: `${SOME_TIME}#${messageId}#${subscriptionId}`, status }));
    const next = { number: 1, phase: 'manual', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
    await deliveries.write(creation(delivery));
    expect(await listed(delivery)).toEqual([]);
    for (const change of [
      { status: 'retrying', next },
      { status: 'exhausted', reason: 'retries_exhausted' },
      { status: 'retrying', next },
      { status: 'cancelled', reason: 'manual' },
      { status: 'rejected', reason: 'gone' },
    ] satisfies ChangedFields[]) {
      await deliveries.write(revision(delivery, change));
      expect(await listed(delivery)).toEqual(inBoth(change));
    }
    await deliveries.write(revision(delivery, { status: 'delivered' }));
    expect(await listed(delivery)).toEqual([]);
  });

  it('renews the TTL with the expiry, and removes the keys of the overdue index', async () => {
    const delivery = aDelivery({ overdueAt: SOME_TIME });
    await deliveries.write(creation(delivery));
    const expiresAt = delivery.expiresAt + 60_000;
    await deliveries.write(revision(delivery, { overdueAt: null, expiresAt }));
    const Item = await stored(toItemKey(delivery.key));
    expect(Item[ttlAttribute]).toBe(expiresAt / 1000);
    expect(Object.keys(Item).filter((name) => name.startsWith('overdue'))).toEqual([]);
  });

  it('makes one request for a write, whether it succeeds or is refused', async () => {
    const { client, requests } = countingClient(endpoints);
    const deliveries = dynamoDeliveries(client, table);
    const delivery = aDelivery();
    await deliveries.write(creation(delivery));
    await deliveries.write(creation(delivery));
    await deliveries.write(revision(delivery, { appendAttempt: anAttempt() }));
    await deliveries.write(revision(delivery, {}, { kind: 'leased', recorded: 1, owner: 'me' }));
    expect(requests()).toBe(4);
  });

  it('makes a second request for a write that would have shortened the lifetime of a record', async () => {
    const { client, requests } = countingClient(endpoints);
    const deliveries = dynamoDeliveries(client, table);
    const delivery = aDelivery();
    await deliveries.write(creation(delivery));
    const result = await deliveries.write(revision(delivery, { expiresAt: delivery.expiresAt - 1, lost: 1 }));
    expect(result).toEqual({ kind: 'written', delivery: { ...delivery, lost: 1 } });
    expect(requests()).toBe(3);
  });

  it.each([
    ['an opening', { status: 'pending' as const }, creation],
    ['a claim', { status: 'retrying' as const }, (delivery: Delivery) => claim(delivery)],
  ])('recognises %s as written after its response was lost', async (_, overrides, transitionOf) => {
    const delivery = aDelivery({ ...overrides, lease: overrides.status === 'pending' ? lease : undefined });
    if (overrides.status === 'retrying') await deliveries.write(creation(delivery));
    const losing = dynamoDeliveries(await clientLosingAResponse(endpoints), table);
    const result = await losing.write(transitionOf(delivery));
    expect(result).toMatchObject({ kind: 'written', delivery: { lease } });
  });

  it('passes on the errors of DynamoDB', async () => {
    const deliveries = dynamoDeliveries(documents, 'no-such-table');
    await expect(deliveries.write(creation(aDelivery()))).rejects.toMatchObject(noSuchTable);
    await expect(deliveries.write(revision(aDelivery(), {}))).rejects.toMatchObject(noSuchTable);
  });
});

const lease = { owner: 'me', until: SOME_TIME + 1 };

const claim = (delivery: Delivery): Transition => ({
  name: 'claim',
  key: delivery.key,
  expect: { kind: 'claimable', recorded: 0, now: SOME_TIME },
  change: { lease, updatedAt: SOME_TIME, expiresAt: delivery.expiresAt },
});

const reading = { sleep: () => Promise.resolve(), random: Math.random };
const makeDeliveries = () => ({
  deliveries: dynamoDeliveries(documents, table),
  listings: dynamoDeliveryListings(documents, table, reading),
});

describeDeliveryListingsContract('in DynamoDB', makeDeliveries);
describeMessageListingsContract('in DynamoDB', () => ({
  records: dynamoMessageRecords(documents, table),
  listings: dynamoMessageListings(documents, table),
}));

const writeAll = async (all: readonly Delivery[]): Promise<void> => {
  const batches = Array.from({ length: Math.ceil(all.length / 25) }, (_, index) =>
    all.slice(25 * index, 25 * index + 25),
  );
  await inParallel(batches, 8, async (batch) => {
    const requests = batch.map((delivery) => ({ PutRequest: { Item: toDeliveryItem(delivery) } }));
    await dynamo.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }));
  });
};

describe('a queue with 1,000 failed deliveries', () => {
  const queue = 'stricken';
  const SHARDS = 8;
  const all = Array.from({ length: 1_000 }, (_, index) =>
    aDelivery({
      key: aDeliveryKey({ queue, subscriptionId: `s-${index % 50}` }),
      acceptedAt: SOME_TIME + index,
      status: 'retrying',
    }),
  );
  const newest = all.toReversed();

  beforeAll(() => writeAll(all));

  it('is listed 100 at a time by one or two queries per shard, and one request for the records', async () => {
    const { client, requests } = countingClient(endpoints);
    const listings = dynamoDeliveryListings(client, table, reading);
    const { items, marker } = await listings.newest({ queue }, { limit: 100 });
    expect(items.map(({ key }) => key)).toEqual(newest.slice(0, 100).map(({ key }) => key));
    expect(marker).toBeDefined();
    expect(requests()).toBeLessThanOrEqual(2 * SHARDS);
    const before = requests();
    const { deliveries } = await listings.records(items.map(({ key }) => key));
    expect(new Set(deliveries)).toEqual(new Set(newest.slice(0, 100)));
    expect(requests() - before).toBe(1);
  });

  it('is listed for a window in the middle without reading the deliveries before it', async () => {
    const { client, requests } = countingClient(endpoints);
    const window = { queue, since: SOME_TIME + 700, until: SOME_TIME + 790 };
    const listings = dynamoDeliveryListings(client, table, reading);
    const { items, marker } = await listings.oldest(window, { limit: 100 });
    expect(items.map(({ acceptedAt }) => acceptedAt)).toEqual(
      Array.from({ length: 90 }, (_, index) => SOME_TIME + 700 + index),
    );
    expect(marker).toBeUndefined();
    expect(requests()).toBeLessThanOrEqual(2 * SHARDS);
  });
});

const pacing = { sleep: () => Promise.resolve() };
const make = (client = documents) => ({
  chunks: { ...dynamoChunks(client, table), ...dynamoSeparateRecords(client, table, pacing) },
  deliveries: dynamoDeliveries(client, table),
  messageRecords: dynamoMessageRecords(client, table),
  listings: dynamoDeliveryListings(client, table, { ...pacing, random: Math.random }),
});

describeChunksContract('in DynamoDB', make);

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };

const claimOf = (key: ChunkKey): ChunkTransition =>
  claimChunk(key, { acceptedAt: SOME_TIME, members: ['a', 'b'], lease: HOLDER }, at);

const recordOf = (key: ChunkKey, id: string): ChunkTransition =>
  recordSuccesses(
    key,
    HOLDER.owner,
    { successes: new Map([[id, aFirstSuccess()]]), separate: [], ends: false },
    { ...at, now: SOME_TIME + 90_000 },
  );

describe('chunks in the deliveries table', () => {
  it('take one request for a write, whether it succeeds or is refused', async () => {
    const { client, requests } = countingClient(endpoints);
    const { chunks } = make(client);
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    await chunks.write(claimOf(key));
    await chunks.write(recordOf(key, 'a'));
    await chunks.write(dissolveChunk(key, { ...HOLDER, until: 0 }, at));
    expect(requests()).toBe(4);
  });

  it('renew their TTL, and are in no index', async () => {
    const { chunks } = make();
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    await chunks.write(recordOf(key, 'a'));
    const Item = await stored(toChunkItemKey(key));
    expect(Item[ttlAttribute]).toBe((SOME_TIME + 90_000 + RETENTION_MS) / 1000);
    expect(Object.keys(Item).toSorted()).toEqual(
      ['acceptedAt', 'expiresAt', 'lease', 'members', 'pk', 'sk', 'updatedAt', 'v', ttlAttribute].toSorted(),
    );
  });

  it('add no attributes to the record of a delivery that leaves its chunk', async () => {
    const { chunks } = make();
    const key = aChunkKey();
    await chunks.write(claimOf(key));
    const delivery = aDelivery({ key: aDeliveryKey({ ...key, subscriptionId: 'a' }) });
    await chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery);
    const Item = await stored(toItemKey(delivery.key));
    expect(Item).toMatchObject({ status: 'pending', v: 1 });
    expect(Item).not.toHaveProperty('chunk');
  });

  it('return their state after a write that was repeated because its response was lost', async () => {
    const key = aChunkKey();
    const members = new Map<string, unknown>([
      ['a', aFirstSuccess()],
      ['b', 'pending'],
    ]);
    for (const [transition, current] of [
      [claimOf(key), { lease: HOLDER }],
      [recordOf(key, 'a'), { members }],
    ] as const) {
      const { chunks } = make(await clientLosingAResponse(endpoints));
      expect(await chunks.write(transition)).toMatchObject({ kind: 'refused', current });
    }
  });

  it('pass on the errors of DynamoDB', async () => {
    const lost = dynamoChunks(documents, 'no-such-table');
    await expect(lost.write(claimOf(aChunkKey()))).rejects.toMatchObject(noSuchTable);
    await expect(lost.find(aChunkKey())).rejects.toMatchObject(noSuchTable);
  });
});
