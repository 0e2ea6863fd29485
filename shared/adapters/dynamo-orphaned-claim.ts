import { primaryKey } from '../config/tables.ts';
import type { Subscription } from '../domain/subscription.ts';
import { transacted } from './dynamo-transaction.ts';
import type { RegistryTable } from './registry-table.ts';
import { subscriberItemKey, subscriptionItemKey } from './subscription-item.ts';

/**
 * Frees a subscriber from the claim of a subscription that is not there any more, however that came about. One transaction
 * makes sure of both: that the holder is still absent, and that the claim is still its own. False: the claim stays.
 */
export const freedFrom = async (
  { client, tableName, clock }: RegistryTable,
  wanted: Pick<Subscription, 'queue' | 'subscriber'>,
  holder: string,
): Promise<boolean> => {
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
};
