import type { ChangedFields } from './delivery-cases.ts';
import { randomUUID } from 'node:crypto';
import { GetCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { dynamoDeliveries } from '../../shared/adapters/dynamodb/deliveries.ts';
import { itemKeyOf } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { deliveryIndexes, ttlAttribute } from '../../shared/config/tables.ts';
import type { DeliveryChange, Delivery, Transition } from '../../shared/domain/delivery/delivery.ts';
import { openForPull, receive } from '../../shared/domain/delivery/pull.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { aMessage } from '../support/builders.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient, clientLosingAResponse } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeDeliveriesContract } from './deliveries.contract.ts';
import { describeOverdueDeliveriesContract } from './overdue-deliveries.contract.ts';
import { describeWaitingDeliveriesContract } from './waiting-deliveries.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

describeDeliveriesContract('in DynamoDB', () => dynamoDeliveries(documents, table));
describeOverdueDeliveriesContract('in DynamoDB', async () =>
  dynamoDeliveries(documents, await tables.like(endpoints.deliveriesTable)),
);
describeWaitingDeliveriesContract('in DynamoDB', () => dynamoDeliveries(documents, table));

describe('deliveries that wait for pull', () => {
  const wait = async (deliveries: Deliveries, messageId: string, seconds: number, subscriptionId: string) => {
    const now = SOME_TIME + 1000 * seconds;
    const body = { kind: 'inline', message: aMessage() } as const;
    const key = { queue: 'orders', messageId, subscriptionId, bucket: 0 };
    await deliveries.write(
      openForPull({ kind: 'job', key, attempt: 1, acceptedAt: now, body }, { now, retentionMs: 1e9 }),
    );
    return key;
  };

  const orderOf = async (deliveries: Deliveries, subscriptionId: string, limit: number) => {
    const found = await deliveries.waiting({ queue: 'orders', subscriptionId }, SOME_TIME + 1e6, limit);
    return found.map(({ key }) => key.messageId);
  };

  it('are spread over four partitions, and found in the order of their waits', async () => {
    const subscriptionId = randomUUID();
    const deliveries = dynamoDeliveries(documents, table);
    const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
    for (const [index, id] of ids.entries()) await wait(deliveries, id, index, subscriptionId);
    const counts = await Promise.all(
      [0, 1, 2, 3].map((shard) => countIn(`PULL#orders#${subscriptionId}#${shard}`)),
    );
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(counts.reduce((sum, count) => sum + count)).toBe(20);
    expect(await orderOf(deliveries, subscriptionId, 20)).toEqual(ids);
    expect(await orderOf(deliveries, subscriptionId, 3)).toEqual(ids.slice(0, 3));
  });

  it('include those that an earlier version put into one partition', async () => {
    const subscriptionId = randomUUID();
    const deliveries = dynamoDeliveries(documents, table);
    const [early, old] = [
      await wait(deliveries, 'early', 0, subscriptionId),
      await wait(deliveries, 'old', 1, subscriptionId),
    ];
    await wait(deliveries, 'new', 2, subscriptionId);
    for (const key of [early, old])
      await documents.send(
        new UpdateCommand({
          TableName: table,
          Key: itemKeyOf(key),
          UpdateExpression: 'SET overduePk = :undivided',
          ExpressionAttributeValues: { ':undivided': `PULL#orders#${subscriptionId}` },
        }),
      );
    expect(await orderOf(deliveries, subscriptionId, 10)).toEqual(['early', 'old', 'new']);
    const [found] = await deliveries.waiting(early, SOME_TIME + 1e6, 1);
    if (found === undefined) throw new Error('it waits');
    const lease = { owner: 'pull/one', until: SOME_TIME + 1e7, receivedAt: SOME_TIME };
    expect((await deliveries.write(receive(found, lease, { now: SOME_TIME }))).kind).toBe('written');
    expect(await orderOf(deliveries, subscriptionId, 10)).toEqual(['old', 'new']);
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

const creation = (create: Delivery): Transition => ({
  name: 'open',
  key: create.key,
  expect: { kind: 'absent' },
  create,
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
    const deliveries = dynamoDeliveries(documents, table);
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

  it('lists a delivery that was cancelled before its first attempt', async () => {
    const delivery = aDelivery({ status: 'cancelled' });
    await dynamoDeliveries(documents, table).write(creation(delivery));
    expect(await listed(delivery)).toHaveLength(2);
  });

  it('renews the TTL with the expiry, and removes the keys of the overdue index', async () => {
    const deliveries = dynamoDeliveries(documents, table);
    const delivery = aDelivery({ overdueAt: SOME_TIME });
    await deliveries.write(creation(delivery));
    const expiresAt = delivery.expiresAt + 60_000;
    await deliveries.write(revision(delivery, { overdueAt: null, expiresAt }));
    const Key = {
      pk: `orders.eu-1#${delivery.key.messageId}#0`,
      sk: `DELIVERY#${delivery.key.subscriptionId}`,
    };
    const { Item = {} } = await dynamo.send(new GetCommand({ TableName: table, Key }));
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
    if (overrides.status === 'retrying') await dynamoDeliveries(documents, table).write(creation(delivery));
    const result = await dynamoDeliveries(await clientLosingAResponse(endpoints), table).write(
      transitionOf(delivery),
    );
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
