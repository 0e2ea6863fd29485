import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

export type Endpoint = { endpoint: string; region: string };

const clientOf = ({ endpoint, region }: Endpoint): DynamoDBClient =>
  new DynamoDBClient({ endpoint, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });

/** A client that counts the requests it makes. */
export const countingClient = (endpoint: Endpoint) => {
  const client = clientOf(endpoint);
  let count = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      count += 1;
      return await next(args);
    },
    { step: 'finalizeRequest', priority: 'low', name: 'count' },
  );
  return { client: DynamoDBDocumentClient.from(client), requests: () => count };
};

/** A client whose first request arrives, but its answer does not: it sends it again. */
export const forgetfulClient = (endpoint: Endpoint): DynamoDBDocumentClient => {
  const client = clientOf(endpoint);
  let lost = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args);
      if (lost) return answer;
      lost = true;
      throw Object.assign(new Error('The answer was lost.'), { name: 'TimeoutError' });
    },
    { step: 'finalizeRequest', priority: 'low', name: 'lose' },
  );
  return DynamoDBDocumentClient.from(client);
};

/** A client that does something before each request, which is not made if that throws. */
export const interruptedClient = (
  endpoint: Endpoint,
  before: (command: string, input: unknown) => Promise<void>,
): DynamoDBDocumentClient => {
  const client = clientOf(endpoint);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        await before(String(commandName), args.input);
        return await next(args);
      },
    { step: 'initialize', priority: 'low', name: 'interrupt' },
  );
  return DynamoDBDocumentClient.from(client);
};
