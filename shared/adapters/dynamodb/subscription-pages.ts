import type { DynamoDBDocument, QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { primaryKey } from '../../config/tables.ts';
import type { ListedSubscription } from '../../domain/subscription/subscription.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SubscriptionPage } from '../../ports/subscriptions.ts';
import { expression } from './expressions.ts';
import { decoded, decodedRecord } from './record.ts';
import {
  isDeletedQueue,
  isQueueItem,
  json,
  optionsSchema,
  queueItemKey,
  queuePartition,
  queueSchema,
  subscriberPrefix,
  subscriptionItemKey,
  subscriptionPrefix,
  subscriptionSchema,
} from './subscription-item.ts';

/** What decides whether a message goes to a subscription: the rest of an item, such as its secrets, is more than half of it. */
const listedSchema = subscriptionSchema
  .pick({
    id: true,
    createdAt: true,
    confirmedAt: true,
    unconfirmed: true,
    deletedAt: true,
    expiresAt: true,
    failing: true,
    formerly: true,
  })
  .extend({
    options: json.pipe(
      z.object({ event_types: optionsSchema.shape.event_types, filter: optionsSchema.shape.filter }),
    ),
  } satisfies Record<'options', z.ZodType<ListedSubscription['options']>>);

const listedAttributes: readonly string[] = [
  ...Object.values(primaryKey),
  'v',
  ...Object.keys(listedSchema.shape),
];

function listedSubscriptionOf(item: unknown): ListedSubscription {
  return decodedRecord(listedSchema, item);
}

const queueLifeSchema = queueSchema.pick({ createdAt: true });

function queueLifeOf(item: unknown): number {
  return decodedRecord(queueLifeSchema, item).createdAt;
}

const subscriptionKeySchema = z.object({ sk: z.templateLiteral([subscriptionPrefix, z.string()]) });

function subscriptionIdIn(key: unknown): string {
  return decoded(subscriptionKeySchema, key).sk.slice(subscriptionPrefix.length);
}

const listing = listingOf();

function listingOf() {
  const of = expression();
  const ProjectionExpression = listedAttributes.map((attribute) => of.name(attribute)).join(', ');
  return { ProjectionExpression, ExpressionAttributeNames: of.attributes().ExpressionAttributeNames };
}

type PageOfQueue = { tableName: string; queue: string; after: string };

/**
 * One Query: DynamoDB answers with up to 1 MB of items, counted before their attributes are chosen.
 * @throws UnreadableRecordError
 */
export async function readPage(
  client: DynamoDBDocument,
  { tableName, queue, after }: PageOfQueue,
  clock: Pick<Clock, 'now'>,
): Promise<SubscriptionPage | undefined> {
  const readAt = clock.now();
  const query = { TableName: tableName, ConsistentRead: true, ...listing };
  const { Items = [], LastEvaluatedKey: more } = await client.query({
    ...query,
    // The queue and its subscriptions lie side by side, ahead of the items that make subscribers unique.
    KeyConditionExpression: `${primaryKey.partition} = :queue AND ${primaryKey.sort} < :subscribers`,
    ExpressionAttributeValues: { ':queue': queuePartition(queue), ':subscribers': subscriberPrefix },
    ExclusiveStartKey: after === '' ? undefined : subscriptionItemKey(queue, after),
  });
  const [first, ...rest] = after === '' ? Items : [await readQueueOf(client, query, queue), ...Items];
  if (!isQueueItem(first) || isDeletedQueue(first)) return undefined;
  const page = { life: queueLifeOf(first), subscriptions: rest.map(listedSubscriptionOf), readAt };
  return more === undefined ? page : { ...page, until: subscriptionIdIn(more) };
}

/**
 * Read after the subscriptions: if it is the queue that a message was accepted by, they were that queue's. By Query, because
 * dispatch may read the table in no other way.
 */
async function readQueueOf(
  client: DynamoDBDocument,
  query: QueryCommandInput,
  queue: string,
): Promise<unknown> {
  const { pk, sk } = queueItemKey(queue);
  const { Items = [] } = await client.query({
    ...query,
    KeyConditionExpression: `${primaryKey.partition} = :queue AND ${primaryKey.sort} = :item`,
    ExpressionAttributeValues: { ':queue': pk, ':item': sk },
  });
  return Items[0];
}
