import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { DecryptCommand } from '@aws-sdk/client-kms';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { CreateScheduleCommand } from '@aws-sdk/client-scheduler';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  documentClient,
  kmsClient,
  sqsClient,
  type Invocation,
} from '../../../shared/adapters/aws-clients.ts';
import { eventBridgeClient } from '../../../shared/adapters/eventbridge-client.ts';
import { s3Client } from '../../../shared/adapters/s3-client.ts';
import { schedulerClient } from '../../../shared/adapters/scheduler-client.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import { awsStub, type AwsStub, type StubAnswer } from './aws-stub.ts';

const stubs: AwsStub[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(stubs.splice(0).map((stub) => stub.close()));
});

type Client = 'DynamoDB' | 'EventBridge' | 'KMS' | 'S3' | 'Scheduler' | 'SQS';
const everyClient: Client[] = ['DynamoDB', 'EventBridge', 'KMS', 'S3', 'Scheduler', 'SQS'];

/** A service that gives these answers in turn, and the last one for ever, and a call to it. */
const serviceThat = async (answers: StubAnswer[], invocation: Invocation = {}) => {
  const stub = await awsStub((_, index) => answers[Math.min(index, answers.length - 1)] ?? {});
  stubs.push(stub);
  const { endpoint, region, credentials } = stub.config;
  const options = { endpoint, region, credentials, ...invocation };
  const calls: Record<Client, () => Promise<unknown>> = {
    DynamoDB: () =>
      documentClient(options).send(new GetCommand({ TableName: 'table', Key: { pk: 'p', sk: 's' } })),
    EventBridge: () => eventBridgeClient(options).send(new PutEventsCommand({ Entries: [{}] })),
    KMS: () => kmsClient(options).send(new DecryptCommand({ CiphertextBlob: Uint8Array.of(1) })),
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
    SQS: () =>
      sqsClient({ ...options, md5: false }).send(
        new SendMessageCommand({ QueueUrl: `${endpoint}/000000000000/queue`, MessageBody: '1' }),
      ),
  };
  return { calls, requests: stub.requests };
};

const fault = (status: number, name: string, headers: Record<string, string> = {}): StubAnswer => ({
  status,
  headers: { 'x-amzn-errortype': name, ...headers },
});

