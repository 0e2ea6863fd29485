import { randomBytes, randomUUID } from 'node:crypto';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import {
  toQueueItem,
  toSubscriptionItem,
} from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';

export type Item = Record<string, AttributeValue>;

/** Bytes of items in one answer ("Query", DynamoDB API reference). */
const PAGE_BYTES = 1_000_000;

export type Query = {
  KeyConditionExpression?: string;
  ExclusiveStartKey?: Item;
  ProjectionExpression?: string;
  ExpressionAttributeNames: Record<string, string>;
};

/** `postDataBytes`: of each subscription. @default 0 */
export type ListSize = { subscriptions: number; postDataBytes?: number };

/** The items of a queue and its subscriptions in the order of the table, and the answers that were made of them. */
export type List = {
  all: readonly Item[];
  sizes: readonly number[];
  keys: readonly string[];
  answers: Map<string, string>;
};

export function listOf(queue: string, { subscriptions, postDataBytes = 0 }: ListSize): List {
  const options = postDataBytes === 0 ? {} : { post_data: 'x'.repeat(postDataBytes) };
  const all = [
    toQueueItem({ name: queue, metadata: {}, createdAt: 0 }),
    ...Array.from({ length: subscriptions }, (_, index) =>
      toSubscriptionItem({
        id: randomUUID(),
        queue,
        destination: { kind: 'webhook', url: `https://hooks.customer-${index}.example.com/v1/orders` },
        options,
        createdAt: 1,
        secrets: [
          // Sealed by KMS.
          { sealed: `1.${randomBytes(184).toString('base64url')}.${randomBytes(78).toString('base64url')}` },
        ],
      }),
    ),
  ]
    .map((item) => marshall(item, { removeUndefinedValues: true }))
    .sort(({ sk: one }, { sk: other }) => ((one?.S ?? '') < (other?.S ?? '') ? -1 : 1));
  return { all, sizes: all.map(sizeOf), keys: all.map(({ sk }) => sk?.S ?? ''), answers: new Map() };
}

/** Roughly as DynamoDB counts: names and values. */
function sizeOf(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + name.length + JSON.stringify(value).length - 8,
    0,
  );
}

/** The answer to a Query for the queue, or for a page of its subscriptions, as JSON. */
export function answerOf(list: List, asked: Query): string {
  const isOfQueue = asked.KeyConditionExpression?.includes('sk = ') === true;
  const name = isOfQueue ? 'queue' : (asked.ExclusiveStartKey?.['sk']?.S ?? '');
  const known = list.answers.get(name);
  if (known !== undefined) return known;
  const answer = JSON.stringify(pageOf(list, isOfQueue ? [0, 1] : boundsOf(list, asked), asked));
  list.answers.set(name, answer);
  return answer;
}

function boundsOf({ keys, sizes }: List, { ExclusiveStartKey }: Query): [number, number] {
  const after = ExclusiveStartKey?.['sk']?.S ?? '';
  const first = keys.findIndex((key) => key > after);
  const from = first === -1 ? keys.length : first;
  let bytes = 0;
  const beyond = sizes.findIndex((size, index) => {
    if (index >= from) bytes += size;
    return bytes > PAGE_BYTES;
  });
  return [from, beyond === -1 ? sizes.length : beyond];
}

function pageOf({ all }: List, [from, to]: readonly [number, number], asked: Query): object {
  const Items = all.slice(from, to).map((item) => projected(item, asked));
  const last = all[to - 1];
  return to < all.length && last
    ? { Items, LastEvaluatedKey: { pk: last['pk'], sk: last['sk'] } }
    : { Items };
}

function projected(item: Item, { ProjectionExpression, ExpressionAttributeNames }: Query): Item {
  if (ProjectionExpression === undefined) return item;
  const wanted = ProjectionExpression.split(', ').map((name) => ExpressionAttributeNames[name] ?? name);
  return Object.fromEntries(wanted.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
}
