import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { KMSClient, type KMSClientConfig } from '@aws-sdk/client-kms';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import type { Journal } from '../ports/journal.ts';
import { RequestsUntilDeadline } from './aws-requests.ts';
import { failureNoteFor, RetriesUntilDeadline } from './aws-retries.ts';
import { NO_DEADLINE, type CallDeadline } from './invocation-deadline.ts';

/** The request itself and two repeats. */
const MAX_ATTEMPTS = 3;

/** Of the invocation under way; a caller outside a function has none. The journal hears of requests that are repeated. */
export type Invocation = { deadline?: CallDeadline | undefined; journal?: Journal | undefined };

/** The rest is for callers outside AWS: a function finds it in its environment. */
export type ClientOptions<Config> = Config & Invocation;

/** For every client: requests that end, and repeats that end before the function does. */
export const bounded = (awsService: string, { deadline = NO_DEADLINE, journal }: Invocation) => ({
  maxAttempts: MAX_ATTEMPTS,
  retryStrategy: new RetriesUntilDeadline(MAX_ATTEMPTS, deadline, failureNoteFor(journal, awsService)),
  requestHandler: new RequestsUntilDeadline(deadline, awsService === 's3' ? 'stream' : 'bytes'),
});

/** Plain values in place of DynamoDB's typed ones; a field that is undefined is not written. */
export const documentClient = ({
  deadline,
  journal,
  ...config
}: ClientOptions<DynamoDBClientConfig> = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(
    new DynamoDBClient({ ...bounded('dynamodb', { deadline, journal }), ...config }),
    {
      marshallOptions: { removeUndefinedValues: true },
    },
  );

export const sqsClient = ({ deadline, journal, ...config }: ClientOptions<SQSClientConfig> = {}): SQSClient =>
  new SQSClient({ ...bounded('sqs', { deadline, journal }), ...config });

export const kmsClient = ({ deadline, journal, ...config }: ClientOptions<KMSClientConfig> = {}): KMSClient =>
  new KMSClient({ ...bounded('kms', { deadline, journal }), ...config });