const s3Fault = (status: number, name: string): StubAnswer => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${name}</Code></Error>`,
});

const faultOf = (client: Client, status: number, name: string): StubAnswer =>
  client === 'S3' ? s3Fault(status, name) : fault(status, name);

const waitsAreNone = () => vi.spyOn(Math, 'random').mockReturnValue(0);
const waitsAreLongest = () => vi.spyOn(Math, 'random').mockReturnValue(0.999_999);

describe.each(everyClient)('the client of %s', (client) => {
  it.each([
    ['was throttled', 400, 'ThrottlingException'],
    ['was throttled by another name', 400, 'ProvisionedThroughputExceededException'],
    ['was throttled by status', 429, 'TooMany'],
    ['met a fault of the service', 500, 'InternalError'],
    ['met a service that is not there', 503, 'ServiceUnavailable'],
    ['met a gateway that got no answer', 504, 'GatewayTimeout'],
  ])('repeats a request that %s', async (_, status, name) => {
    waitsAreNone();
    const answer = faultOf(client, status, name);
    const { calls, requests } = await serviceThat([answer, answer, {}]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each<[string, StubAnswer]>([
    ['before it', 'hang_up'],
    ['in the middle of it', 'cut_off'],
  ])('repeats a request whose answer was lost %s', async (_, answer) => {
    waitsAreNone();
    const { calls, requests } = await serviceThat([answer, answer, {}]);
    await calls[client]();
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['is not permitted', 403, 'AccessDeniedException'],
    ['is not valid', 400, 'ValidationException'],
    ['names what is not there', 404, 'ResourceNotFoundException'],
    ['is refused by a condition', 400, 'ConditionalCheckFailedException'],
  ])('does not repeat a request that %s', async (_, status, name) => {
    const { calls, requests } = await serviceThat([faultOf(client, status, name)]);
    await expect(calls[client]()).rejects.toThrow();
    expect(requests).toHaveLength(1);
  });

  it('makes a request three times at most', async () => {
    waitsAreNone();
    const { calls, requests } = await serviceThat(['hang_up']);
    await expect(calls[client]()).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toHaveLength(3);
  });
});

describe('every client', () => {
  it('repeats a write that met a transaction on the same item', async () => {
    const { calls, requests } = await serviceThat([fault(400, 'TransactionConflictException'), {}]);
    await calls.DynamoDB();
    expect(requests).toHaveLength(2);
  });

  it('waits up to 50 ms before the first repeat, and up to 100 ms before the second', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat(['hang_up']);
    await expect(calls.SQS()).rejects.toMatchObject({ $metadata: { attempts: 3, totalRetryDelay: 49 + 99 } });
  });

  it('waits up to a second before it repeats what was throttled', async () => {
    waitsAreLongest();
    const { calls } = await serviceThat([fault(400, 'ThrottlingException'), {}]);
    expect(await calls.SQS()).toMatchObject({ $metadata: { attempts: 2, totalRetryDelay: 999 } });
  });

  it('waits no less than the service asks for', async () => {
    waitsAreNone();
    const { calls } = await serviceThat([fault(503, 'SlowDown', { 'x-amz-retry-after': '120' }), {}]);
    const { $metadata } = (await calls.SQS()) as { $metadata: { totalRetryDelay: number } };
    expect($metadata.totalRetryDelay).toBeGreaterThan(100);
    expect($metadata.totalRetryDelay).toBeLessThanOrEqual(120);
  });

  it.each<StubAnswer>(['silence', 'stall'])(
    'gives a request three seconds where it gets %s, and makes it again',
    async (answer) => {
      waitsAreNone();
      const unanswered = everyClient.map(() => answer);
      const { calls, requests } = await serviceThat([...unanswered, fault(403, 'AccessDenied')]);
      const started = performance.now();
      const outcomes = await Promise.allSettled(everyClient.map((client) => calls[client]()));
      expect(performance.now() - started).toBeGreaterThan(2_900);
      expect(requests).toHaveLength(2 * everyClient.length);
      expect(outcomes).toMatchObject(
        outcomes.map(() => ({ status: 'rejected', reason: { $metadata: { httpStatusCode: 403 } } })),
      );
    },
  );
});

describe('the journal', () => {
  const services: Record<Client, string> = {
    DynamoDB: 'dynamodb',
    EventBridge: 'events',
    KMS: 'kms',
    S3: 's3',
    Scheduler: 'scheduler',
    SQS: 'sqs',
  };

  it.each(everyClient)(
    'hears of every request that was throttled, and whether it was repeated: %s',
    async (client) => {
      waitsAreNone();
      const journal = inMemoryJournal();
      const { calls } = await serviceThat([faultOf(client, 400, 'ThrottlingException')], { journal });
      await expect(calls[client]()).rejects.toThrow();
      const failed = { fact: 'aws_call_failed', awsService: services[client], throttled: true };
      expect(journal.facts).toMatchObject([
        { ...failed, repeated: true },
        { ...failed, repeated: true },
        { ...failed, repeated: false },
      ]);
    },
  );

  it('hears of requests that were lost, as not throttled, by the name of the error', async () => {
    waitsAreNone();
    const journal = inMemoryJournal();
    const { calls } = await serviceThat(['hang_up', {}], { journal });
    await calls.SQS();
    expect(journal.facts).toEqual([
      {
        fact: 'aws_call_failed',
        awsService: 'sqs',
        reason: 'TimeoutError',
        throttled: false,
        repeated: true,
      },
    ]);
  });

  it('hears of a request that there was no time to repeat', async () => {
    const journal = inMemoryJournal();
    const deadline = { remainingMs: () => 499 };
    const { calls } = await serviceThat([fault(400, 'ThrottlingException')], { journal, deadline });
    await expect(calls.SQS()).rejects.toThrow();
    expect(journal.facts).toMatchObject([{ throttled: true, repeated: false }]);
  });

  it('hears nothing of what was answered, be it by a refusal', async () => {
    const journal = inMemoryJournal();
    const { calls } = await serviceThat([{}, fault(400, 'ConditionalCheckFailedException')], { journal });
    await calls.DynamoDB();
    await expect(calls.DynamoDB()).rejects.toThrow();
    expect(journal.facts).toEqual([]);
  });
});
