import { primaryKey } from '../../config/tables.ts';
import type { Subscription } from '../../domain/subscription/subscription.ts';
import { type AddResult, QueueMissingError } from '../../ports/subscriptions.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Pacing } from '../lambda/invocation-deadline.ts';
import {
  holderOf,
  queueItemKey,
  subscriberItemKey,
  subscriberItemOf,
  subscriptionItemKey,
  subscriptionItemOf,
} from './subscription-item.ts';
import { ifConditionHolds, transacted } from './writes.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

/** What a write to the subscriptions table needs; the clock paces tries that met another transaction. */
export type RegistryTable = {
  client: DynamoDBDocument;
  tableName: string;
  clock: Clock & Pacing;
};

const FIRST_PAUSE_MS = 5;

/** How often, and how long after another, a change is tried that others come before. */
export function pausesOf({ clock }: RegistryTable) {
  return { tries: 8, pause: (tried: number) => clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried) };
}

/** Of a queue that there is, or of one that there never was. */
export const NOT_DELETED = 'attribute_not_exists(deletedAt)';

/** Of a queue that there is. */
export const THERE = `attribute_exists(${primaryKey.partition}) AND ${NOT_DELETED}`;
const ABSENT = `attribute_not_exists(${primaryKey.partition})`;

/**
 * A claim whose holder is gone is nobody's, and is freed once: should another come first then, that is a conflict. A transaction
 * writes all or nothing, so those that a conflict refuses are left out of the next one.
 */
export async function addSubscriptions(
  table: RegistryTable,
  subscriptions: readonly Subscription[],
): Promise<readonly AddResult[]> {
  const conflicts = new Map<string, AddResult>();
  const freed = new Set<string>();
  for (let left = subscriptions; left.length > 0; left = left.filter(({ id }) => !conflicts.has(id))) {
    const refused = await add(table, left);
    if (refused.length === 0) break;
    for (const { subscription, holder } of refused) {
      const { id } = subscription;
      if (!freed.has(id) && (await releaseSubscriber(table, subscription, holder))) freed.add(id);
      else conflicts.set(id, { kind: 'conflict', subscriptionId: holder });
    }
  }
  return subscriptions.map(({ id }) => conflicts.get(id) ?? { kind: 'added' });
}

/** A subscription whose subscriber another one has. */
type RefusedClaim = { subscription: Subscription; holder: string };

/**
 * One transaction: the subscriptions, each with its claim on its subscriber (unless another's is in force), and a count on their
 * queue, which tells a deletion by an earlier version that there is more to delete. None is written where one is refused.
 */
async function add(
  { client, tableName, clock }: RegistryTable,
  subscriptions: readonly Subscription[],
): Promise<readonly RefusedClaim[]> {
  const queue = subscriptions[0]?.queue ?? '';
  const result = await transacted(client, clock, [
    {
      Update: {
        TableName: tableName,
        Key: queueItemKey(queue),
        UpdateExpression: 'ADD subscriptionsAdded :count',
        ConditionExpression: THERE,
        ExpressionAttributeValues: { ':count': subscriptions.length },
      },
    },
    ...subscriptions.map((subscription) => ({
      Put: {
        TableName: tableName,
        Item: subscriberItemOf(subscription),
        // TTL may leave an expired claim for days. Whoever comes after it takes it over.
        ConditionExpression: `${ABSENT} OR expiresAt <= :now`,
        ExpressionAttributeValues: { ':now': subscription.createdAt },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
      },
    })),
    ...subscriptions.map((subscription) => ({
      Put: { TableName: tableName, Item: subscriptionItemOf(subscription), ConditionExpression: ABSENT },
    })),
  ]);
  if (result.kind === 'written') return [];
  const [there, ...writes] = result.writes;
  if (there?.failed === true) throw new QueueMissingError(queue);
  const refused = subscriptions.flatMap((subscription, index) => {
    const claim = writes[index];
    return claim?.failed === true ? [{ subscription, holder: holderOf(claim.item) }] : [];
  });
  if (refused.length === 0) throw result.error;
  return refused;
}

/** Its claim on the subscriber went when it was marked. */
export async function removeMarked(
  { client, tableName }: RegistryTable,
  queue: string,
  subscriptionId: string,
): Promise<void> {
  const deletion = client.delete({
    TableName: tableName,
    Key: subscriptionItemKey(queue, subscriptionId),
    ConditionExpression: 'attribute_exists(deletedAt)',
  });
  await ifConditionHolds(deletion);
}

/**
 * Frees a subscriber from the claim of a subscription that is not there any more, however that came about. One transaction
 * makes sure of both: that the holder is still absent, and that the claim is still its own. False: the claim stays.
 */
export async function releaseSubscriber(
  { client, tableName, clock }: RegistryTable,
  wanted: Pick<Subscription, 'queue' | 'subscriber'>,
  holder: string,
): Promise<boolean> {
  const holderKey = subscriptionItemKey(wanted.queue, holder);
  const { Item } = await client.get({ TableName: tableName, Key: holderKey, ConsistentRead: true });
  if (Item !== undefined) return false;
  const result = await transacted(client, clock, [
    {
      ConditionCheck: {
        TableName: tableName,
        Key: holderKey,
        ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
      },
    },
    {
      Delete: {
        TableName: tableName,
        Key: subscriberItemKey(wanted),
        ConditionExpression: 'attribute_not_exists(subscriptionId) OR subscriptionId = :holder',
        ExpressionAttributeValues: { ':holder': holder },
      },
    },
  ]);
  return result.kind === 'written';
}
