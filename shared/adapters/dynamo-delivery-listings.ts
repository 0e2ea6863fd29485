import type { DocumentClient } from './aws/document-client.ts';
import * as z from 'zod';
import { deliveryIndexes } from '../config/tables.ts';
import type { DeliveryListings, DeliverySelection, ListedDelivery } from '../ports/delivery-listings.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import { deliveryItemKeySchema } from './delivery-item.ts';
import { byQueuePartition, bySubscriptionPartition, shards, sortableTime } from './delivery-keys.ts';
import { recordsOf, type BatchReading } from './dynamo-delivery-batch.ts';
import { pageOfMessage, tallyOfMessage } from './dynamo-message-deliveries.ts';
import { readIndexPart, type IndexPart } from './index-part.ts';
import { listingOf, pageUpTo, placeAsked, timeOfPlace } from './listing-marker.ts';
import { mergedPage, type Direction } from './merged-page.ts';
import { decoded } from './record.ts';

/** The indexes of the deliveries table. Errors of AWS pass through. */
export const dynamoDeliveryListings = (
  client: DocumentClient,
  tableName: string,
  reading: BatchReading,
): DeliveryListings => {
  const listed = async (
    direction: Direction,
    selection: DeliverySelection,
    request: PageRequest,
  ): Promise<Page<ListedDelivery>> => {
    const listing = listingOf(`deliveries ${direction}`, selection);
    const after = placeAsked(listing, request);
    const parts = partsOf(selection, direction).map((part) =>
      readIndexPart(client, tableName, { ...part, after }, listedOf),
    );
    const { found, readTo } = await mergedPage(parts, direction, request.limit);
    return pageUpTo(
      listing,
      found.map(({ item }) => item),
      readTo,
    );
  };

  return {
    newest: (selection, request) => listed('descending', selection, request),
    oldest: (selection, request) => listed('ascending', selection, request),
    records: (keys) => recordsOf(client, tableName, keys, reading),
    ofMessage: (message, buckets, request) => pageOfMessage(client, tableName, { message, buckets }, request),
    tally: (message, buckets) => tallyOfMessage(client, tableName, message, buckets),
  };
};

/** Every shard of the index that serves the selection. */
const partsOf = (
  { queue, subscriptionId, status, since = 0, until = Infinity }: DeliverySelection,
  direction: Direction,
): IndexPart[] => {
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
};

const shardsTo = (count: number): number[] => Array.from({ length: count }, (_, shard) => shard);

const entrySchema = z.object({
  [deliveryIndexes.byQueue.sort]: z.string().regex(/^\d{13}#/),
  status: z.enum(['pending', 'retrying', 'delivered', 'rejected', 'exhausted', 'cancelled']),
});

const listedOf = (entry: unknown): ListedDelivery => {
  const { notDeliveredSk, status } = decoded(entrySchema, entry);
  return {
    key: decoded(deliveryItemKeySchema, entry),
    acceptedAt: timeOfPlace(notDeliveredSk),
    status,
  };
};
