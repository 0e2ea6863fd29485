import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { subscriptionIndexes } from '../../../config/tables.ts';
import type { Destination } from '../../../domain/subscription/destination.ts';
import type { Subscription } from '../../../domain/subscription/subscription.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Page } from '../../../ports/page.ts';
import type { PullSubscriptions, Registry } from '../../../ports/subscriptions.ts';
import { findSubscriptionArchive, listArchivedQueues, listArchivedSubscriptions } from './archives.ts';
import {
  changeQueue,
  deleteQueue,
  ensureQueue,
  putQueue,
  queryOfSubscriptions,
  removeDeletedQueue,
} from './queues.ts';
import { itemsByKey, type Query, queryItems, readItem, responsesOf } from '../queries.ts';
import { openTable, type Table } from '../table.ts';
import { changeSubscription, findStored, markDeleted, removeMarked } from './subscription-changes.ts';
import { completeRestoredQueue, restoreQueue, restoreSubscription } from './restorations.ts';
import { addSubscriptions, takeRoom } from './subscription-writes.ts';
import type { RegistryTable } from '../writes.ts';
import type { Pacing } from '../../lambda/invocation-deadline.ts';
import { buildPage, pageUpTo, parseMarker, QUEUE_LISTING } from '../pages.ts';
import { decode, type ItemKey } from '../record.ts';
import {
  isDeletedQueue,
  PULLS,
  queueItemKey,
  QUEUES,
  subscriberItemKey,
  subscriptionItemKey,
  subscriptionPrefix,
  toHolder,
  toPullSort,
  toQueue,
  toSubscription,
} from './subscription-item.ts';

/**
 * The subscriptions table for administration. AWS errors pass through, except failed conditions, which are
 * results.
 */
export function dynamoRegistry(client: DynamoDBDocument, tableName: string, clock: Clock & Pacing): Registry {
  const table: RegistryTable = { ...openTable(client, tableName), clock };

  return {
    putQueue: (queue) => putQueue(table, queue),
    changeQueue: (name, change) => changeQueue(table, name, change),
    ensureQueue: (queue) => ensureQueue(table, queue),
    findQueue: async (name) => {
      const item = await readItem(table, queueItemKey(name));
      return item === undefined || isDeletedQueue(item) ? undefined : toQueue(item);
    },
    listQueues: async (page, part) => {
      const last = parseMarker(QUEUE_LISTING, page);
      const { partition, sort } = subscriptionIndexes.queues;
      const items = await queryItems(
        table,
        {
          ...queryOfQueues(part),
          ExclusiveStartKey:
            last === undefined ? undefined : { ...queueItemKey(last), [partition]: QUEUES, [sort]: last },
        },
        page.limit + 1,
      );
      return buildPage(QUEUE_LISTING, items.map(toQueue), page.limit, (queue) => queue.name);
    },
    countQueues: async (part) => {
      let count = 0;
      for await (const { Count = 0 } of responsesOf(table, {
        ...queryOfQueues(part),
        Select: 'COUNT',
      }))
        count += Count;
      return count;
    },
    deleteQueue: (name, now, restorableUntil) => deleteQueue(table, name, now, restorableUntil),
    removeDeletedQueue: (name, hasTime) => removeDeletedQueue(table, name, hasTime),
    listArchivedQueues: (page, now) => listArchivedQueues(table, page, now),
    restoreQueue: (name, now, until) => restoreQueue(table, name, now, until),
    completeRestoredQueue: (name, hasTime) => completeRestoredQueue(table, name, hasTime),
    addSubscriptions: (subscriptions, bounds) => addSubscriptions(table, subscriptions, bounds),
    takeRoom: (queue, more, most) => takeRoom(table, { queue, more, most }),
    findSubscription: async (queue, subscriptionId) =>
      (await findStored(table, { queue, subscriptionId }))?.current,
    findByDestinations: (queue, destinations) => findByDestinations(table, queue, destinations),
    listSubscriptions: async (queue, page, match) => {
      const last = parseMarker(queue, page);
      const query = {
        ...queryOfSubscriptions(queue),
        ExclusiveStartKey: last === undefined ? undefined : subscriptionItemKey(queue, last),
      };
      if (match !== undefined)
        return findMatching(table, matching(query, match), { queue, limit: page.limit });
      const items = await queryItems(table, query, page.limit + 1);
      return buildPage(queue, items.map(toSubscription), page.limit, ({ id }) => id);
    },
    changeSubscription: (target, change) => changeSubscription(table, target, change),
    markDeleted: (target, restorableUntil) => markDeleted(table, target, restorableUntil),
    removeMarked: (queue, subscriptionId) => removeMarked(table, queue, subscriptionId),
    listArchivedSubscriptions: (queue, page, now) => listArchivedSubscriptions(table, queue, page, now),
    findArchivedSubscription: (target) => findSubscriptionArchive(table, target),
    restoreSubscription: (target) => restoreSubscription(table, target),
  };
}

