import type { QueryCommandInput, QueryCommandOutput } from '@aws-sdk/lib-dynamodb';
import type { DocumentClient } from './aws/document-client.ts';
import * as z from 'zod';
import { deliveryIndexes } from '../config/tables.ts';
import type { OverdueDelivery } from '../ports/deliveries.ts';
import { deliveryItemKeySchema } from './delivery-item.ts';
import { overduePartition, shards } from './delivery-keys.ts';
import { decoded } from './record.ts';

type LastKey = QueryCommandOutput['LastEvaluatedKey'];
type Cursor = { shard: number; from?: LastKey };

/**
 * The oldest of every shard. Shards share the limit evenly; what some do not use goes to the others in a further turn. The
 * surplus of rounding up is cut off the youngest, whatever shard they are in.
 */
export const overdueDeliveries = async (
  client: DocumentClient,
  tableName: string,
  before: number,
  limit: number,
): Promise<OverdueDelivery[]> => {
  const found: OverdueDelivery[] = [];
  let cursors: Cursor[] = Array.from({ length: shards.overdue }, (_, shard) => ({ shard }));
  while (cursors.length > 0 && found.length < limit) {
    const share = Math.ceil((limit - found.length) / cursors.length);
    const pages = await Promise.all(
      cursors.map(async (cursor) => {
        const page = await client.query(overdueQuery(tableName, before, cursor, share));
        return { shard: cursor.shard, from: page.LastEvaluatedKey, items: page.Items };
      }),
    );
    found.push(...pages.flatMap(({ items }) => items).map(overdueOf));
    cursors = pages.filter(({ from }) => from !== undefined);
  }
  return found.sort((one, other) => one.overdueAt - other.overdueAt).slice(0, limit);
};

const overdueQuery = (
  tableName: string,
  before: number,
  { shard, from }: Cursor,
  limit: number,
): QueryCommandInput => ({
  TableName: tableName,
  IndexName: deliveryIndexes.overdue.name,
  KeyConditionExpression: `${deliveryIndexes.overdue.partition} = :shard AND ${deliveryIndexes.overdue.sort} <= :before`,
  ExpressionAttributeValues: { ':shard': overduePartition(shard), ':before': before },
  Limit: limit,
  ExclusiveStartKey: from,
});

/** The index carries keys only. */
const overdueSchema = z.object({ overdueAt: z.number() });

const overdueOf = (item: unknown): OverdueDelivery => ({
  key: decoded(deliveryItemKeySchema, item),
  overdueAt: decoded(overdueSchema, item).overdueAt,
});
