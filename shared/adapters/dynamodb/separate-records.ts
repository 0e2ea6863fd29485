import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { primaryKey } from '../../config/tables.ts';
import type { ChunkTransition } from '../../domain/delivery/chunk.ts';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import type { Chunks } from '../../ports/deliveries.ts';
import type { Pacing } from '../lambda/invocation-deadline.ts';
import { chunkUpdateOf } from './chunk-item.ts';
import { deliveryItemOf } from './delivery-item.ts';
import { matchCounted } from './message-records.ts';
import { transactWrite } from './writes.ts';

/** Creates separate records of deliveries, each in one transaction with the records that speak for it. */
export function dynamoSeparateRecords(
  client: DynamoDBDocument,
  tableName: string,
  pacing: Pacing,
): Pick<Chunks, 'takeOut' | 'add'> {
  const chunkUpdate = (transition: ChunkTransition) => ({
    Update: { TableName: tableName, ...chunkUpdateOf(transition) },
  });
  const creation = (delivery: Delivery) => ({
    Put: {
      TableName: tableName,
      Item: deliveryItemOf(delivery),
      ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
    },
  });
  return {
    takeOut: async (transition, delivery) => {
      const result = await transactWrite(client, pacing, [chunkUpdate(transition), creation(delivery)]);
      return result.kind === 'written' ? 'taken_out' : 'refused';
    },
    add: async (delivery, exclusion) => {
      const result = await transactWrite(client, pacing, [
        creation(delivery),
        { Update: matchCounted(tableName, delivery) },
        ...(exclusion === undefined ? [] : [chunkUpdate(exclusion)]),
      ]);
      return result.kind === 'written' ? 'added' : 'refused';
    },
  };
}
