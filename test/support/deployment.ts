import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SQS } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inject } from 'vitest';
import { toClientOptions } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { kmsClient } from '../../shared/adapters/kms/signing-secrets.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { deployedEndpoints } from './deployed-endpoints.ts';

const endpoints = await deployedEndpoints(inject('folder'));
const client = toClientOptions(endpoints);

/** The deployed system under test, and clients with the permissions of its account's root user. */
export const deployment = {
  endpoints,
  /** Options for a separate client. */
  client,
  sqs: new SQS(client),
  lambda: new LambdaClient(client),
  scheduler: new SchedulerClient(client),
  dynamo: DynamoDBDocumentClient.from(new DynamoDBClient(client)),
  // The clients that the functions use, for their adapters.
  documents: dynamoClient(client),
  queues: sqsClient(client),
  keys: kmsClient(client),
};

/**
 * Invokes a function and returns its result.
 * @throws if the function failed
 */
export const invoke = async (functionName: string, payload: unknown = {}): Promise<unknown> => {
  const { FunctionError, Payload } = await deployment.lambda.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(payload) }),
  );
  const text = Buffer.from(Payload ?? []).toString();
  if (FunctionError !== undefined) throw new Error(`${functionName} failed: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};
