import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import type { Queue, Subscription } from '../../domain/subscription/subscription.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SubscriptionPage, Subscriptions } from '../../ports/subscriptions.ts';
import { readPage } from './subscription-pages.ts';
import { changeHealth, disable } from './subscription-health.ts';
import { heapBytesOf, readCache } from '../read-cache.ts';
import {
  isDeletedQueue,
  queueItemKey,
  queueOf,
  subscriptionItemKey,
  subscriptionOf,
} from './subscription-item.ts';

/** Bytes that each cache may hold: by bytes, since options and metadata may have a few characters or 64 KiB. */
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
  const pages = readCache<SubscriptionPage>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: (page) => (page.subscriptions.length === 0 ? 0 : heapBytesOf(page)),
  });
  const queues = readCache<Queue>({ ...age, maxWeight: MAX_CACHED, weightOf: heapBytesOf });
  const subscriptions = readCache<Subscription>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: heapBytesOf,
  });

  return {
    page: (queue, freshness, after = '') =>
      pages[freshness](nameOf(queue, after), () =>
        readPage(client, { tableName, queue, after }, options.clock),
      ),
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
      pages.forgetAll(nameOf(queue, ''));
      subscriptions.forget(nameOf(queue, subscriptionId));
      return inForce;
    },
    changeHealth: async (queue, subscriptionId, change) => {
      const result = await changeHealth(client, { tableName, queue, subscriptionId }, change);
      // Written or refused, what is cached is older.
      pages.forgetAll(nameOf(queue, ''));
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
