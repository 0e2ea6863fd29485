import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { deliveryIndexes, listedAttribute, primaryKey } from '../../../config/tables.ts';
import { type Chunk, deliveryIn } from '../../../domain/delivery/chunk.ts';
import type { Delivery, DeliveryKey } from '../../../domain/delivery/delivery.ts';
import { endOfBuckets, type FanOut, toBucketRange } from '../../../domain/delivery/fan-out.ts';
import { NO_DELIVERIES } from '../../../domain/delivery/books.ts';
import type { MessageKey } from '../../../domain/message/message.ts';
import { type Status, STATUSES } from '../../../domain/delivery/vocabulary.ts';
import type { OverdueDelivery } from '../../../domain/delivery/transitions.ts';
import type {
  DeliveryListings,
  DeliverySelection,
  ListedDelivery,
  WaitingCount,
} from '../../../ports/deliveries.ts';
import { InvalidMarkerError, type Page, type PageRequest } from '../../../ports/page.ts';
import { chunkOfItem } from './chunks.ts';
import { inParallel } from '../../in-parallel.ts';
import { overdueQuery, toOverdueDelivery } from './deliveries.ts';
import { deliveryKeySchema, toDelivery } from './delivery-item.ts';
import {
  byQueuePartition,
  bySubscriptionPartition,
  chunkPrefix,
  deliveryPrefix,
  shards,
  sortableTime,
  toItemKey,
  toPartition,
  waitingPartitions,
} from './delivery-keys.ts';
import {
  buildPage,
  type Direction,
  mergedPage,
  nameListing,
  pageUpTo,
  parseMarker,
  parseStartPlace,
  timeOfPlace,
} from '../pages.ts';
import {
  type BatchReading,
  type IndexPart,
  itemsByKey,
  pagesOf,
  queryItems,
  queryOfPrefix,
  readIndexPart,
} from '../queries.ts';
import { decode, UnreadableRecordError } from '../record.ts';
import { openTable, type Table } from '../table.ts';

/** Listings of deliveries by the indexes of the deliveries table. AWS errors pass through. */
export function dynamoDeliveryListings(
  client: DynamoDBDocument,
  tableName: string,
  reading: BatchReading,
): DeliveryListings {
  const table = openTable(client, tableName);
  const listPage = async (
    direction: Direction,
    selection: DeliverySelection,
    request: PageRequest,
  ): Promise<Page<ListedDelivery>> => {
    const listing = nameListing(`deliveries ${direction}`, selection);
    const after = parseStartPlace(listing, request);
    const parts = buildParts(selection, direction).map((part) =>
      readIndexPart(table, { ...part, after }, toListedDelivery),
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
    records: async (keys) => {
      const found = (await itemsByKey(table, keys.map(toItemKey), reading)).map(toReading);
      return {
        deliveries: found.flatMap((read) => ('delivery' in read ? [read.delivery] : [])),
        unreadable: found.filter((read) => 'error' in read),
      };
    },
    ofMessage: (message, request) => pageOfMessage(table, message, request),
    countWaiting: async (places, matches, most) => {
      const found: OverdueDelivery[] = [];
      let looked = 0;
      for (const partition of places.flatMap(waitingPartitions)) {
        const query = overdueQuery(Number.MAX_SAFE_INTEGER, { partition }, most - looked + 1);
        for await (const page of pagesOf(table, query)) {
          looked += page.length;
          found.push(...page.map(toOverdueDelivery).filter(({ key }) => matches(key)));
          if (looked > most) return countOf(found, most, true);
        }
      }
      return countOf(found, most, false);
    },
    tally: async ({ key, ...message }, { first, end } = toBucketRange(message)) => {
      const counts = { ...NO_DELIVERIES };
      const buckets = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
      await inParallel(buckets, COUNTED_TOGETHER, async (bucket) => {
        for (const status of await statusesIn(table, key, bucket)) counts[status] += 1;
      });
      return counts;
    },
  };
}

function countOf(found: readonly OverdueDelivery[], most: number, hasMore: boolean): WaitingCount {
  const [oldest] = found.toSorted((one, other) => one.overdueAt - other.overdueAt);
  return { count: Math.min(found.length, most), hasMore, ...(oldest && { oldest }) };
}

type RecordReading = { delivery: Delivery } | { key: DeliveryKey; error: UnreadableRecordError };

/** An unreadable record must not fail the whole batch. */
function toReading(item: unknown): RecordReading {
  try {
    return { delivery: toDelivery(item) };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { key: decode(deliveryKeySchema, item), error };
  }
}

/** One part for every shard of the index that serves the selection. */
function buildParts(
  { queue, subscriptionId, status, since = 0, until = Infinity }: DeliverySelection,
  direction: Direction,
): IndexPart[] {
  const range = { first: sortableTime(since), last: sortableTime(until), direction, status };
  const { byQueue, bySubscription } = deliveryIndexes;
  const partsIn = (index: IndexPart['index'], length: number, partitionOf: (shard: number) => string) =>
    Array.from({ length }, (_, shard) => ({ ...range, index, partition: partitionOf(shard) }));
  return subscriptionId === undefined
    ? partsIn(byQueue, shards.byQueue, (shard) => byQueuePartition(queue, shard))
    : partsIn(bySubscription, shards.bySubscription, (shard) =>
        bySubscriptionPartition({ queue, subscriptionId }, shard),
      );
}

const entrySchema = z.object({
  [deliveryIndexes.byQueue.sort]: z.string().regex(/^\d{13}#/),
  status: z.enum(STATUSES),
});

function toListedDelivery(entry: unknown): ListedDelivery {
  const { notDeliveredSk, status } = decode(entrySchema, entry);
  return {
    key: decode(deliveryKeySchema, entry),
    acceptedAt: timeOfPlace(notDeliveredSk),
    status,
  };
}

/**
 * A page of a message's deliveries, bucket by bucket, so that it takes few requests for any number of buckets.
 * Reads all chunks of a bucket before its separate records: a delivery that leaves its chunk in between is found by
 * its separate record, which takes precedence.
 */
async function pageOfMessage(
  table: Table,
  { key: message, firstBucket = 0, ...rest }: FanOut,
  request: PageRequest,
): Promise<Page<Delivery>> {
  const listing = nameListing('message', message);
  const last = parseLastKey(message, parseMarker(listing, request));
  const wanted = request.limit + 1;
  const found: Delivery[] = [];
  const pageOfBucket = async (bucket: number, atMost: number): Promise<Delivery[]> => {
    const from = last?.bucket === bucket ? last : undefined;
    const chunks = await queryItems(table, buildQuery(message, bucket, chunkPrefix));
    const query = buildQuery(message, bucket, deliveryPrefix);
    const records = await queryItems(table, { ...query, ExclusiveStartKey: from && toItemKey(from) }, atMost);
    return mergedInOrder(chunks.map(chunkOfItem), records.map(toDelivery), from?.subscriptionId).slice(
      0,
      atMost,
    );
  };
  const end = endOfBuckets({ firstBucket, ...rest });
  for (let bucket = last?.bucket ?? firstBucket; bucket < end && found.length < wanted; bucket += 1)
    found.push(...(await pageOfBucket(bucket, wanted - found.length)));
  return buildPage(listing, found, request.limit, placeInMessage);
}

/**
 * Deliveries of chunks and of separate records, sorted by subscription. May be cut to the number of records read:
 * records that were not read sort after those.
 */
function mergedInOrder(
  chunks: readonly Chunk[],
  records: readonly Delivery[],
  after: string | undefined,
): Delivery[] {
  const byId = new Map(
    [...chunks.flatMap(deliveriesIn), ...records].map((delivery) => [delivery.key.subscriptionId, delivery]),
  );
  return [...byId]
    .filter(([id]) => after === undefined || id > after)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, delivery]) => delivery);
}

