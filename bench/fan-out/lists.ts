import { randomBytes, randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { queueItemOf, subscriptionItemOf } from '../../shared/adapters/dynamodb/subscription-item.ts';

export type Item = Record<string, AttributeValue>;

/** Bytes of items that DynamoDB answers a Query with ("Query", DynamoDB API reference). */
const PAGE_BYTES = 1_000_000;

export type Query = {
  KeyConditionExpression?: string;
  ExclusiveStartKey?: Item;
  ProjectionExpression?: string;
  ExpressionAttributeNames: Record<string, string>;
};

/** A queue and its subscriptions, as the table has them. */
export type List = { all: readonly Item[]; sizes: readonly number[]; keys: readonly string[] };

export function listOf(queue: string, count: number): List {
  const all = itemsOf(queue, count);
  return { all, sizes: all.map(sizeOf), keys: all.map(({ sk }) => sk?.S ?? '') };
}

/** As subscribing writes them, with a secret that KMS has sealed. */
function itemsOf(queue: string, count: number): Item[] {
  const subscriptions = Array.from({ length: count }, (_, index) =>
    subscriptionItemOf({
      id: randomUUID(),
      queue,
      subscriber: `https://hooks.customer-${index}.example.com/v1/orders`,
      options: {},
      createdAt: 1,
      secrets: [
        { sealed: `1.${randomBytes(184).toString('base64url')}.${randomBytes(78).toString('base64url')}` },
      ],
    }),
  );
  return [queueItemOf({ name: queue, metadata: {}, createdAt: 0 }), ...subscriptions]
    .map((item) => marshall(item, { removeUndefinedValues: true }))
    .sort(({ sk: one }, { sk: other }) => ((one?.S ?? '') < (other?.S ?? '') ? -1 : 1));
}

/** Nearly as DynamoDB counts: names and values. */
function sizeOf(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + name.length + JSON.stringify(value).length - 8,
    0,
  );
}

/** What a Query for the queue, or for its subscriptions behind one of them, answers. */
export function answerOf(list: List, asked: Query): object {
  const isOfQueue = asked.KeyConditionExpression?.includes('sk = ') === true;
  return pageOf(list, isOfQueue ? [0, 1] : boundsOf(list, asked), asked);
}

function boundsOf({ keys, sizes }: List, { ExclusiveStartKey }: Query): [number, number] {
  const from = firstAfter(keys, ExclusiveStartKey?.['sk']?.S);
  return [from, endOfPage(sizes, from)];
}

function pageOf({ all }: List, [from, to]: readonly [number, number], asked: Query): object {
  const Items = all.slice(from, to).map((item) => projected(item, asked));
  const last = all[to - 1];
  return to < all.length && last
    ? { Items, LastEvaluatedKey: { pk: last['pk'], sk: last['sk'] } }
    : { Items };
}

function firstAfter(keys: readonly string[], after: string | undefined): number {
  if (after === undefined) return 0;
  const index = keys.findIndex((key) => key > after);
  return index === -1 ? keys.length : index;
}

function endOfPage(sizes: readonly number[], from: number): number {
  let bytes = 0;
  const beyond = sizes.findIndex((size, index) => {
    if (index >= from) bytes += size;
    return bytes > PAGE_BYTES;
  });
  return beyond === -1 ? sizes.length : beyond;
}

function projected(item: Item, { ProjectionExpression, ExpressionAttributeNames }: Query): Item {
  if (ProjectionExpression === undefined) return item;
  const wanted = ProjectionExpression.split(', ').map((name) => ExpressionAttributeNames[name] ?? name);
  return Object.fromEntries(wanted.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
}
