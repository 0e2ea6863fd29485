import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { listedAttribute, primaryKey } from '../../config/tables.ts';
import { NO_DELIVERIES, type StatusCounts } from '../../domain/message/books.ts';
import type { Chunk } from '../../domain/delivery/chunk.ts';
import { deliveryIn } from '../../domain/delivery/chunk-members.ts';
import { type Status, STATUSES } from '../../domain/vocabulary.ts';
import type { Delivery, DeliveryKey } from '../../domain/delivery/delivery.ts';
import { endOfBuckets, type FanOut } from '../../domain/delivery/fan-out.ts';
import type { MessageKey } from '../../domain/message/message.ts';
import { InvalidMarkerError, type Page, type PageRequest } from '../../ports/page.ts';
import { chunkOfItem } from './chunk-item.ts';
import { deliveryOf } from './delivery-item.ts';
import { chunkPrefix, deliveryPrefix, itemKeyOf, partitionOf } from './delivery-keys.ts';
import { pagesOf, queryItems } from './queries.ts';
import { lastOf, listingOf, pageOf } from './pages.ts';
import { decode } from './record.ts';

/**
 * A page of a message's deliveries, bucket by bucket, so that it takes few requests for any number of buckets.
 * Reads all chunks of a bucket before its separate records: a delivery that leaves its chunk in between is found by
 * its separate record, which takes precedence.
 */
export async function pageOfMessage(
  client: DynamoDBDocument,
  tableName: string,
  { key: message, firstBucket = 0, ...rest }: FanOut,
  request: PageRequest,
): Promise<Page<Delivery>> {
  const listing = listingOf('message', message);
  const last = lastKeyOf(message, lastOf(listing, request));
  const wanted = request.limit + 1;
  const found: Delivery[] = [];
  const pageOfBucket = async (bucket: number, atMost: number): Promise<Delivery[]> => {
    const from = last?.bucket === bucket ? last : undefined;
    const chunks = await queryItems(client, queryOf(tableName, message, bucket, chunkPrefix));
    const query = queryOf(tableName, message, bucket, deliveryPrefix);
    const records = await queryItems(
      client,
      { ...query, ExclusiveStartKey: from && itemKeyOf(from) },
      atMost,
    );
    return mergedInOrder(chunks.map(chunkOfItem), records.map(deliveryOf), from?.subscriptionId).slice(
      0,
      atMost,
    );
  };
  const end = endOfBuckets({ firstBucket, ...rest });
  for (let bucket = last?.bucket ?? firstBucket; bucket < end && found.length < wanted; bucket += 1)
    found.push(...(await pageOfBucket(bucket, wanted - found.length)));
  return pageOf(listing, found, request.limit, placeInMessage);
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

function lastKeyOf(message: MessageKey, place: string | undefined): DeliveryKey | undefined {
  if (place === undefined) return undefined;
  const { bucket, subscriptionId } = PLACE.exec(place)?.groups ?? {};
  if (bucket === undefined || subscriptionId === undefined) throw new InvalidMarkerError();
  return { ...message, bucket: Number(bucket), subscriptionId };
}

const statusSchema = z.object({
  sk: z.string(),
  status: z.enum(STATUSES),
});

/**
 * Counts deliveries by status, one bucket at a time and reading statuses only, so that memory stays bounded for
 * any fan-out.
 */
export async function tallyOfMessage(
  client: DynamoDBDocument,
  tableName: string,
  { key: message, firstBucket = 0, ...rest }: FanOut,
): Promise<StatusCounts> {
  const counts = { ...NO_DELIVERIES };
  const end = endOfBuckets({ firstBucket, ...rest });
  for (let bucket = firstBucket; bucket < end; bucket += 1) {
    const statuses = new Map<string, Status>();
    for (const item of await queryItems(client, queryOf(tableName, message, bucket, chunkPrefix)))
      for (const { key, status } of deliveriesIn(chunkOfItem(item))) statuses.set(key.subscriptionId, status);
    const query = {
      ...queryOf(tableName, message, bucket, deliveryPrefix),
      ProjectionExpression: `${primaryKey.sort}, #status`,
      ExpressionAttributeNames: { '#status': listedAttribute },
    };
    for await (const page of pagesOf(client, query)) {
      for (const item of page) {
        const { sk, status } = decode(statusSchema, item);
        statuses.set(sk.slice(deliveryPrefix.length), status);
      }
    }
    for (const status of statuses.values()) counts[status] += 1;
  }
  return counts;
}

function queryOf(tableName: string, message: MessageKey, bucket: number, prefix: string) {
  return {
    TableName: tableName,
    ConsistentRead: true,
    KeyConditionExpression: `${primaryKey.partition} = :partition AND begins_with(${primaryKey.sort}, :prefix)`,
    ExpressionAttributeValues: { ':partition': partitionOf(message, bucket), ':prefix': prefix },
  };
}
