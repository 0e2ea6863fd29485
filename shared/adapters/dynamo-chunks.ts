import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { ChunkTransition } from '../domain/chunk.ts';
import type { Chunks } from '../ports/chunks.ts';
import { chunkOfItem } from './chunk-item.ts';
import { chunkUpdateOf } from './chunk-update.ts';
import { chunkItemKeyOf } from './delivery-keys.ts';

/** The CHUNK items of the deliveries table. */
export const dynamoChunks = (
  client: DynamoDBDocumentClient,
  tableName: string,
): Pick<Chunks, 'write' | 'find'> => ({
  write: async (transition: ChunkTransition) => {
    const command = new UpdateCommand({
      TableName: tableName,
      ...chunkUpdateOf(transition),
      ReturnValues: 'ALL_NEW',
    });
    try {
      return { kind: 'written', chunk: chunkOfItem((await client.send(command)).Attributes) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const { Item } = error;
      return { kind: 'refused', current: Item === undefined ? undefined : chunkOfItem(unmarshall(Item)) };
    }
  },
  find: async (key) => {
    const { Item } = await client.send(
      new GetCommand({ TableName: tableName, Key: chunkItemKeyOf(key), ConsistentRead: true }),
    );
    return Item === undefined ? undefined : chunkOfItem(Item);
  },
});
