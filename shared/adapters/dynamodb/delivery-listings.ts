import * as z from 'zod';
import { STATUSES } from '../../domain/vocabulary.ts';
import { deliveryIndexes } from '../../config/tables.ts';
import type { Delivery, DeliveryKey } from '../../domain/delivery/delivery.ts';
import type {
  DeliveryListings,
  DeliveryRecords,
  DeliverySelection,
  ListedDelivery,
} from '../../ports/deliveries.ts';
import type { Page, PageRequest } from '../../ports/page.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { deliveryItemKeySchema, deliveryOf } from './delivery-item.ts';
import {
  byQueuePartition,
  bySubscriptionPartition,
  itemKeyOf,
  shards,
  sortableTime,
} from './delivery-keys.ts';
import { type BatchReading, type IndexPart, itemsByKey, readIndexPart } from './queries.ts';
import { type Direction, listingOf, mergedPage, pageUpTo, startPlaceOf, timeOfPlace } from './pages.ts';
import { pageOfMessage, tallyOfMessage } from './message-deliveries.ts';
import { decode, UnreadableRecordError } from './record.ts';

/** Listings of deliveries by the indexes of the deliveries table. AWS errors pass through. */
export function dynamoDeliveryListings(
  client: DynamoDBDocument,
  tableName: string,
  reading: BatchReading,
): DeliveryListings {
  const listPage = async (
    direction: Direction,
    selection: DeliverySelection,
    request: PageRequest,
  ): Promise<Page<ListedDelivery>> => {
    const listing = listingOf(`deliveries ${direction}`, selection);
    const after = startPlaceOf(listing, request);
    const parts = partsOf(selection, direction).map((part) =>
      readIndexPart(client, tableName, { ...part, after }, listedDeliveryOf),
    );
    const { found, readTo } = await mergedPage(parts, direction, request.limit);
    return pageUpTo(
      listing,
      found.map(({ item }) => item),
      readTo,
    );
  };

  return {
    newest: (selection, request) => listPage('descending', selection, request),
    oldest: (selection, request) => listPage('ascending', selection, request),
    records: (keys) => recordsOf(client, tableName, keys, reading),
    ofMessage: (message, request) => pageOfMessage(client, tableName, message, request),
    tally: (message) => tallyOfMessage(client, tableName, message),
  };
}

/** One part for every shard of the index that serves the selection. */
function partsOf(
  { queue, subscriptionId, status, since = 0, until = Infinity }: DeliverySelection,
  direction: Direction,
): IndexPart[] {
  const range = { first: sortableTime(since), last: sortableTime(until), direction, status };
  const { byQueue, bySubscription } = deliveryIndexes;
  return subscriptionId === undefined
    ? shardsTo(shards.byQueue).map((shard) => ({
        ...range,
        index: byQueue,
        partition: byQueuePartition(queue, shard),
      }))
    : shardsTo(shards.bySubscription).map((shard) => ({
        ...range,
        index: bySubscription,
        partition: bySubscriptionPartition({ queue, subscriptionId }, shard),
      }));
}

function shardsTo(count: number): number[] {
  return Array.from({ length: count }, (_, shard) => shard);
}

const entrySchema = z.object({
  [deliveryIndexes.byQueue.sort]: z.string().regex(/^\d{13}#/),
  status: z.enum(STATUSES),
});

function listedDeliveryOf(entry: unknown): ListedDelivery {
  const { notDeliveredSk, status } = decode(entrySchema, entry);
  return {
    key: decode(deliveryItemKeySchema, entry),
    acceptedAt: timeOfPlace(notDeliveredSk),
    status,
  };
}

/**
 * Up to 100 records; strongly consistent.
 * @throws ItemsNotReadError
 */
export async function recordsOf(
  client: DynamoDBDocument,
  tableName: string,
  keys: readonly DeliveryKey[],
  reading: BatchReading,
): Promise<DeliveryRecords> {
  const found = (await itemsByKey(client, tableName, keys.map(itemKeyOf), reading)).map(readingOf);
  return {
    deliveries: found.flatMap((read) => ('delivery' in read ? [read.delivery] : [])),
    unreadable: found.filter((read) => 'error' in read),
  };
}

type RecordReading = { delivery: Delivery } | { key: DeliveryKey; error: UnreadableRecordError };

/** An unreadable record must not fail the whole batch. */
function readingOf(item: unknown): RecordReading {
  try {
    return { delivery: deliveryOf(item) };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { key: decode(deliveryItemKeySchema, item), error };
  }
}
