import { randomUUID } from 'node:crypto';
import { DeleteCommand, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { dynamoCountingWindows } from '../../shared/adapters/dynamodb/counting-windows.ts';
import { slotsItemKey, statisticsItemKey } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { dynamoMessageRecords } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/deliveries/queue-statistics.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/subscriptions/rate-limits.ts';
import { dynamoRecoveries } from '../../shared/adapters/dynamodb/deliveries/recoveries.ts';
import { deliveryIndexes, ttlAttribute } from '../../shared/config/tables.ts';
import { addDuration, noCounters } from '../../shared/domain/delivery/statistics.ts';
import { aDeliveryKey } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import {
  clientLosingAResponse,
  countingClient,
  interruptedClient,
  privateTables,
} from '../support/dynamo-clients.ts';
import { aRecovery, describeRecoveriesContract } from './recoveries.contract.ts';
import { describeMessageRecordsContract } from './message-records.contract.ts';
import { describeQueueStatisticsContract } from './queue-statistics.contract.ts';
import { describeCountingWindowsContract, describeRateLimitsContract } from './rate-limits.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

describeMessageRecordsContract('in DynamoDB', () => dynamoMessageRecords(documents, table));

describe('the record of a message in the deliveries table', () => {
  const record = {
    key: { queue: 'orders', messageId: 'm-1' },
    acceptedAt: Date.UTC(2027, 0, 15, 23, 59, 59, 999),
    listedAt: 0,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets: 1,
    expiresAt: Date.UTC(2027, 2, 1),
  };

  it('is found by queue and hour', async () => {
    await dynamoMessageRecords(documents, table).accept(record);
    const { byHour } = deliveryIndexes;
    const pages = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6, 7].map((shard) =>
        dynamo.send(
          new QueryCommand({
            TableName: table,
            IndexName: byHour.name,
            KeyConditionExpression: `${byHour.partition} = :hour`,
            ExpressionAttributeValues: { ':hour': `orders#2027-01-15T23#${shard}` },
          }),
        ),
      ),
    );
    const found = pages.flatMap(({ Items = [] }) => Items);
    expect(found).toMatchObject([
      { pk: 'orders#m-1#0', sk: 'MESSAGE', byHourSk: `${record.acceptedAt}#m-1` },
    ]);
  });

  it('is not written again when a second delivery stores the body on the same day', async () => {
    const { client, requests } = countingClient(endpoints);
    const records = dynamoMessageRecords(client, table);
    const key = { ...record.key, messageId: 'm-2' };
    await records.accept({ ...record, key });
    const before = requests();
    for (const milliseconds of [1, 2, 3]) {
      await records.keepBody(
        { ...record, key },
        { kind: 'stored', payloadKey: 'p' },
        record.expiresAt + milliseconds,
      );
    }
    // One read and one write, then two reads.
    expect(requests() - before).toBe(4);
  });

  it('keeps the later expiry of two concurrent writes of its body', async () => {
    const key = { ...record.key, messageId: 'm-3' };
    const records = dynamoMessageRecords(documents, table);
    await records.accept({ ...record, key });
    const later = record.expiresAt + 10 * 24 * 60 * 60 * 1000;
    const overtaken = interruptedClient(endpoints, async (call) => {
      if (call === 'UpdateItemCommand')
        await records.keepBody({ ...record, key }, { kind: 'stored', payloadKey: 'later' }, later);
    });
    await dynamoMessageRecords(overtaken, table).keepBody(
      { ...record, key },
      { kind: 'stored', payloadKey: 'p' },
      record.expiresAt,
    );
    const found = await records.find(key);
    expect(found).toMatchObject({ body: { payloadKey: 'later' }, expiresAt: later });
  });

  it('is created again if it expires just before a duplicate is counted', async () => {
    const known = { ...record, key: { ...record.key, messageId: 'm-4' } };
    await dynamoMessageRecords(documents, table).accept(known);
    const expiring = interruptedClient(endpoints, async (call) => {
      if (call !== 'UpdateItemCommand') return;
      await dynamo.send(new DeleteCommand({ TableName: table, Key: { pk: 'orders#m-4#0', sk: 'MESSAGE' } }));
    });
    const again = { ...known, matched: 7 };
    expect(await dynamoMessageRecords(expiring, table).accept(again)).toEqual({
      kind: 'accepted',
      record: again,
    });
  });

  it('is accepted, and no duplicate, by a request that was repeated because its response was lost', async () => {
    const known = { ...record, key: { ...record.key, messageId: 'm-6' } };
    const records = dynamoMessageRecords(await clientLosingAResponse(endpoints), table);
    expect(await records.accept(known)).toEqual({ kind: 'accepted', record: known });
    expect(await records.find(known.key)).toEqual(known);
  });

  it('is deleted by TTL when it expires', async () => {
    const key = { ...record.key, messageId: 'm-5' };
    const records = dynamoMessageRecords(documents, table);
    await records.accept({ ...record, key });
    const timeToLive = async () => {
      const { Item } = await dynamo.send(
        new GetCommand({ TableName: table, Key: { pk: 'orders#m-5#0', sk: 'MESSAGE' } }),
      );
      return Item?.[ttlAttribute] === undefined ? undefined : Number(Item[ttlAttribute]) * 1000;
    };
    expect(await timeToLive()).toBe(record.expiresAt);
    await records.keepBody({ ...record, key }, { kind: 'stored', payloadKey: 'p' }, record.expiresAt + 1);
    expect(await timeToLive()).toBe((await records.find(key))?.expiresAt);
  });
});

