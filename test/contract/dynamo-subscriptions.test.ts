import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import {
  dynamoPullSubscriptions,
  dynamoRegistry,
} from '../../shared/adapters/dynamodb/subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient, interruptedClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeQueueRoomContract } from './queue-room.contract.ts';
import { describeRegistryChangesContract } from './registry-changes.contract.ts';
import { describeRegistryDeletionsContract } from './registry-deletions.contract.ts';
import { describeRegistryImportsContract } from './registry-imports.contract.ts';
import { describePullSubscriptionsContract } from './pull-subscriptions.contract.ts';
import { describeRegistryPagesContract } from './registry-pages.contract.ts';
import { describeSubscriptionHealthContract } from './subscription-health.contract.ts';
import { describeRegistryContract } from './subscription-registry.contract.ts';
import { describeSubscriptionsContract, type SubscriptionsUnderTest } from './subscriptions.contract.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const started = Date.now();
/** Stands still: what a registry may do within a budget does not depend on how busy the local AWS is. */
const clock = { sleep: () => Promise.resolve(), now: () => started };
const table = await tables.like(endpoints.subscriptionsTable);
afterAll(tables.deleteAll);

const registryOf = (tableName: string) => dynamoRegistry(documents, tableName, clock);

/** A reader that caches results for five seconds of a test clock, and counts its requests. */
const aReader = () => {
  const { client, requests } = countingClient(endpoints);
  const time = { now: SOME_TIME };
  const options = { clock: { now: () => time.now }, cacheSeconds: 5 };
  return { subscriptions: dynamoSubscriptions(client, table, options), requests, time };
};

describeRegistryContract('in DynamoDB', () => registryOf(table));
describeRegistryChangesContract('in DynamoDB', () => registryOf(table));
describeRegistryImportsContract('in DynamoDB', () => registryOf(table));
describeRegistryDeletionsContract('in DynamoDB', () => ({
  registry: registryOf(table),
  subscriptions: aReader().subscriptions,
}));
describeRegistryPagesContract('in DynamoDB', async () =>
  registryOf(await tables.like(endpoints.subscriptionsTable)),
);
describePullSubscriptionsContract('in DynamoDB', () => ({
  registry: registryOf(table),
  pullSubscriptions: dynamoPullSubscriptions(documents, table),
}));
describeQueueRoomContract('in DynamoDB', () => {
  const time = { ahead: 0 };
  const now = () => Date.now() + time.ahead;
  const pass = (milliseconds: number) => {
    time.ahead += milliseconds;
  };
  return { registry: dynamoRegistry(documents, table, { ...clock, now }), now, pass };
});
const underTest = (): SubscriptionsUnderTest => {
  const { subscriptions, time } = aReader();
  return {
    subscriptions,
    registry: registryOf(table),
    setTime: (now) => {
      time.now = now;
    },
  };
};
describeSubscriptionsContract('in DynamoDB', underTest);
// Each run takes ten requests.
describeSubscriptionHealthContract('in DynamoDB', underTest, 40);

it('reads a bounded part of a queue for each page of a search', async () => {
  const queue = randomUUID();
  const registry = registryOf(table);
  await registry.putQueue(aQueue({ name: queue }));
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  await registry.addSubscriptions(
    ids.map((id) => aSubscription({ id, queue, subscriber: `https://hooks.example/${id}` })),
  );
  // Each response covers one subscription, as if each had 1 MB.
  const client = interruptedClient(endpoints, (_command, input) =>
    Promise.resolve(Object.assign(input as object, { Limit: 1 })).then(() => undefined),
  );
  const search = dynamoRegistry(client, table, clock);
  const first = await search.listSubscriptions(queue, { limit: 9 }, 'example/f');
  expect(first.items).toEqual([]);
  const { marker = 'none' } = first;
  const rest = await search.listSubscriptions(queue, { limit: 9, marker }, 'example/f');
  expect(rest.items.map(({ id }) => id)).toEqual(['f']);
  expect(rest).not.toHaveProperty('marker');
});

