import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { primaryKey } from '../../config/tables.ts';
import type { Queue, Subscription } from '../../domain/subscription/subscription.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SubscriptionList, Subscriptions } from '../../ports/subscriptions.ts';
import { queriedItems } from './queries.ts';
import { changeHealth, disable } from './subscription-health.ts';
import { heapBytesOf, readCache } from '../read-cache.ts';
import {
  isDeletedQueue,
  isQueueItem,
  queueItemKey,
  queueOf,
  queuePartition,
  subscriberPrefix,
  subscriptionItemKey,
  subscriptionOf,
} from './subscription-item.ts';

/**
 * Bytes that each cache may hold: by bytes, since options and metadata may have a few characters or 64 KiB. In a function
 * of 512 MB that leaves room for a list that is read while the one before it is still kept.
 */
const MAX_CACHED = 64 * 1024 * 1024;

/**
 * The subscriptions table as dispatch and deliver see it. Every read is strongly consistent; `cached` answers may be
 * `cacheSeconds` old, and are shared, so they are for reading only.
 */
export function dynamoSubscriptions(
  client: DynamoDBDocument,
  tableName: string,
  options: { clock: Pick<Clock, 'now'>; cacheSeconds: number },
): Subscriptions {
  const age = { clock: options.clock, maxAgeMs: options.cacheSeconds * 1000 };
  const lists = readCache<SubscriptionList>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: (list) => (list.subscriptions.length === 0 ? 0 : heapBytesOf(list)),
  });
  const queues = readCache<Queue>({ ...age, maxWeight: MAX_CACHED, weightOf: heapBytesOf });
  const subscriptions = readCache<Subscription>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: heapBytesOf,
  });

  return {
    list: (queue, freshness) =>
      lists[freshness](queue, () => readList(client, tableName, queue, options.clock)),
    find: async (queue, subscriptionId, freshness) => {
      const [foundQueue, subscription] = await Promise.all([
        // Not at every retry of the queue: one item takes 3,000 such reads a second (docs/performance.md#ceilings).
        queues.cached(queue, () => readQueue(client, tableName, queue)),
        subscriptions[freshness](nameOf(queue, subscriptionId), () =>
          readSubscription(client, tableName, queue, subscriptionId),
        ),
      ]);
      return { queue: foundQueue, subscription: foundQueue && subscription };
    },
    disable: async (queue, subscriptionId, disabled, changedAt) => {
      const inForce = await disable(client, { tableName, queue, subscriptionId }, disabled, changedAt);
      lists.forget(queue);
      subscriptions.forget(nameOf(queue, subscriptionId));
      return inForce;
    },
    changeHealth: async (queue, subscriptionId, change) => {
      const result = await changeHealth(client, { tableName, queue, subscriptionId }, change);
      // Written or refused, what is cached is older.
      lists.forget(queue);
      subscriptions.forget(nameOf(queue, subscriptionId));
      return result;
    },
  };
}

function nameOf(queue: string, subscriptionId: string): string {
  return `${queue}#${subscriptionId}`;
}

async function readQueue(
  client: DynamoDBDocument,
  tableName: string,
  queue: string,
): Promise<Queue | undefined> {
  const { Item } = await client.get({ TableName: tableName, Key: queueItemKey(queue), ConsistentRead: true });
  return Item === undefined || isDeletedQueue(Item) ? undefined : queueOf(Item);
}

async function readSubscription(
  client: DynamoDBDocument,
  tableName: string,
  queue: string,
  subscriptionId: string,
): Promise<Subscription | undefined> {
  const Key = subscriptionItemKey(queue, subscriptionId);
  const { Item } = await client.get({ TableName: tableName, Key, ConsistentRead: true });
  return Item === undefined ? undefined : subscriptionOf(Item);
}

/** The queue and its subscriptions lie side by side, ahead of the items that make subscribers unique. */
async function readList(
  client: DynamoDBDocument,
  tableName: string,
  queue: string,
  clock: Pick<Clock, 'now'>,
): Promise<SubscriptionList | undefined> {
  const readAt = clock.now();
  const items = await queriedItems(client, {
    TableName: tableName,
    ConsistentRead: true,
    KeyConditionExpression: `${primaryKey.partition} = :queue AND ${primaryKey.sort} < :subscribers`,
    ExpressionAttributeValues: { ':queue': queuePartition(queue), ':subscribers': subscriberPrefix },
  });
  const [first, ...rest] = items;
  if (!isQueueItem(first) || isDeletedQueue(first)) return undefined;
  return { queue: queueOf(first), subscriptions: rest.map(subscriptionOf), readAt };
}
