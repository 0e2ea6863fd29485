import { primaryKey } from '../../config/tables.ts';
import type { Subscription } from '../../domain/subscription/subscription.ts';
import { QueueMissingError, type Registry } from '../../ports/subscriptions.ts';
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
  clock: Pacing;
};

const FIRST_PAUSE_MS = 5;

/** How often, and how long after another, a change is tried that others come before. */
export function pausesOf({ clock }: RegistryTable) {
  return { tries: 8, pause: (tried: number) => clock.sleep(Math.random() * FIRST_PAUSE_MS * 2 ** tried) };
}

/** Of a queue that there is, or of one that there never was. */
export const NOT_DELETED = 'attribute_not_exists(deletedAt)';

const THERE = `attribute_exists(${primaryKey.partition}) AND ${NOT_DELETED}`;
const ABSENT = `attribute_not_exists(${primaryKey.partition})`;

type Added = Awaited<ReturnType<Registry['addSubscription']>>;

/** A claim whose holder is gone is nobody's. Should another come first once it is free, that is a conflict. */
export async function addSubscription(table: RegistryTable, subscription: Subscription): Promise<Added> {
  const added = await add(table, subscription);
  if (added.kind === 'added') return added;
  return (await freedFrom(table, subscription, added.subscriptionId)) ? add(table, subscription) : added;
}

/**
 * One transaction: the subscription, its claim on the subscriber (unless another's is in force), and a count on the
 * queue, which tells a deletion by an earlier version that there is more to delete.
 */
async function add({ client, tableName, clock }: RegistryTable, subscription: Subscription): Promise<Added> {
  const result = await transacted(client, clock, [
    {
      Update: {
        TableName: tableName,
        Key: queueItemKey(subscription.queue),
        UpdateExpression: 'ADD subscriptionsAdded :one',
        ConditionExpression: THERE,
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
export async function freedFrom(
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
