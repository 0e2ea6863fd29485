import { randomUUID } from 'node:crypto';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { statisticsItemKey } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { dynamoQueueStatistics } from '../../shared/adapters/dynamodb/queue-statistics.ts';
import { ttlAttribute } from '../../shared/config/tables.ts';
import { addDuration, noCounters } from '../../shared/domain/delivery/statistics.ts';
import { deployment } from '../support/deployment.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeQueueStatisticsContract } from './queue-statistics.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

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
