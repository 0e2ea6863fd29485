import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** In milliseconds. A service that does not connect within this is asked again on another connection. */
const CONNECTION_TIMEOUT_MS = 1_000;

/** In milliseconds; far above what these services take for the at most 1 MiB that we send and read. */
const REQUEST_TIMEOUT_MS = 3_000;

/** The request itself and two repeats, with the SDK's own jittered back-off. */
const MAX_ATTEMPTS = 3;

/** For every client: by default the SDK waits for an answer without end. */
const bounded = () => ({
  maxAttempts: MAX_ATTEMPTS,
  requestHandler: new NodeHttpHandler({
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    throwOnRequestTimeout: true,
  }),
});

/** Plain values in place of DynamoDB's typed ones; a field that is undefined is not written. */
export const documentClient = (): DynamoDBDocumentClient =>
  DynamoDBDocumentClient.from(new DynamoDBClient(bounded()), {
    marshallOptions: { removeUndefinedValues: true },
  });

/** `config` is for callers outside AWS; a function finds everything in its environment. */
export const sqsClient = (config: SQSClientConfig = {}): SQSClient =>
  new SQSClient({ ...bounded(), ...config });
export const schedulerClient = (): SchedulerClient => new SchedulerClient(bounded());
export const s3Client = (): S3Client => new S3Client(bounded());