/** Reads the claims by one request, then the queue and the subscriptions that hold them by another. */
async function findByDestinations(
  table: RegistryTable,
  queue: string,
  destinations: readonly Destination[],
): Promise<(Subscription | undefined)[]> {
  const readItems = async (keys: readonly ItemKey[]): Promise<Map<string, unknown>> => {
    const items = await itemsByKey(table, keys, { ...table.clock, random: Math.random });
    return new Map(items.map((item) => [keySchema.parse(item).sk, item]));
  };
  const claimKeys = destinations.map((destination) => subscriberItemKey({ queue, destination }));
  const claims = await readItems(claimKeys);
  if (claims.size === 0) return destinations.map(() => undefined);
  const holderKeys = new Map(
    [...claims].map(([sk, claim]) => [sk, subscriptionItemKey(queue, toHolder(claim))]),
  );
  const found = await readItems([queueItemKey(queue), ...holderKeys.values()]);
  if (isDeletedQueue(found.get(queueItemKey(queue).sk))) return destinations.map(() => undefined);
  return claimKeys.map(({ sk }) => {
    const holder = found.get(holderKeys.get(sk)?.sk ?? '');
    return holder === undefined ? undefined : toSubscription(holder);
  });
}

const keySchema = z.object({ sk: z.string() });

function matching(query: Query, match: string): Query {
  return {
    ...query,
    FilterExpression: 'begins_with(id, :match) OR contains(#name, :match) OR contains(subscriber, :match)',
    ExpressionAttributeNames: { '#name': 'name' },
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ':match': match },
  };
}

/** Each reads up to 1 MB of subscriptions. */
const MAX_REQUESTS_PER_PAGE = 4;

/** The page ends at its limit, or where its requests end. */
async function findMatching(
  table: Table,
  query: Query,
  { queue, limit }: { queue: string; limit: number },
): Promise<Page<Subscription>> {
  const found: Subscription[] = [];
  let requests = 0;
  for await (const { Items = [], LastEvaluatedKey } of responsesOf(table, query)) {
    found.push(...Items.map(toSubscription));
    requests += 1;
    if (found.length > limit) break;
    if (requests < MAX_REQUESTS_PER_PAGE || LastEvaluatedKey === undefined) continue;
    const last = keySchema.parse(LastEvaluatedKey).sk.slice(subscriptionPrefix.length);
    return pageUpTo(queue, found, last);
  }
  return buildPage(queue, found, limit, ({ id }) => id);
}

/**
 * Queries all queues, or those whose name contains a text. The filter uses the copy `name`, because the index key
 * cannot be filtered.
 */
function queryOfQueues(part: string | undefined): Query {
  const { name, partition } = subscriptionIndexes.queues;
  const all = {
    IndexName: name,
    KeyConditionExpression: `${partition} = :queues`,
    ExpressionAttributeValues: { ':queues': QUEUES },
  };
  if (part === undefined) return all;
  return {
    ...all,
    FilterExpression: 'contains(#name, :part)',
    ExpressionAttributeNames: { '#name': 'name' },
    ExpressionAttributeValues: { ...all.ExpressionAttributeValues, ':part': part },
  };
}

const PULLS_ON_A_PAGE = 1000;

/** The pull subscriptions in the index of the queues. AWS errors pass through. */
export function dynamoPullSubscriptions(client: DynamoDBDocument, tableName: string): PullSubscriptions {
  const table = openTable(client, tableName);
  const { name, partition, sort } = subscriptionIndexes.queues;
  const listedSchema = z
    .object({ queue: z.string(), id: z.string(), expiresAt: z.number().exactOptional() })
    .transform(({ id, ...listed }) => ({ ...listed, subscriptionId: id }));
  return {
    after: async (last) => {
      const { Items = [] } = await table.query({
        IndexName: name,
        KeyConditionExpression: `${partition} = :pulls AND ${sort} > :last`,
        ProjectionExpression: '#queue, id, expiresAt',
        ExpressionAttributeNames: { '#queue': 'queue' },
        // The lowest sort key sorts after a blank.
        ExpressionAttributeValues: { ':pulls': PULLS, ':last': last === undefined ? ' ' : toPullSort(last) },
        Limit: PULLS_ON_A_PAGE,
      });
      return Items.map((item) => decode(listedSchema, item));
    },
  };
}
