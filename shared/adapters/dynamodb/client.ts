import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { clientOptions, slim, type ClientOptions, RetriesUntilDeadline } from '../aws/client-options.ts';
import { NO_DEADLINE } from '../lambda/invocation-deadline.ts';

/** A DynamoDB client for plain values. Undefined fields are not written. */
export function dynamoClient(options: ClientOptions<DynamoDBClientConfig> = {}): DynamoDBDocument {
  const client = new DynamoDBClient({
    accountIdEndpointMode: 'disabled',
    ...clientOptions('dynamodb', options),
  });
  hideItemsOfErrors(client);
  return DynamoDBDocument.from(slim(client), { marshallOptions: { removeUndefinedValues: true } });
}

/**
 * A client for writes that may be lost, on the connections of another. A call is one request: it uses up no retries of
 * the other client's calls, and its failure is not in the journal.
 */
export function singleRequestClient({ config }: DynamoDBDocument): DynamoDBDocument {
  const { endpoint, region, credentials, requestHandler } = config;
  return dynamoClient({
    retryStrategy: new RetriesUntilDeadline(1, NO_DEADLINE, () => undefined),
    ...(endpoint !== undefined && { endpoint }),
    region,
    credentials,
    requestHandler,
  });
}

/** Properties of SDK errors that hold items: of a failed condition, and of a cancelled transaction. */
const ITEMS = ['Item', 'CancellationReasons'];

/** Items hold secrets and payloads, so code that prints an error's properties must not find them. */
function hideItemsOfErrors(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        for (const name of ITEMS) {
          if (error instanceof Error && name in error)
            Object.defineProperty(error, name, { enumerable: false });
        }
        throw error;
      }
    },
    { step: 'initialize', name: 'hideItemsOfErrors' },
  );
}
