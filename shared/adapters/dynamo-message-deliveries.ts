import { paginateQuery } from '@aws-sdk/lib-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { listedAttribute, primaryKey } from '../config/tables.ts';
import { NO_DELIVERIES, type StatusCounts } from '../domain/books.ts';
import type { Delivery, DeliveryKey } from '../domain/delivery.ts';
import type { MessageKey } from '../domain/message.ts';
import { InvalidMarkerError } from '../ports/page.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import { deliveryOf } from './delivery-item.ts';
import { deliveryPrefix, itemKeyOf, partitionOf } from './delivery-keys.ts';
import { queriedItems } from './dynamo-query.ts';
import { listingOf } from './listing-marker.ts';
import { lastOf, pageOf } from './page-marker.ts';
import { decoded } from './record.ts';

/** The buckets of a message one after the other, so that a page takes two or three requests however many there are. */
export const pageOfMessage = async (
  client: DynamoDBDocumentClient,
  tableName: string,
  { message, buckets }: { message: MessageKey; buckets: number },
  request: PageRequest,
): Promise<Page<Delivery>> => {
  const listing = listingOf('message', message);
  const last = lastKeyOf(message, lastOf(listing, request));
  const wanted = request.limit + 1;
  const found: Delivery[] = [];
  for (let bucket = last?.bucket ?? 0; bucket < buckets && found.length < wanted; bucket += 1) {
    const items = await queriedItems(
      client,
      {
        ...queryOf(tableName, message, bucket),
        ExclusiveStartKey: last?.bucket === bucket ? itemKeyOf(last) : undefined,
      },
      wanted - found.length,
    );
    found.push(...items.map(deliveryOf));
  }
  return pageOf(listing, found, request.limit, placeInMessage);
};

/** Where a delivery comes among those of its message. */
export const placeInMessage = ({ key }: Delivery): string => `${key.bucket}#${key.subscriptionId}`;

const PLACE = /^(?<bucket>\d{1,6})#(?<subscriptionId>[A-Za-z0-9_-]{1,64})$/;

const lastKeyOf = (message: MessageKey, place: string | undefined): DeliveryKey | undefined => {
  if (place === undefined) return undefined;
  const { bucket, subscriptionId } = PLACE.exec(place)?.groups ?? {};
  if (bucket === undefined || subscriptionId === undefined) throw new InvalidMarkerError();
  return { ...message, bucket: Number(bucket), subscriptionId };
};

const statusSchema = z.object({
  status: z.enum(['pending', 'retrying', 'delivered', 'rejected', 'exhausted', 'cancelled']),
});

/** Page by page and nothing but the status, so that a fan-out of any size takes no memory. */
export const tallyOfMessage = async (
  client: DynamoDBDocumentClient,
  tableName: string,
  message: MessageKey,
  buckets: number,
): Promise<StatusCounts> => {
  const counts = { ...NO_DELIVERIES };
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const query = {
      ...queryOf(tableName, message, bucket),
      ProjectionExpression: '#status',
      ExpressionAttributeNames: { '#status': listedAttribute },
    };
    for await (const { Items = [] } of paginateQuery({ client }, query)) {
      for (const item of Items) counts[decoded(statusSchema, item).status] += 1;
    }
  }
  return counts;
};

const queryOf = (tableName: string, message: MessageKey, bucket: number) => ({
  TableName: tableName,
  ConsistentRead: true,
  KeyConditionExpression: `${primaryKey.partition} = :partition AND begins_with(${primaryKey.sort}, :prefix)`,
  ExpressionAttributeValues: { ':partition': partitionOf(message, bucket), ':prefix': deliveryPrefix },
});
