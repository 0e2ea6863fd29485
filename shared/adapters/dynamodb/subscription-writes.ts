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
import { ifConditionHolds, transactWrite } from './writes.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

/**
 * What a write to the subscriptions table needs; the clock paces retries after a conflict with another
 * transaction.
 */
export type RegistryTable = {
  client: DynamoDBDocument;
  tableName: string;
  clock: Clock & Pacing;
};

const FIRST_PAUSE_MS = 5;

/** Number of tries, and the jittered pause between them, for changes that lose against concurrent ones. */
export function retryOptions({ clock }: RegistryTable) {
  return { tries: 8, pause: (tried: number) => clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried) };
}

/** The queue exists, or never existed. */
export const NOT_DELETED = 'attribute_not_exists(deletedAt)';

/** The queue exists. */
export const QUEUE_EXISTS = `attribute_exists(${primaryKey.partition}) AND ${NOT_DELETED}`;
const ABSENT = `attribute_not_exists(${primaryKey.partition})`;

/**
 * Adds subscriptions. A claim whose subscription is gone is released once; if another subscription takes it
 * first, that is a conflict. A transaction writes all or nothing, so subscriptions with conflicts are left out of
 * the next one.
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

/** A subscription whose subscriber is claimed by another one. */
type RefusedClaim = { subscription: Subscription; holder: string };

/**
 * One transaction: the subscriptions, a claim for each on its subscriber (unless another claim is in force), and
 * a counter on the queue, which shows new subscriptions to a deletion by an earlier version. If one is refused, none
 * is written.
 */
async function add(
  { client, tableName, clock }: RegistryTable,
  subscriptions: readonly Subscription[],
): Promise<readonly RefusedClaim[]> {
  const queue = subscriptions[0]?.queue ?? '';
  const result = await transactWrite(client, clock, [
    {
      Update: {
        TableName: tableName,
        Key: queueItemKey(queue),
        UpdateExpression: 'ADD subscriptionsAdded :count',
        ConditionExpression: QUEUE_EXISTS,
        ExpressionAttributeValues: { ':count': subscriptions.length },
      },
    },
    ...subscriptions.map((subscription) => ({
      Put: {
        TableName: tableName,
        Item: subscriberItemOf(subscription),
        // TTL may leave an expired claim in the table for days; the next subscription takes it over.
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
  const [queueWrite, ...writes] = result.writes;
  if (queueWrite?.failed === true) throw new QueueMissingError(queue);
  const refused = subscriptions.flatMap((subscription, index) => {
    const claim = writes[index];
    return claim?.failed === true ? [{ subscription, holder: holderOf(claim.item) }] : [];
  });
  if (refused.length === 0) throw result.error;
  return refused;
}

/** Removes a marked subscription. Its claim was released when it was marked. */
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
 * Releases the claim of a subscription that no longer exists. One transaction checks that the holder is still
 * absent and still has the claim. False: the claim stays.
 */
export async function releaseSubscriber(
  { client, tableName, clock }: RegistryTable,
  wanted: Pick<Subscription, 'queue' | 'subscriber'>,
  holder: string,
): Promise<boolean> {
  const holderKey = subscriptionItemKey(wanted.queue, holder);
  const { Item } = await client.get({ TableName: tableName, Key: holderKey, ConsistentRead: true });
  if (Item !== undefined) return false;
  const result = await transactWrite(client, clock, [
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
