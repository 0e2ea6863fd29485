import { randomUUID } from 'node:crypto';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dynamoRegistry } from '../../shared/adapters/dynamodb/subscription-registry.ts';
import {
  subscriberItemKey,
  subscriberItemOf,
  subscriptionItemOf,
} from '../../shared/adapters/dynamodb/subscription-item.ts';
import { QueueBusyError } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import { interruptedClient } from '../support/dynamo-clients.ts';
import { privateTables } from '../support/private-tables.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const clock = { sleep: () => Promise.resolve() };
let table: string;

beforeAll(async () => {
  table = await tables.like(endpoints.subscriptionsTable);
});
afterAll(tables.deleteAll);

const registryOf = (tableName: string) => dynamoRegistry(documents, tableName, clock);

describe('a deletion of a queue', () => {
  it('that was interrupted leaves a queue that can be deleted again', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    await registry.putQueue(queue);
    await registry.addSubscription(subscription);
    const crash = interruptedClient(endpoints, (call) =>
      call === 'DeleteItemCommand' ? Promise.reject(new Error('power cut')) : Promise.resolve(),
    );
    await expect(dynamoRegistry(crash, table, clock).deleteQueue(queue.name)).rejects.toThrow('power cut');
    expect(await registry.findQueue(queue.name)).toEqual(queue);
    await registry.deleteQueue(queue.name);
    expect(await registry.findQueue(queue.name)).toBeUndefined();
  });

  /** Adds a subscription whenever the deletion has come to the queue itself, for so many times. */
  const adding = (queue: string, times: number) => {
    let added = 0;
    return interruptedClient(endpoints, async (call) => {
      if (call !== 'DeleteItemCommand' || added === times) return;
      added += 1;
      const subscription = aSubscription({ queue, id: `s-${added}`, subscriber: `https://s.test/${added}` });
      await registryOf(table).addSubscription(subscription);
    });
  };

  it('takes along the subscriptions that are added at the last moment', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    await dynamoRegistry(adding(queue.name, 3), table, clock).deleteQueue(queue.name);
    expect(await registry.findQueue(queue.name)).toBeUndefined();
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });

  it('leaves no claim behind of a subscription whose subscriber is changed meanwhile', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    const moved = { ...subscription, subscriber: 'https://moved.test/' };
    await registry.putQueue(queue);
    await registry.addSubscription(subscription);
    const target = { queue: queue.name, subscriptionId: subscription.id, now: SOME_TIME };
    let isMoved = false;
    const moving = interruptedClient(endpoints, async (call) => {
      if (call !== 'TransactWriteItemsCommand' || isMoved) return;
      isMoved = true;
      await registry.changeSubscription(target, () => moved);
    });
    await dynamoRegistry(moving, table, clock).deleteQueue(queue.name);
    expect(isMoved).toBe(true);
    const Key = subscriberItemKey(moved);
    expect((await dynamo.send(new GetCommand({ TableName: table, Key }))).Item).toBeUndefined();
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });

  it('is given up when a subscriber does not stop changing', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const subscription = aSubscription({ queue: queue.name });
    await registry.putQueue(queue);
    await registry.addSubscription(subscription);
    const target = { queue: queue.name, subscriptionId: subscription.id, now: SOME_TIME };
    const moving = interruptedClient(endpoints, async (call) => {
      if (call !== 'TransactWriteItemsCommand') return;
      const subscriber = `https://moved.test/${randomUUID()}`;
      await registry.changeSubscription(target, (current) => ({ ...current, subscriber }));
    });
    const deletion = dynamoRegistry(moving, table, clock).deleteQueue(queue.name);
    await expect(deletion).rejects.toThrow(new QueueBusyError(queue.name));
    expect(await registry.findQueue(queue.name)).toEqual(queue);
  });

  it('is given up when there is no end of new subscriptions', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    const deletion = dynamoRegistry(adding(queue.name, Infinity), table, clock).deleteQueue(queue.name);
    await expect(deletion).rejects.toThrow(new QueueBusyError(queue.name));
    expect(await registry.findQueue(queue.name)).toEqual(queue);
  });

  it('leaves no subscription behind of a queue that was deleted and created again meanwhile', async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID(), createdAt: 1 });
    await registry.putQueue(queue);
    await registry.addSubscription(aSubscription({ queue: queue.name }));
    let replaced = false;
    const replacing = interruptedClient(endpoints, async (call) => {
      if (call !== 'DeleteItemCommand' || replaced) return;
      replaced = true;
      await registry.deleteQueue(queue.name);
      await registry.putQueue({ ...queue, createdAt: 2 });
      await registry.addSubscription(aSubscription({ queue: queue.name }));
    });
    await dynamoRegistry(replacing, table, clock).deleteQueue(queue.name);
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });
});

describe('a claim on a subscriber whose holder is gone', () => {
  const orphaned = async () => {
    const registry = registryOf(table);
    const queue = aQueue({ name: randomUUID() });
    const wanted = aSubscription({ queue: queue.name });
    const gone = { ...wanted, id: 'gone' };
    await registry.putQueue(queue);
    await dynamo.send(new PutCommand({ TableName: table, Item: subscriberItemOf(gone) }));
    return { registry, wanted, gone };
  };

  it('is taken over by a new subscription', async () => {
    const { registry, wanted } = await orphaned();
    expect(await registry.addSubscription(wanted)).toEqual({ kind: 'added' });
    expect(await registry.findBySubscriber(wanted.queue, wanted.subscriber)).toEqual(wanted);
  });

  it('is taken over by a change of the subscriber', async () => {
    const { registry, wanted } = await orphaned();
    await registry.addSubscription({ ...wanted, subscriber: 'https://other.test/' });
    const target = { queue: wanted.queue, subscriptionId: wanted.id, now: SOME_TIME };
    const { subscriber } = wanted;
    expect(
      await registry.changeSubscription(target, (current) => ({ ...current, subscriber })),
    ).toMatchObject({ kind: 'changed' });
    expect((await registry.findBySubscriber(wanted.queue, subscriber))?.id).toBe(wanted.id);
  });

  it('is given to one of many who want it at once', async () => {
    const { registry, wanted } = await orphaned();
    const ids = ['a', 'b', 'c', 'd'];
    const results = await Promise.all(ids.map((id) => registry.addSubscription({ ...wanted, id })));
    expect(results.filter(({ kind }) => kind === 'added')).toHaveLength(1);
    const { items } = await registry.listSubscriptions(wanted.queue, { limit: 10 });
    expect(items).toHaveLength(1);
    expect(await registry.findBySubscriber(wanted.queue, wanted.subscriber)).toEqual(items[0]);
  });

  it.each(['gone', 'somebody'])('stays with %s, who came just before it was freed', async (first) => {
    const { registry, wanted } = await orphaned();
    const holder = { ...wanted, id: first };
    let transactions = 0;
    const racing = interruptedClient(endpoints, async (call) => {
      // The first one is refused for the claim, the second one is to free it.
      if (call !== 'TransactWriteItemsCommand' || (transactions += 1) !== 2) return;
      for (const Item of [subscriptionItemOf(holder), subscriberItemOf(holder)])
        await dynamo.send(new PutCommand({ TableName: table, Item }));
    });
    const added = await dynamoRegistry(racing, table, clock).addSubscription(wanted);
    expect(added).toEqual({ kind: 'conflict', subscriptionId: 'gone' });
    expect(await registry.findBySubscriber(wanted.queue, wanted.subscriber)).toEqual(holder);
  });
});