it('counts a queue once and gives each place once to concurrent callers that ask for room', async () => {
  let queries = 0;
  const client = interruptedClient(endpoints, (command) => {
    if (command === 'QueryCommand') queries += 1;
    return Promise.resolve();
  });
  const registry = dynamoRegistry(client, table, clock);
  const queue = randomUUID();
  await registry.putQueue(aQueue({ name: queue }));
  const there = ['a', 'b'].map((id) =>
    aSubscription({ id, queue, subscriber: `https://hooks.example/${id}` }),
  );
  await registry.addSubscriptions(there);
  const asked = Array.from({ length: 5 }, () =>
    registry.takeRoom(queue, { subscriptions: 1, bytes: 0 }, { subscriptions: 5, bytes: 1_000_000 }),
  );
  expect((await Promise.all(asked)).filter((taken) => taken)).toHaveLength(3);
  expect(queries).toBe(1);
});

describe('the cache of the subscriptions table', () => {
  const kept = async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    await registry.ensureQueue(queue);
    await registry.addSubscription(subscription);
    return { ...aReader(), registry, queue, subscription };
  };

  it('holds a page for the configured time and no longer', async () => {
    const { subscriptions, registry, requests, time, queue, subscription } = await kept();
    const first = await subscriptions.page(queue.name, 'cached');
    await removeSubscription(registry, queue.name, subscription.id);
    time.now += 4_999;
    expect(await subscriptions.page(queue.name, 'cached')).toEqual(first);
    expect(first?.readAt).toBe(SOME_TIME);
    expect(requests()).toBe(1);
    time.now += 1;
    const second = await subscriptions.page(queue.name, 'cached');
    expect(second).toEqual({ queueCreatedAt: queue.createdAt, subscriptions: [], readAt: SOME_TIME + 5_000 });
  });

  it('holds a subscription and its queue, each for the configured time', async () => {
    const { subscriptions, registry, requests, time, queue, subscription } = await kept();
    await subscriptions.find(queue.name, subscription.id, 'cached');
    await registry.deleteQueue(queue.name, time.now);
    time.now += 4_999;
    expect(await subscriptions.find(queue.name, subscription.id, 'cached')).toEqual({ queue, subscription });
    expect(requests()).toBe(2);
    time.now += 1;
    expect(await subscriptions.find(queue.name, subscription.id, 'cached')).toEqual({});
  });

  it('is updated by a fresh read', async () => {
    const { subscriptions, registry, requests, queue, subscription } = await kept();
    await subscriptions.page(queue.name, 'cached');
    await removeSubscription(registry, queue.name, subscription.id);
    const other = { ...subscription, id: 'other' };
    await registry.addSubscription(other);
    await subscriptions.page(queue.name, 'fresh');
    expect((await subscriptions.page(queue.name, 'cached'))?.subscriptions).toMatchObject([{ id: 'other' }]);
    expect(requests()).toBe(2);
  });

  it('holds the queue even when its subscription is read fresh, as for every retry', async () => {
    const { subscriptions, requests, time, queue, subscription } = await kept();
    for (let retry = 0; retry < 10; retry += 1)
      expect(await subscriptions.find(queue.name, subscription.id, 'fresh')).toEqual({ queue, subscription });
    expect(requests()).toBe(1 + 10);
    time.now += 5_000;
    await subscriptions.find(queue.name, subscription.id, 'fresh');
    expect(requests()).toBe(2 + 11);
  });

  it('holds neither empty pages nor missing items', async () => {
    const { subscriptions, requests } = await kept();
    const queue = aQueue({ name: randomUUID() });
    await registryOf(table).putQueue(queue);
    for (const name of [queue.name, 'none', queue.name, 'none']) await subscriptions.page(name, 'cached');
    expect(requests()).toBe(4);
    for (const id of ['none', 'none']) await subscriptions.find('none', id, 'cached');
    expect(requests()).toBe(8);
  });

  it('shares one read between concurrent callers, and reads again for a later fresh request', async () => {
    const { subscriptions, requests, queue, subscription } = await kept();
    const asked = Array.from({ length: 10 }, () => subscription.id);
    await Promise.all(asked.map((id) => subscriptions.find(queue.name, id, 'cached')));
    expect(requests()).toBe(2);
    await Promise.all(asked.map(() => subscriptions.page(queue.name, 'cached')));
    expect(requests()).toBe(3);
    await Promise.all(asked.map(() => subscriptions.page(queue.name, 'fresh')));
    expect(requests()).toBe(4);
    await subscriptions.page(queue.name, 'fresh');
    expect(requests()).toBe(5);
  });
});
