import type { DocumentClient } from './aws/document-client.ts';
import { primaryKey } from '../config/tables.ts';
import type { Chunks } from '../ports/chunks.ts';
import { chunkUpdateOf } from './chunk-update.ts';
import { deliveryItemOf } from './delivery-item.ts';
import { transacted } from './dynamo-transaction.ts';
import type { Pacing } from './invocation-deadline.ts';

/** A delivery's way from its chunk to a record of its own: one transaction. */
export const dynamoTakeOut = (
  client: DocumentClient,
  tableName: string,
  pacing: Pacing,
): Pick<Chunks, 'takeOut'> => ({
  takeOut: async (transition, delivery) => {
    const result = await transacted(client, pacing, [
      { Update: { TableName: tableName, ...chunkUpdateOf(transition) } },
      {
        Put: {
          TableName: tableName,
          Item: deliveryItemOf(delivery),
          ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
        },
      },
    ]);
    return result.kind === 'written' ? 'taken_out' : 'refused';
  },
});