describeRecoveriesContract('in DynamoDB', () => dynamoRecoveries(documents, table));

describe('the record of a recovery in the deliveries table', () => {
  it('is deleted by TTL when it expires', async () => {
    const recovery = aRecovery();
    await dynamoRecoveries(documents, table).create(recovery);
    const Key = { pk: `JOB#${recovery.selection.queue}`, sk: `RECOVERY#${recovery.id}` };
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key }));
    expect(Number(Item?.[ttlAttribute]) * 1000).toBe(recovery.expiresAt);
  });

  it('leaves its pages to TTL too, and is read without the number of pages that earlier versions dropped', async () => {
    const { pages: _, ...earlier } = { ...aRecovery(), batch: [aDeliveryKey()] };
    const recoveries = dynamoRecoveries(documents, table);
    await recoveries.create(earlier);
    expect(await recoveries.find(earlier.selection.queue, earlier.id)).not.toHaveProperty('pages');
    await recoveries.keepPage({ ...earlier, pages: 1 });
    const Key = { pk: `JOB#${earlier.selection.queue}`, sk: `PAGE#${earlier.id}#00000001` };
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key }));
    expect(Number(Item?.[ttlAttribute]) * 1000).toBe(earlier.expiresAt);
  });

  it('is created and saved by a request that was repeated because its response was lost', async () => {
    const recovery = aRecovery();
    await dynamoRecoveries(await clientLosingAResponse(endpoints), table).create(recovery);
    const next = { ...recovery, version: 2, found: 1 };
    expect(await dynamoRecoveries(await clientLosingAResponse(endpoints), table).save(next)).toEqual({
      kind: 'saved',
    });
    const found = await dynamoRecoveries(documents, table).find(recovery.selection.queue, recovery.id);
    expect(found).toEqual(next);
  });
});

describeRateLimitsContract('in DynamoDB', () => {
  const time = { now: 0 };
  return {
    rateLimits: dynamoRateLimits(documents, table, { now: () => time.now }),
    setTime: (now) => {
      time.now = now;
    },
  };
});

describeCountingWindowsContract('in DynamoDB', dynamoCountingWindows(documents, table));

describe('the line of a subscription in the deliveries table', () => {
  const limit = { intervalMs: 50, epoch: 'e' };

  it('gives different slots to eight concurrent functions, by one write per batch', async () => {
    const now = Date.now();
    const limited = { queue: 'orders', subscriptionId: randomUUID() };
    const { client, requests } = countingClient(endpoints);
    const functions = Array.from({ length: 8 }, () => dynamoRateLimits(client, table, { now: () => now }));
    const slots = await Promise.all(
      functions.flatMap((one) => Array.from({ length: 10 }, () => one.reserve(limited, limit))),
    );
    const after = slots.map(({ at }) => at - now).sort((a, b) => a - b);
    expect(after).toEqual(Array.from({ length: 80 }, (_, index) => index * 50));
    // Each function tries to begin the line; all but the first are refused because it is standing.
    expect(requests()).toBeLessThanOrEqual(15);
    const later = await functions[0]?.reserve(limited, limit);
    expect(later?.at).toBe(now + 80 * 50);
    expect(requests()).toBeLessThanOrEqual(16);
  });

  it('is deleted by TTL once it can no longer be standing', async () => {
    const now = Date.now();
    const limited = { queue: 'orders', subscriptionId: randomUUID() };
    await dynamoRateLimits(documents, table, { now: () => now }).reserve(limited, limit);
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key: slotsItemKey(limited) }));
    const days = (Number(Item?.[ttlAttribute]) * 1000 - now) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(8);
    expect(days).toBeLessThan(9);
  });
});

describeQueueStatisticsContract('in DynamoDB', () => dynamoQueueStatistics(documents, table));

describe('the item of a queue and minute', () => {
  it('is under 1 KB, which is one write unit, with durations of all sizes, and expires', async () => {
    const queue = `queue-${randomUUID()}`;
    const [at, expiresAt] = [Date.UTC(2026, 10, 21, 12), Date.now() + 90_000];
    const counters = noCounters();
    counters.counts.messages = 123_456;
    for (let ms = 1; ms < 600_000; ms *= 1.1) {
      addDuration(counters.response, ms);
      addDuration(counters.timeToDelivery, ms);
    }
    await dynamoQueueStatistics(documents, table).add({ queue, at, counters, expiresAt });
    const Key = statisticsItemKey(queue, at);
    const { Item } = await dynamo.send(new GetCommand({ TableName: table, Key }));
    expect(Item?.[ttlAttribute]).toBe(Math.ceil(expiresAt / 1000));
    expect(Buffer.byteLength(JSON.stringify(Item))).toBeLessThan(1500);
  });
});