function deliveriesIn(chunk: Chunk): Delivery[] {
  return [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []);
}

/** The position of a delivery in the listing of its message. */
export function placeInMessage({ key }: Delivery): string {
  return `${key.bucket}#${key.subscriptionId}`;
}

const PLACE = /^(?<bucket>\d{1,6})#(?<subscriptionId>[A-Za-z0-9_-]{1,64})$/;

function parseLastKey(message: MessageKey, place: string | undefined): DeliveryKey | undefined {
  if (place === undefined) return undefined;
  const { bucket, subscriptionId } = PLACE.exec(place)?.groups ?? {};
  if (bucket === undefined || subscriptionId === undefined) throw new InvalidMarkerError();
  return { ...message, bucket: Number(bucket), subscriptionId };
}

const statusSchema = z.object({
  sk: z.string(),
  status: z.enum(STATUSES),
});

/** Buckets that are counted at the same time: memory stays bounded for any fan-out. */
const COUNTED_TOGETHER = 10;

async function statusesIn(table: Table, message: MessageKey, bucket: number): Promise<Iterable<Status>> {
  const statuses = new Map<string, Status>();
  for (const item of await queryItems(table, buildQuery(message, bucket, chunkPrefix)))
    for (const { key, status } of deliveriesIn(chunkOfItem(item))) statuses.set(key.subscriptionId, status);
  const query = {
    ...buildQuery(message, bucket, deliveryPrefix),
    ProjectionExpression: `${primaryKey.sort}, #status`,
    ExpressionAttributeNames: { '#status': listedAttribute },
  };
  for await (const page of pagesOf(table, query)) {
    for (const item of page) {
      const { sk, status } = decode(statusSchema, item);
      statuses.set(sk.slice(deliveryPrefix.length), status);
    }
  }
  return statuses.values();
}

function buildQuery(message: MessageKey, bucket: number, prefix: string) {
  return { ConsistentRead: true, ...queryOfPrefix(toPartition(message, bucket), prefix) };
}
