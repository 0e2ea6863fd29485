import { randomUUID } from 'node:crypto';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  type GlobalSecondaryIndex,
  type GlobalSecondaryIndexDescription,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocument, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { onTestFinished } from 'vitest';
import { type LocalAccount, toClientOptions } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { startRelay } from './relay.ts';

/**
 * A client that calls `before` ahead of each request; if that throws, the request is not made. `command`: such as
 * `PutItemCommand`.
 */
export const interruptedClient = (
  account: LocalAccount,
  before: (command: string, input: unknown) => Promise<void>,
): DynamoDBDocument => {
  const client = dynamoClient(toClientOptions(account));
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        await before(String(commandName), args.input);
        return await next(args);
      },
    { step: 'initialize', priority: 'low', name: 'interrupt' },
  );
  return client;
};

/** A client that counts its calls. Each is one request, unless it fails and is retried. */
export const countingClient = (account: LocalAccount) => {
  let count = 0;
  const client = interruptedClient(account, () => {
    count += 1;
    return Promise.resolve();
  });
  return { client, requests: () => count };
};

/**
 * A client for this test whose first response is lost after the request arrived, so that it sends the request
 * again. `operation`: such as `UpdateItem`; by default any.
 */
export const clientLosingAResponse = async (
  account: LocalAccount,
  operation = '',
): Promise<DynamoDBDocument> => {
  let lost = false;
  const relay = await startRelay(account.endpoint, async ({ headers }, forward) => {
    const answer = await forward();
    if (lost || !String(headers['x-amz-target']).endsWith(operation)) return answer;
    lost = true;
    return 'cut';
  });
  onTestFinished(relay.close);
  return dynamoClient(toClientOptions({ ...account, endpoint: relay.origin }));
};

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
