import type { DocumentClient } from './aws/document-client.ts';
import type { ChunkTransition } from '../domain/chunk.ts';
import type { Chunks } from '../ports/chunks.ts';
import { chunkOfItem } from './chunk-item.ts';
import { chunkUpdateOf } from './chunk-update.ts';
import { chunkItemKeyOf } from './delivery-keys.ts';
import { conditional } from './dynamo-condition.ts';

/** The CHUNK items of the deliveries table. */
export const dynamoChunks = (client: DocumentClient, tableName: string): Pick<Chunks, 'write' | 'find'> => ({
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
});
