import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import { asEnabled, moveTo } from '../../shared/domain/subscription/change.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { interruptedClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const clock = { now: () => SOME_TIME, sleep: () => Promise.resolve() };
const table = await tables.like(endpoints.subscriptionsTable);
afterAll(tables.deleteAll);

const NEW_URL = 'https://subscriber.test/new';

const repairs: [string, (current: Subscription) => Subscription, Partial<Subscription>][] = [
  ['is enabled', (current) => asEnabled(current, SOME_TIME), { version: SOME_TIME }],
  [
    'gets another subscriber',
    (current) => asEnabled(moveTo(parseDestination(NEW_URL), current, SOME_TIME), SOME_TIME),
    { destination: parseDestination(NEW_URL), version: SOME_TIME + 1 },
  ],
];

describe('a health change by deliver between the read and the write of a repair', () => {
  it.each(repairs)('is undone by the repair when the subscription %s', async (_, repair, repaired) => {
    const registry = dynamoRegistry(documents, table, clock);
    const subscriptions = dynamoSubscriptions(documents, table, { clock, cacheSeconds: 0 });
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    const { id } = subscription;
    await registry.ensureQueue(queue);
    await registry.addSubscription(subscription);
    let isNoted = false;
    const interrupted = interruptedClient(endpoints, async (call) => {
      if (isNoted || call === 'GetItemCommand') return;
      isNoted = true;
      const failing = { since: SOME_TIME, failures: 1 };
      await subscriptions.changeHealth(queue.name, id, { kind: 'begin', failing });
      await subscriptions.disable(queue.name, id, { reason: 'gone', at: SOME_TIME });
    });
    const result = await dynamoRegistry(interrupted, table, clock).changeSubscription(
      { queue: queue.name, subscriptionId: id, now: SOME_TIME },
      repair,
    );
    expect(isNoted).toBe(true);
    expect(result).toMatchObject({ kind: 'changed', before: { disabled: { reason: 'gone' } } });
    expect(await registry.findSubscription(queue.name, id)).toEqual({ ...subscription, ...repaired });
  });
});
