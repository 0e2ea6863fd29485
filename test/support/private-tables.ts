import { randomUUID } from 'node:crypto';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  type GlobalSecondaryIndex,
  type GlobalSecondaryIndexDescription,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/**
 * Empty tables with the keys and indexes of a deployed one, for tests that read whole tables without interference
 * from the deployed functions. TTL is off, so that tests may use any time.
 */
export const privateTables = (client: DynamoDBDocumentClient) => {
  const made: string[] = [];

  return {
    like: async (deployed: string): Promise<string> => {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: deployed }));
      const name = `private-${randomUUID()}`;
      await client.send(
        new CreateTableCommand({
          TableName: name,
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: Table?.KeySchema,
          AttributeDefinitions: Table?.AttributeDefinitions,
          GlobalSecondaryIndexes: Table?.GlobalSecondaryIndexes?.map(definitionOf),
        }),
      );
      made.push(name);
      return name;
    },
    deleteAll: async (): Promise<void> => {
      for (const name of made.splice(0)) await client.send(new DeleteTableCommand({ TableName: name }));
    },
  };
};

/** The description of an index contains more fields than a request may. */
const definitionOf = (index: GlobalSecondaryIndexDescription): GlobalSecondaryIndex => ({
  IndexName: index.IndexName,
  KeySchema: index.KeySchema,
  Projection: index.Projection,
});
