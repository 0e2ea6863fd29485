import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { CreateScheduleCommand } from '@aws-sdk/client-scheduler';
import { documentClient } from '../../../../shared/adapters/aws/document-client.ts';
import { eventBridgeClient } from '../../../../shared/adapters/aws/eventbridge-client.ts';
import { kmsClient } from '../../../../shared/adapters/aws/key-client.ts';
import { sqsClient } from '../../../../shared/adapters/aws/queue-client.ts';
import { s3Client } from '../../../../shared/adapters/aws/s3-client.ts';
import { schedulerClient } from '../../../../shared/adapters/aws/scheduler-client.ts';
import type { Invocation } from '../../../../shared/adapters/aws/service-options.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../aws-stub.ts';

export const ourClients = ['DynamoDB', 'KMS', 'SQS'] as const;
export const everyClient = [...ourClients, 'EventBridge', 'S3', 'Scheduler'] as const;

type OurClient = (typeof ourClients)[number];
export type Client = (typeof everyClient)[number];

/** Whatever was asked for: KMS has to give a key, SQS to say that it has the message. */
export const SUCCESS: StubAnswer = { body: '{"Plaintext":"AQ==","MessageId":"1"}' };

/** A service that gives these answers in turn, and the last one for ever, and a call to it by every client. */
export const serviceThat = async (
  stubs: AwsStub[],
  answers: readonly StubAnswer[],
  invocation: Invocation = {},
) => {
  const stub = await awsStub((_, index) => answers[Math.min(index, answers.length - 1)] ?? SUCCESS);
  stubs.push(stub);
  const { endpoint, region, credentials } = stub.config;
  const options = { endpoint, region, credentials, ...invocation };
  return { calls: { ...callsOfOurs(options), ...callsOfSdk(options) }, requests: stub.requests };
};

type Options = Invocation & Omit<AwsStub['config'], 'maxAttempts'>;
type Calls<Name extends Client> = Record<Name, () => Promise<unknown>>;

const callsOfOurs = (options: Options): Calls<OurClient> => ({
  DynamoDB: () => documentClient(options).get({ TableName: 'table', Key: { pk: 'p', sk: 's' } }),
  KMS: () => kmsClient(options).decrypt({ CiphertextBlob: Uint8Array.of(1) }),
  SQS: () => sqsClient(options).sendMessage({ QueueUrl: 'https://sqs.test/queue', MessageBody: '1' }),
});

const callsOfSdk = (options: Options): Calls<Exclude<Client, OurClient>> => ({
  EventBridge: () => eventBridgeClient(options).send(new PutEventsCommand({ Entries: [{}] })),
  S3: () => s3Client(options).send(new GetObjectCommand({ Bucket: 'bucket', Key: 'key' })),
  Scheduler: () =>
    schedulerClient(options).send(
      new CreateScheduleCommand({
        Name: 'name',
        ScheduleExpression: 'at(2026-01-01T00:00:00)',
        FlexibleTimeWindow: { Mode: 'OFF' },
        Target: { Arn: 'arn', RoleArn: 'arn' },
      }),
    ),
});

export const fault = (status: number, name: string, headers: Record<string, string> = {}): StubAnswer => ({
  status,
  headers: { 'x-amzn-errortype': name, ...headers },
});

export const faultOf = (client: Client, status: number, name: string): StubAnswer =>
  client === 'S3'
    ? { status, body: `<?xml version="1.0"?><Error><Code>${name}</Code></Error>` }
    : fault(status, name);
