import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { KMSClient, type KMSClientConfig } from '@aws-sdk/client-kms';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { SchedulerClient, type SchedulerClientConfig } from '@aws-sdk/client-scheduler';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { RequestsUntilDeadline } from './aws-requests.ts';
import { RetriesUntilDeadline } from './aws-retries.ts';
import { NO_DEADLINE, type CallDeadline } from './invocation-deadline.ts';

/** The request itself and two repeats. */
const MAX_ATTEMPTS = 3;

/**
 * `deadline`: of the invocation under way; a caller outside a function has none. The rest is for callers outside AWS: a
 * function finds it in its environment.
 */
type Options<Config> = Config & { deadline?: CallDeadline };

/** For every client: requests that end, and repeats that end before the function does. */
const bounded = (deadline = NO_DEADLINE) => ({
  maxAttempts: MAX_ATTEMPTS,
  retryStrategy: new RetriesUntilDeadline(MAX_ATTEMPTS, deadline),
  requestHandler: new RequestsUntilDeadline(deadline),
});

/** Plain values in place of DynamoDB's typed ones; a field that is undefined is not written. */
export const documentClient = ({
  deadline,
  ...config
}: Options<DynamoDBClientConfig> = {}): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient({ ...bounded(deadline), ...config }), {
    marshallOptions: { removeUndefinedValues: true },
  });

export const sqsClient = ({ deadline, ...config }: Options<SQSClientConfig> = {}): SQSClient =>
  new SQSClient({ ...bounded(deadline), ...config });

export const eventBridgeClient = ({
  deadline,
  ...config
}: Options<EventBridgeClientConfig> = {}): EventBridgeClient =>
  new EventBridgeClient({ ...bounded(deadline), ...config });

export const kmsClient = ({ deadline, ...config }: Options<KMSClientConfig> = {}): KMSClient =>
  new KMSClient({ ...bounded(deadline), ...config });

export const schedulerClient = ({
  deadline,
  ...config
}: Options<SchedulerClientConfig> = {}): SchedulerClient =>
  new SchedulerClient({ ...bounded(deadline), ...config });

export const s3Client = ({ deadline, ...config }: Options<S3ClientConfig> = {}): S3Client =>
  new S3Client({ ...bounded(deadline), ...config });
