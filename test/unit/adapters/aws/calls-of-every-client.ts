import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { DecryptCommand } from '@aws-sdk/client-kms';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { CreateScheduleCommand } from '@aws-sdk/client-scheduler';
import { dynamoClient } from '../../../../shared/adapters/dynamodb/client.ts';
import { eventBridgeClient } from '../../../../shared/adapters/eventbridge/operator-events.ts';
import { kmsClient } from '../../../../shared/adapters/kms/signing-secrets.ts';
import { sqsClient } from '../../../../shared/adapters/sqs/client.ts';
import { s3Client } from '../../../../shared/adapters/s3/payloads.ts';
import { schedulerClient } from '../../../../shared/adapters/scheduler/wake-ups.ts';
import type { Invocation } from '../../../../shared/adapters/aws/client-options.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../../support/aws-stub.ts';

/** Clients of the services that every delivery needs. */
export const deliveryClients = ['DynamoDB', 'KMS', 'SQS'] as const;
export const everyClient = [...deliveryClients, 'EventBridge', 'S3', 'Scheduler'] as const;

export type Client = (typeof everyClient)[number];

/** Succeeds for every call: KMS must return a key, SQS a message id. */
export const SUCCESS: StubAnswer = { body: '{"Plaintext":"AQ==","MessageId":"1"}' };

/** A service that gives these answers in order, the last one repeatedly, and a call to it by every client. */
export const serviceThat = async (
  stubs: AwsStub[],
  answers: readonly StubAnswer[],
  invocation: Invocation = {},
) => {
  const stub = await awsStub((_, index) => answers[Math.min(index, answers.length - 1)] ?? SUCCESS);
  stubs.push(stub);
  const { endpoint, region, credentials } = stub.config;
  return { calls: callsOf({ endpoint, region, credentials, ...invocation }), requests: stub.requests };
};

type Options = Parameters<typeof dynamoClient>[0] &
  Parameters<typeof sqsClient>[0] &
  Parameters<typeof s3Client>[0];

/** A call by each client. The clients are created here, so they see the current environment. */
export const callsOf = (options: Options): Record<Client, () => Promise<unknown>> => {
  const dynamo = dynamoClient(options);
  const kms = kmsClient(options);
  const sqs = sqsClient(options);
  const eventBridge = eventBridgeClient(options);
  const s3 = s3Client(options);
  const scheduler = schedulerClient(options);
  return {
    DynamoDB: () => dynamo.get({ TableName: 'table', Key: { pk: 'p', sk: 's' } }),
    KMS: () => kms.send(new DecryptCommand({ CiphertextBlob: Uint8Array.of(1) })),
    SQS: () => sqs.sendMessage({ QueueUrl: 'https://sqs.test/queue', MessageBody: '1' }),
    EventBridge: () => eventBridge.send(new PutEventsCommand({ Entries: [{}] })),
    S3: () => s3.send(new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })),
    Scheduler: () =>
      scheduler.send(
        new CreateScheduleCommand({
          Name: 'name',
          ScheduleExpression: 'at(2026-01-01T00:00:00)',
          FlexibleTimeWindow: { Mode: 'OFF' },
          Target: { Arn: 'arn', RoleArn: 'arn' },
        }),
      ),
  };
};

export const fault = (status: number, name: string, headers: Record<string, string> = {}): StubAnswer => ({
  status,
  headers: { 'x-amzn-errortype': name, ...headers },
});

export const faultOf = (client: Client, status: number, name: string): StubAnswer =>
  client === 'S3'
    ? { status, body: `<?xml version="1.0"?><Error><Code>${name}</Code></Error>` }
    : fault(status, name);
