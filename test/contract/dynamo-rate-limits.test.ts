import { randomUUID } from 'node:crypto';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import { slotsItemKey } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { dynamoCountingWindows } from '../../shared/adapters/dynamodb/counting-windows.ts';
import { dynamoRateLimits } from '../../shared/adapters/dynamodb/rate-limits.ts';
import { ttlAttribute } from '../../shared/config/tables.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeCountingWindowsContract } from './counting-windows.contract.ts';
import { describeRateLimitsContract } from './rate-limits.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const table = await tables.like(endpoints.deliveriesTable);
afterAll(tables.deleteAll);

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
