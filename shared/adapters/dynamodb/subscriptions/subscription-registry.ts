import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { subscriptionIndexes } from '../../../config/tables.ts';
import type { Destination } from '../../../domain/subscription/destination.ts';
import type { Subscription } from '../../../domain/subscription/subscription.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Page, PageRequest } from '../../../ports/page.ts';
import type { PullSubscriptions, Registry } from '../../../ports/subscriptions.ts';
import type { Pacing } from '../../lambda/invocation-deadline.ts';
import { buildPage, pageUpTo, parseMarker } from '../pages.ts';
import { itemsByKey, listItems, responsesOf } from '../queries.ts';
import { decode, type ItemKey } from '../record.ts';
import { openTable, type Table } from '../table.ts';
import type { RegistryTable } from '../writes.ts';
import { dynamoArchives } from './archives.ts';
import { dynamoQueues } from './queues.ts';
import { dynamoSubscriptionChanges } from './subscription-changes.ts';
import {
  isDeletedQueue,
  PULLS,
  queryOfSubscriptions,
  queueItemKey,
  subscriberItemKey,
  subscriptionItemKey,
  subscriptionPrefix,
  toHolder,
  toPullSort,
  toSubscription,
} from './subscription-item.ts';
import { addSubscriptions, takeRoom } from './subscription-writes.ts';

/**
 * The subscriptions table for administration. AWS errors pass through, except failed conditions, which are
 * results.
 */
export function dynamoRegistry(client: DynamoDBDocument, tableName: string, clock: Clock & Pacing): Registry {
  const table: RegistryTable = { ...openTable(client, tableName), clock };
  return {
    ...dynamoQueues(table),
    ...dynamoSubscriptionChanges(table),
    ...dynamoArchives(table),
    addSubscriptions: (subscriptions, bounds) => addSubscriptions(table, subscriptions, bounds),
    takeRoom: (queue, more, most) => takeRoom(table, { queue, more, most }),
    findByDestinations: (queue, destinations) => findByDestinations(table, queue, destinations),
    listSubscriptions: (queue, page, match) =>
      match === undefined
        ? listItems(table, queue, page, subscriptionListing(queue))
        : findMatching(table, queue, page, match),
  };
}

function subscriptionListing(queue: string) {
  return {
    query: queryOfSubscriptions(queue),
    keyOf: (id: string) => subscriptionItemKey(queue, id),
    parse: toSubscription,
    nameOf: ({ id }: Subscription) => id,
  };
}

/** Reads the claims by one request, then the queue and the subscriptions that hold them by another. */
async function findByDestinations(
  table: RegistryTable,
  queue: string,
  destinations: readonly Destination[],
): Promise<(Subscription | undefined)[]> {
  const readItems = async (keys: readonly ItemKey[]): Promise<Map<string, Record<string, unknown>>> => {
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

/** Each reads up to 1 MB of subscriptions. */
const MAX_REQUESTS_PER_PAGE = 4;

/** The page ends at its limit, or where its requests end. */
async function findMatching(
  table: Table,
  queue: string,
  page: PageRequest,
  match: string,
): Promise<Page<Subscription>> {
  const last = parseMarker(queue, page);
  const all = queryOfSubscriptions(queue);
  const query = {
    ...all,
    ExclusiveStartKey: last === undefined ? undefined : subscriptionItemKey(queue, last),
    FilterExpression: 'begins_with(id, :match) OR contains(#name, :match) OR contains(subscriber, :match)',
    ExpressionAttributeNames: { '#name': 'name' },
    ExpressionAttributeValues: { ...all.ExpressionAttributeValues, ':match': match },
  };
  const found: Subscription[] = [];
  let requests = 0;
  for await (const { Items = [], LastEvaluatedKey } of responsesOf(table, query)) {
    found.push(...Items.map(toSubscription));
    requests += 1;
    if (found.length > page.limit) break;
    if (requests < MAX_REQUESTS_PER_PAGE || LastEvaluatedKey === undefined) continue;
    const reached = keySchema.parse(LastEvaluatedKey).sk.slice(subscriptionPrefix.length);
    return pageUpTo(queue, found, reached);
  }
  return buildPage(queue, found, page.limit, ({ id }) => id);
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
