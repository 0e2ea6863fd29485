import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dynamoSubscriptionRegistry } from '../../shared/adapters/dynamo-subscription-registry.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamo-subscriptions.ts';
import { QueueBusyError } from '../../shared/ports/subscription-registry.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { countingClient, interruptedClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';
import { describeRegistryChangesContract } from './registry-changes.contract.ts';
import { describeRegistryDeletionsContract } from './registry-deletions.contract.ts';
import { describeRegistryPagesContract } from './registry-pages.contract.ts';
import { describeSubscriptionHealthContract } from './subscription-health.contract.ts';
import { describeSubscriptionRegistryContract } from './subscription-registry.contract.ts';
import { describeSubscriptionsContract, type SubscriptionsUnderTest } from './subscriptions.contract.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

const { dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const clock = { sleep: () => Promise.resolve() };
let table: string;

beforeAll(async () => {
  table = await tables.like(endpoints.subscriptionsTable);
});
afterAll(tables.deleteAll);

const registryOf = (tableName: string) => dynamoSubscriptionRegistry(dynamo, tableName, clock);

/** A reader that keeps answers for five seconds of its own time, and counts its requests. */
const aReader = () => {
  const { client, requests } = countingClient(endpoints);
  const time = { now: SOME_TIME };
  const options = { clock: { now: () => time.now }, cacheSeconds: 5 };
  return { subscriptions: dynamoSubscriptions(client, table, options), requests, time };
};

describeSubscriptionRegistryContract('in DynamoDB', () => registryOf(table));
describeRegistryChangesContract('in DynamoDB', () => registryOf(table));
describeRegistryDeletionsContract('in DynamoDB', () => ({
  registry: registryOf(table),
  subscriptions: aReader().subscriptions,
}));
describeRegistryPagesContract('in DynamoDB', async () =>
  registryOf(await tables.like(endpoints.subscriptionsTable)),
);
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
describeSubscriptionHealthContract('in DynamoDB', underTest);

describe('what is cached of the subscriptions table', () => {
  const kept = async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    await registry.ensureQueue(queue);
    await registry.addSubscription(subscription);
    return { ...aReader(), registry, queue, subscription };
  };

  it('is a list, for as long as the setting says and no longer', async () => {
    const { subscriptions, registry, requests, time, queue, subscription } = await kept();
    const first = await subscriptions.list(queue.name, 'cached');
    await removeSubscription(registry, queue.name, subscription.id);
    time.now += 4_999;
    expect(await subscriptions.list(queue.name, 'cached')).toEqual(first);
    expect(first?.readAt).toBe(SOME_TIME);
    expect(requests()).toBe(1);
    time.now += 1;
    const second = await subscriptions.list(queue.name, 'cached');
    expect(second).toEqual({ queue, subscriptions: [], readAt: SOME_TIME + 5_000 });
  });

  it('is a subscription and its queue, each for as long as the setting says', async () => {
    const { subscriptions, registry, requests, time, queue, subscription } = await kept();
    await subscriptions.find(queue.name, subscription.id, 'cached');
    await registry.deleteQueue(queue.name);
    time.now += 4_999;
    expect(await subscriptions.find(queue.name, subscription.id, 'cached')).toEqual({ queue, subscription });
    expect(requests()).toBe(2);
    time.now += 1;
    expect(await subscriptions.find(queue.name, subscription.id, 'cached')).toEqual({});
  });

  it('is renewed by what was read fresh', async () => {
    const { subscriptions, registry, requests, queue, subscription } = await kept();
    await subscriptions.list(queue.name, 'cached');
    await removeSubscription(registry, queue.name, subscription.id);
    const other = { ...subscription, id: 'other' };
    await registry.addSubscription(other);
    await subscriptions.list(queue.name, 'fresh');
    expect((await subscriptions.list(queue.name, 'cached'))?.subscriptions).toEqual([other]);
    expect(requests()).toBe(2);
  });

  it('is neither an empty list nor what is not there', async () => {
    const { subscriptions, requests } = await kept();
    const queue = aQueue({ name: randomUUID() });
    await registryOf(table).putQueue(queue);
    for (const name of [queue.name, 'none', queue.name, 'none']) await subscriptions.list(name, 'cached');
    expect(requests()).toBe(4);
    for (const id of ['none', 'none']) await subscriptions.find('none', id, 'cached');
    expect(requests()).toBe(8);
  });

  it('is read once for many who ask at once, unless each asks for a fresh answer', async () => {
    const { subscriptions, requests, queue, subscription } = await kept();
    const asked = Array.from({ length: 10 }, () => subscription.id);
    await Promise.all(asked.map((id) => subscriptions.find(queue.name, id, 'cached')));
    expect(requests()).toBe(2);
    await Promise.all(asked.map(() => subscriptions.list(queue.name, 'cached')));
    expect(requests()).toBe(3);
    await Promise.all(asked.map(() => subscriptions.list(queue.name, 'fresh')));
    expect(requests()).toBe(13);
  });
});

describe('a deletion of a queue', () => {
  it('that was interrupted leaves a queue that can be deleted again', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    await registry.putQueue(queue);
    await registry.addSubscription(subscription);
    const crash = interruptedClient(endpoints, (command) =>
      command === 'DeleteItemCommand' ? Promise.reject(new Error('power cut')) : Promise.resolve(),
    );
    await expect(dynamoSubscriptionRegistry(crash, table, clock).deleteQueue(queue.name)).rejects.toThrow(
      'power cut',
    );
    expect(await registry.findQueue(queue.name)).toEqual(queue);
    await registry.deleteQueue(queue.name);
    expect(await registry.findQueue(queue.name)).toBeUndefined();
  });

  /** Adds a subscription whenever the deletion has come to the queue itself, for so many times. */
  const adding = (queue: string, times: number) => {
    let added = 0;
    return interruptedClient(endpoints, async (command) => {
      if (command !== 'DeleteItemCommand' || added === times) return;
      added += 1;
      const subscription = aSubscription({ queue, id: `s-${added}`, subscriber: `https://s.test/${added}` });
      await registryOf(table).addSubscription(subscription);
    });
  };

  it('takes along the subscriptions that are added at the last moment', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    await dynamoSubscriptionRegistry(adding(queue.name, 3), table, clock).deleteQueue(queue.name);
    expect(await registry.findQueue(queue.name)).toBeUndefined();
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });

  it('is given up when there is no end of new subscriptions', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    const deletion = dynamoSubscriptionRegistry(adding(queue.name, Infinity), table, clock).deleteQueue(
      queue.name,
    );
    await expect(deletion).rejects.toThrow(new QueueBusyError(queue.name));
    expect(await registry.findQueue(queue.name)).toEqual(queue);
  });

  it('leaves no subscription behind of a queue that was deleted and created again meanwhile', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID(), createdAt: 1 });
    await registry.putQueue(queue);
    await registry.addSubscription(aSubscription({ queue: queue.name }));
    let replaced = false;
    const replacing = interruptedClient(endpoints, async (command) => {
      if (command !== 'DeleteItemCommand' || replaced) return;
      replaced = true;
      await registry.deleteQueue(queue.name);
      await registry.putQueue({ ...queue, createdAt: 2 });
      await registry.addSubscription(aSubscription({ queue: queue.name }));
    });
    await dynamoSubscriptionRegistry(replacing, table, clock).deleteQueue(queue.name);
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });
});
