import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { onTestFinished } from 'vitest';
import { clientOf, type LocalAccount } from '../../local/endpoints.ts';
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
  const client = dynamoClient(clientOf(account));
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
 * again.
 */
export const clientLosingAResponse = async (account: LocalAccount): Promise<DynamoDBDocument> => {
  let lost = false;
  const relay = await startRelay(account.endpoint, async (_, forward) => {
    const answer = await forward();
    if (lost) return answer;
    lost = true;
    return 'cut';
  });
  onTestFinished(relay.close);
  return dynamoClient(clientOf({ ...account, endpoint: relay.origin }));
};
