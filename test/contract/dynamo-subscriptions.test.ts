import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, it } from 'vitest';
import {
  subscriberItemKey,
  toSubscriberItem,
  toSubscriptionItem,
} from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import {
  dynamoPullSubscriptions,
  dynamoRegistry,
} from '../../shared/adapters/dynamodb/subscriptions/subscription-registry.ts';
import { dynamoPortalSessions } from '../../shared/adapters/dynamodb/subscriptions/portal-sessions.ts';
import { dynamoSubscriptions } from '../../shared/adapters/dynamodb/subscriptions/subscriptions.ts';
import type { StoredAuth } from '../../shared/domain/subscription/auth.ts';
import { asEnabled, moveTo } from '../../shared/domain/subscription/change.ts';
import {
  type Destination,
  parseDestination,
  withAuth,
} from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  QueueBeingDeletedError,
  QueueMissingError,
  REMOVAL_BUDGET_MS,
} from '../../shared/ports/subscriptions.ts';
import { addSubscription, addSubscriptions } from '../support/add-subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { deployment } from '../support/deployment.ts';
import {
  clientLosingAResponse,
  countingClient,
  interruptedClient,
  privateTables,
} from '../support/dynamo-clients.ts';
import { removeSubscription } from '../support/remove-subscription.ts';
import {
  describePullSubscriptionsContract,
  describeQueueRoomContract,
  describeRegistryImportsContract,
  describeRegistryPagesContract,
} from './registry-pages.contract.ts';
import { describePortalSessionsContract } from './portal-sessions.contract.ts';
import { describeRegistryContract } from './registry.contract.ts';
import {
  describeSubscriptionHealthContract,
  describeSubscriptionsContract,
  type SubscriptionsUnderTest,
} from './subscriptions.contract.ts';
import { dynamoEventTypes } from '../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { describeEventTypesContract } from './event-types.contract.ts';

const { documents, dynamo, endpoints } = deployment;
const tables = privateTables(dynamo);
const started = Date.now();
/** Stands still: what a registry may do within a budget does not depend on how busy the local AWS is. */
const clock = { sleep: () => Promise.resolve(), now: () => started };
const table = await tables.like(endpoints.subscriptionsTable);
afterAll(tables.deleteAll);

describePortalSessionsContract('in DynamoDB', () => dynamoPortalSessions(documents, table));

const registryOf = (tableName = table, client = documents) => dynamoRegistry(client, tableName, clock);

/** A queue that no other test uses, with these subscriptions. */
const withQueue = async (...ids: string[]) => {
  const registry = registryOf();
  const queue = aQueue({ name: randomUUID(), createdAt: 1 });
  await registry.putQueue(queue);
  const subscriptions = ids.map((id) =>
    aSubscription({ id, queue: queue.name, subscriber: `https://hooks.example/${id}` }),
  );
  await addSubscriptions(registry, subscriptions);
  const [subscription = aSubscription({ queue: queue.name })] = subscriptions;
  const target = { queue: queue.name, subscriptionId: subscription.id, now: SOME_TIME };
  return { registry, queue, subscription, target };
};

/** A client that acts once, before its first request of this kind. */
const interruptedOnce = (command: string, act: () => Promise<unknown>) => {
  const state = { isInterrupted: false };
  const client = interruptedClient(endpoints, async (call) => {
    if (call !== command || state.isInterrupted) return;
    state.isInterrupted = true;
    await act();
  });
  return { client, state };
};

const store = async (...subscriptions: readonly Subscription[]): Promise<void> => {
  for (const Item of subscriptions.flatMap((one) => [toSubscriptionItem(one), toSubscriberItem(one)]))
    await dynamo.send(new PutCommand({ TableName: table, Item }));
};

/** A reader that caches results for five seconds of a test clock, and counts its requests. */
const aReader = () => {
  const { client, requests } = countingClient(endpoints);
  const time = { now: SOME_TIME };
  const options = { clock: { now: () => time.now }, cacheSeconds: 5 };
  return { subscriptions: dynamoSubscriptions(client, table, options), requests, time };
};

