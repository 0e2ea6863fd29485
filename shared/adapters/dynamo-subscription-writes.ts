import { primaryKey } from '../config/tables.ts';
import type { Subscription } from '../domain/subscription.ts';
import { QueueMissingError } from '../ports/subscription-registry.ts';
import type { SubscriptionRegistry } from '../ports/subscription-registry.ts';
import { ifConditionHolds } from './dynamo-condition.ts';
import { freedFrom } from './dynamo-orphaned-claim.ts';
import { transacted } from './dynamo-transaction.ts';
import type { RegistryTable } from './registry-table.ts';
import {
  holderOf,
  queueItemKey,
  subscriberItemOf,
  subscriptionItemKey,
  subscriptionItemOf,
} from './subscription-item.ts';

const EXISTS = `attribute_exists(${primaryKey.partition})`;
const ABSENT = `attribute_not_exists(${primaryKey.partition})`;

type Added = Awaited<ReturnType<SubscriptionRegistry['addSubscription']>>;

/** A claim whose holder is gone is nobody's. Should another come first once it is free, that is a conflict. */
export const addSubscription = async (table: RegistryTable, subscription: Subscription): Promise<Added> => {
  const added = await add(table, subscription);
  if (added.kind === 'added') return added;
  return (await freedFrom(table, subscription, added.subscriptionId)) ? add(table, subscription) : added;
};

/**
 * One transaction: the subscription, its claim on the subscriber (unless another's is in force), and a count on the
 * queue, which tells a deletion under way that there is more to delete.
 */
const add = async (
  { client, tableName, clock }: RegistryTable,
  subscription: Subscription,
): Promise<Added> => {
  const result = await transacted(client, clock, [
    {
      Update: {
        TableName: tableName,
        Key: queueItemKey(subscription.queue),
        UpdateExpression: 'ADD subscriptionsAdded :one',
        ConditionExpression: EXISTS,
        ExpressionAttributeValues: { ':one': 1 },
      },
    },
    {
      Put: {
        TableName: tableName,
        Item: subscriberItemOf(subscription),
        // TTL may leave an expired claim for days. Whoever comes after it takes it over.
        ConditionExpression: `${ABSENT} OR expiresAt <= :now`,
        ExpressionAttributeValues: { ':now': subscription.createdAt },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    },
    { Put: { TableName: tableName, Item: subscriptionItemOf(subscription), ConditionExpression: ABSENT } },
  ]);
  if (result.kind === 'written') return { kind: 'added' };
  const [queue, claim] = result.writes;
  if (queue?.failed === true) throw new QueueMissingError(subscription.queue);
  if (claim?.failed === true) return { kind: 'conflict', subscriptionId: holderOf(claim.item) };
  throw result.error;
};

/** Its claim on the subscriber went when it was marked. */
export const removeMarked = async (
  { client, tableName }: RegistryTable,
  queue: string,
  subscriptionId: string,
): Promise<void> => {
  const deletion = client.delete({
    TableName: tableName,
    Key: subscriptionItemKey(queue, subscriptionId),
    ConditionExpression: 'attribute_exists(deletedAt)',
  });
  await ifConditionHolds(deletion);
};
