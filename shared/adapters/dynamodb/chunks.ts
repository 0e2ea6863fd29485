import { primaryKey } from '../../config/tables.ts';
import type { ChunkTransition } from '../../domain/delivery/chunk.ts';
import type { Chunks } from '../../ports/deliveries.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import type { Pacing } from '../lambda/invocation-deadline.ts';
import { chunkOfItem, chunkUpdateOf } from './chunk-item.ts';
import { conditional, transacted } from './writes.ts';
import { deliveryItemOf } from './delivery-item.ts';
import { chunkItemKeyOf } from './delivery-keys.ts';

/** The CHUNK items of the deliveries table. */
export function dynamoChunks(client: DynamoDBDocument, tableName: string): Pick<Chunks, 'write' | 'find'> {
  return {
    write: async (transition: ChunkTransition) => {
      const result = await conditional(
        client.update({ TableName: tableName, ...chunkUpdateOf(transition), ReturnValues: 'ALL_NEW' }),
      );
      if (result.kind === 'written') return { kind: 'written', chunk: chunkOfItem(result.output.Attributes) };
      const { item } = result;
      return { kind: 'refused', current: item === undefined ? undefined : chunkOfItem(item) };
    },
    find: async (key) => {
      const { Item } = await client.get({
        TableName: tableName,
        Key: chunkItemKeyOf(key),
        ConsistentRead: true,
      });
      return Item === undefined ? undefined : chunkOfItem(Item);
    },
  };
}

/** A delivery's way from its chunk to a record of its own: one transaction. */
export function dynamoTakeOut(
  client: DynamoDBDocument,
  tableName: string,
  pacing: Pacing,
): Pick<Chunks, 'takeOut'> {
  return {
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
  };
}