describeRegistryImportsContract('in DynamoDB', () => registryOf());
describeRegistryContract('in DynamoDB', () => ({
  registry: registryOf(),
  subscriptions: aReader().subscriptions,
}));
describeRegistryPagesContract('in DynamoDB', async () =>
  registryOf(await tables.like(endpoints.subscriptionsTable)),
);
describePullSubscriptionsContract('in DynamoDB', () => ({
  registry: registryOf(),
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
    registry: registryOf(),
    setTime: (now) => {
      time.now = now;
    },
  };
};
describeSubscriptionsContract('in DynamoDB', underTest);
// Each run takes ten requests.
describeSubscriptionHealthContract('in DynamoDB', underTest, 40);

it('reads a bounded part of a queue for each page of a search', async () => {
  const { queue } = await withQueue('a', 'b', 'c', 'd', 'e', 'f');
  // Each response covers one subscription, as if each had 1 MB.
  const client = interruptedClient(endpoints, (_command, input) =>
    Promise.resolve(Object.assign(input as object, { Limit: 1 })).then(() => undefined),
  );
  const search = registryOf(table, client);
  const first = await search.listSubscriptions(queue.name, { limit: 9 }, 'example/f');
  expect(first.items).toEqual([]);
  const { marker = 'none' } = first;
  const rest = await search.listSubscriptions(queue.name, { limit: 9, marker }, 'example/f');
  expect(rest.items.map(({ id }) => id)).toEqual(['f']);
  expect(rest).not.toHaveProperty('marker');
});

it('counts a queue once and gives each place once to concurrent callers that ask for room', async () => {
  let queries = 0;
  const client = interruptedClient(endpoints, (command) => {
    if (command === 'QueryCommand') queries += 1;
    return Promise.resolve();
  });
  const { queue } = await withQueue('a', 'b');
  const registry = registryOf(table, client);
  const asked = Array.from({ length: 5 }, () =>
    registry.takeRoom(queue.name, { subscriptions: 1, bytes: 0 }, { subscriptions: 5, bytes: 1_000_000 }),
  );
  expect((await Promise.all(asked)).filter((taken) => taken)).toHaveLength(3);
  expect(queries).toBe(1);
});

describe('the cache of the subscriptions table', () => {
  const kept = async () => ({ ...aReader(), ...(await withQueue('s-1')) });

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

  it('holds the queue even when its subscription is read fresh, as for every retry', async () => {
    const { subscriptions, requests, time, queue, subscription } = await kept();
    for (let retry = 0; retry < 10; retry += 1)
      expect(await subscriptions.find(queue.name, subscription.id, 'fresh')).toEqual({ queue, subscription });
    expect(requests()).toBe(1 + 10);
    time.now += 5_000;
    await subscriptions.find(queue.name, subscription.id, 'fresh');
    expect(requests()).toBe(2 + 11);
  });
});

it('gives a new subscriber no credentials that are added for the old one while it is changed', async () => {
  const { registry, target } = await withQueue('s-1');
  const auth: StoredAuth = {
    shown: { type: 'basic', username: 'ada', password: '***' },
    sealed: 'sealed',
    at: SOME_TIME,
  };
  const { client, state } = interruptedOnce('TransactWriteItemsCommand', () =>
    registry.changeSubscription(target, (current) => ({
      ...current,
      destination: withAuth(current.destination, auth),
    })),
  );
  await registryOf(table, client).changeSubscription(target, (current) => {
    const moved = moveTo(parseDestination('https://other.test/'), current, SOME_TIME);
    return { ...moved, destination: withAuth(moved.destination, undefined) };
  });
  const found = await registry.findSubscription(target.queue, target.subscriptionId);
  expect(state.isInterrupted).toBe(true);
  expect(found?.destination).toEqual({ kind: 'webhook', url: 'https://other.test/' });
});

describe('a change that was written, and whose response was lost', () => {
  const losing = async () => registryOf(table, await clientLosingAResponse(endpoints, 'UpdateItem'));

  it('is a change of a subscription, although it no longer finds the secret that it replaced', async () => {
    const { subscription, target } = await withQueue('s-1');
    const after = { ...subscription, secrets: [{ sealed: 'new' }] };
    const registry = await losing();
    const rotate = (current: Subscription) => (current.secrets === undefined ? after : undefined);
    expect(await registry.changeSubscription(target, rotate)).toEqual({
      kind: 'changed',
      before: subscription,
      after,
    });
  });

  it('is one change of a queue, not two', async () => {
    const { queue } = await withQueue();
    const after = { ...queue, metadata: { ...queue.metadata, list: [1] } };
    const registry = await losing();
    const append = ({ metadata, ...current }: Queue): Queue => ({
      ...current,
      metadata: { ...metadata, list: [1, ...[metadata['list'] ?? []].flat()] },
    });
    expect(await registry.changeQueue(queue.name, append)).toEqual({ kind: 'changed', before: queue, after });
    expect(await registry.findQueue(queue.name)).toEqual(after);
  });
});

describe('the deletion of a queue', () => {
  it('takes effect for all callers at once, before its subscriptions are removed', async () => {
    const { registry, queue, subscription: first, target } = await withQueue('s-1');
    const subscriptions = dynamoSubscriptions(documents, table, { clock, cacheSeconds: 0 });
    await registry.deleteQueue(queue.name, SOME_TIME);
    expect(await registry.findQueue(queue.name)).toBeUndefined();
    expect(await registry.findSubscription(queue.name, first.id)).toBeUndefined();
    expect(await registry.findByDestinations(queue.name, [first.destination])).toEqual([undefined]);
    expect(await registry.changeQueue(queue.name, (same) => same)).toEqual({ kind: 'missing' });
    expect(await registry.changeSubscription(target, (same) => same)).toEqual({ kind: 'missing' });
    expect(await registry.markDeleted(target)).toBeUndefined();
    expect(await subscriptions.page(queue.name, 'fresh')).toBeUndefined();
    expect(await subscriptions.find(queue.name, first.id, 'fresh')).toEqual({});
    await expect(addSubscription(registry, { ...first, id: 'new' })).rejects.toThrow(QueueMissingError);
    const { items } = await registry.listQueues({ limit: 100 });
    expect(items.map(({ name }) => name)).not.toContain(queue.name);
  });

  it('removes the rest page by page while there is time, and can be repeated', async () => {
    const { registry, queue } = await withQueue(...Array.from({ length: 60 }, (_, index) => `s-${index}`));
    await registry.deleteQueue(queue.name, SOME_TIME);
    expect(await registry.removeDeletedQueue(queue.name, () => false)).toBe(false);
    await registry.deleteQueue(queue.name, SOME_TIME + 1);
    expect(await registry.removeDeletedQueue(queue.name, () => true)).toBe(true);
    expect(await registry.removeDeletedQueue(queue.name, () => true)).toBe(true);
    const { Count } = await documents.query({
      TableName: table,
      KeyConditionExpression: 'pk = :queue',
      ExpressionAttributeValues: { ':queue': `QUEUE#${queue.name}` },
    });
    expect(Count).toBe(0);
  });

  it('is completed by the creation of a queue of that name, which is refused if that takes too long', async () => {
    const { registry, queue } = await withQueue('s-1', 's-2');
    await registry.deleteQueue(queue.name, SOME_TIME);
    let tries = 0;
    const stuck = interruptedClient(endpoints, (call) => {
      if (call !== 'DeleteItemCommand') return Promise.resolve();
      tries += 1;
      return Promise.reject(new ConditionalCheckFailedException({ message: 'held', $metadata: {} }));
    });
    let time = 0;
    const passing = { ...clock, now: () => (time += REMOVAL_BUDGET_MS * 0.4) };
    const slow = () => dynamoRegistry(stuck, table, passing);
    await expect(slow().putQueue(queue)).rejects.toThrow(QueueBeingDeletedError);
    await expect(slow().ensureQueue(queue)).rejects.toThrow(QueueBeingDeletedError);
    // The clock allows three rounds each. The first removes the subscriptions; the others try to delete the
    // queue.
    expect(tries).toBe(2 + 3);
    expect(await registry.putQueue({ ...queue, createdAt: 2 })).toEqual({ kind: 'created' });
    expect(await registry.findQueue(queue.name)).toMatchObject({ createdAt: 2 });
    expect(await registry.listSubscriptions(queue.name, { limit: 10 })).toEqual({ items: [] });
  });

  it('leaves no claim behind if a subscriber is changed during the deletion', async () => {
    const { registry, queue, subscription } = await withQueue('s-1');
    const moved = { ...subscription, destination: parseDestination('https://moved.test/') };
    await registry.deleteQueue(queue.name, SOME_TIME);
    const { client, state } = interruptedOnce('TransactWriteItemsCommand', () => store(moved));
    expect(await registryOf(table, client).removeDeletedQueue(queue.name, () => true)).toBe(true);
    expect(state.isInterrupted).toBe(true);
    const Key = subscriberItemKey(moved);
    expect((await dynamo.send(new GetCommand({ TableName: table, Key }))).Item).toBeUndefined();
  });

  it('removes nothing of the next queue of that name, even if it is slow', async () => {
    const { registry, queue, subscription } = await withQueue('s-1');
    await registry.deleteQueue(queue.name, SOME_TIME);
    const { client, state } = interruptedOnce('TransactWriteItemsCommand', async () => {
      await registry.removeDeletedQueue(queue.name, () => true);
      await registry.putQueue({ ...queue, createdAt: 2 });
      await addSubscription(registry, subscription);
    });
    expect(await registryOf(table, client).removeDeletedQueue(queue.name, () => true)).toBe(true);
    expect(state.isInterrupted).toBe(true);
    const holders = await registry.findByDestinations(queue.name, [subscription.destination]);
    expect(holders).toEqual([subscription]);
  });
});

describe('a claim whose subscription no longer exists', () => {
  const orphaned = async () => {
    const { registry, subscription: wanted } = await withQueue();
    const Item = toSubscriberItem({ ...wanted, id: 'gone' });
    await dynamo.send(new PutCommand({ TableName: table, Item }));
    const holders = (...more: Destination[]) =>
      registry.findByDestinations(wanted.queue, [wanted.destination, ...more]);
    return { registry, wanted, holders };
  };

  it('is taken over by a new subscription', async () => {
    const { registry, wanted, holders } = await orphaned();
    expect(await addSubscription(registry, wanted)).toEqual({ kind: 'added' });
    expect(await holders()).toEqual([wanted]);
  });

  it('is taken over by one of several subscriptions that are added at once', async () => {
    const { wanted, holders } = await orphaned();
    const other = { ...wanted, id: 'other', destination: parseDestination('https://other.test/') };
    const { client, requests } = countingClient(endpoints);
    const counted = registryOf(table, client);
    expect(await counted.addSubscriptions([other, wanted])).toEqual([{ kind: 'added' }, { kind: 'added' }]);
    // Refused, the holder looked up, its claim released, and both added.
    expect(requests()).toBe(4);
    expect(await holders(other.destination)).toEqual([wanted, other]);
  });

  it('is taken over by a change of the subscriber', async () => {
    const { registry, wanted, holders } = await orphaned();
    await addSubscription(registry, { ...wanted, destination: parseDestination('https://other.test/') });
    const target = { queue: wanted.queue, subscriptionId: wanted.id, now: SOME_TIME };
    const { destination } = wanted;
    const changed = await registry.changeSubscription(target, (current) => ({ ...current, destination }));
    expect(changed.kind).toBe('changed');
    expect(await holders()).toMatchObject([{ id: wanted.id }]);
  });

  it('is given to one of several concurrent subscriptions', async () => {
    const { registry, wanted, holders } = await orphaned();
    const ids = ['a', 'b', 'c', 'd'];
    const results = await Promise.all(ids.map((id) => addSubscription(registry, { ...wanted, id })));
    expect(results.filter(({ kind }) => kind === 'added')).toHaveLength(1);
    const { items } = await registry.listSubscriptions(wanted.queue, { limit: 10 });
    expect(items).toHaveLength(1);
    expect(await holders()).toEqual(items);
  });

  it.each(['gone', 'other'])('stays with "%s" if that is created just before the release', async (first) => {
    const { wanted, holders } = await orphaned();
    const holder = { ...wanted, id: first };
    let transactions = 0;
    const racing = interruptedClient(endpoints, async (call) => {
      // The first transaction is refused because of the claim; the second would release it.
      if (call === 'TransactWriteItemsCommand' && (transactions += 1) === 2) await store(holder);
    });
    const added = await addSubscription(registryOf(table, racing), wanted);
    expect(added).toEqual({ kind: 'conflict', subscriptionId: 'gone' });
    expect(await holders()).toEqual([holder]);
  });
});

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
    const { registry, queue, subscription, target } = await withQueue('s-1');
    const subscriptions = dynamoSubscriptions(documents, table, { clock, cacheSeconds: 0 });
    let isNoted = false;
    const interrupted = interruptedClient(endpoints, async (call) => {
      if (isNoted || call === 'GetItemCommand') return;
      isNoted = true;
      const failing = { since: SOME_TIME, failures: 1 };
      await subscriptions.changeHealth(queue.name, subscription.id, { kind: 'begin', failing });
      await subscriptions.disable(queue.name, subscription.id, { reason: 'gone', at: SOME_TIME });
    });
    const result = await registryOf(table, interrupted).changeSubscription(target, repair);
    expect(isNoted).toBe(true);
    expect(result).toMatchObject({ kind: 'changed', before: { disabled: { reason: 'gone' } } });
    expect(await registry.findSubscription(queue.name, subscription.id)).toEqual({
      ...subscription,
      ...repaired,
    });
  });
});

describeEventTypesContract('in DynamoDB', async () =>
  dynamoEventTypes(documents, await tables.like(endpoints.subscriptionsTable)),
);
