import type { SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { receivedRecords } from '../../../shared/adapters/sqs/failed-records.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import { receivingClient, sqsWorkQueue, type WorkQueue } from '../../../worker/work-queue.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

const batch = z.object({ Entries: z.array(z.object({ Id: z.string(), ReceiptHandle: z.string() })) });

const received = {
  MessageId: 'id-1',
  ReceiptHandle: 'receipt-1',
  Body: '{"queue":"orders"}',
  Attributes: { ApproximateReceiveCount: '3', SentTimestamp: '1700000000000', SenderId: 'x' },
  MessageAttributes: {
    'content-type': { DataType: 'String', StringValue: 'application/json' },
    bytes: { DataType: 'Binary', BinaryValue: 'AA==' },
  },
};

let stub: AwsStub;
let queue: WorkQueue;
let url: string;
/** Receipts whose deletion fails for good. */
let refused: readonly string[];

beforeEach(async () => {
  refused = [];
  stub = await awsStub(({ headers, body }) => answerTo(String(headers['x-amz-target']), body));
  url = `${stub.config.endpoint}/111122223333/delivery`;
  const { maxAttempts: _, ...access } = stub.config;
  queue = sqsWorkQueue(
    { name: 'delivery', url },
    { receiver: receivingClient(access), sqs: sqsClient(access), sleep: () => Promise.resolve() },
  );
});

afterEach(() => stub.close());

const answerTo = (target: string, body: string): StubAnswer => {
  if (target.endsWith('.ReceiveMessage')) return { body: JSON.stringify({ Messages: [received] }) };
  if (!target.endsWith('Batch')) return { body: '{}' };
  const { Entries } = batch.parse(JSON.parse(body));
  const isRefused = ({ ReceiptHandle }: { ReceiptHandle: string }): boolean =>
    refused.includes(ReceiptHandle);
  const Failed = Entries.filter(isRefused).map(({ Id }) => ({ Id, SenderFault: true, Code: 'Gone' }));
  return { body: JSON.stringify({ Successful: Entries.filter((one) => !isRefused(one)), Failed }) };
};

const record = (receiptHandle: string): SQSRecord => ({ ...anSqsRecord('{}'), receiptHandle });

describe('the queue of a worker', () => {
  it('receives messages in the form that Lambda passes to a function', async () => {
    const [first] = await queue.receive(7, 20, new AbortController().signal);
    expect(JSON.parse(stub.requests[0]?.body ?? '')).toMatchObject({
      QueueUrl: url,
      MaxNumberOfMessages: 7,
      WaitTimeSeconds: 20,
      VisibilityTimeout: 30,
    });
    expect(first).toMatchObject({
      messageId: 'id-1',
      receiptHandle: 'receipt-1',
      body: '{"queue":"orders"}',
      attributes: { ApproximateReceiveCount: '3', SentTimestamp: '1700000000000' },
      messageAttributes: { 'content-type': { dataType: 'String', stringValue: 'application/json' } },
    });
  });

  it('names itself to the steps, so that a failed record returns to it', async () => {
    const [first] = await queue.receive(1, 0, new AbortController().signal);
    if (first === undefined) throw new Error('nothing was received');
    const queues = [{ url: `${stub.config.endpoint}/111122223333/retry` }, { url }];
    const { maxAttempts: _, ...access } = stub.config;
    const { returnSooner } = receivedRecords({ sqs: sqsClient(access), queues, random: () => 0 });
    await returnSooner(first, new UnfinishedError());
    expect(JSON.parse(stub.requests.at(-1)?.body ?? '')).toMatchObject({
      QueueUrl: url,
      VisibilityTimeout: 0,
    });
  });

  it('deletes records that end within a moment together', async () => {
    await Promise.all(Array.from({ length: 21 }, (_, index) => queue.remove(record(`r-${index}`))));
    const sizes = stub.requests.map(({ body }) => batch.parse(JSON.parse(body)).Entries.length);
    expect(sizes).toEqual([10, 10, 1]);
  });

  it('reports only the record that SQS did not delete', async () => {
    refused = ['r-2'];
    const results = await Promise.allSettled(
      ['r-0', 'r-1', 'r-2', 'r-3'].map((one) => queue.remove(record(one))),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(results[2]).toMatchObject({ reason: { name: 'RecordNotDeletedError' } });
  });

  it('hides records in batches of ten', async () => {
    await queue.hide(
      Array.from({ length: 12 }, (_, index) => record(`r-${index}`)),
      30,
    );
    expect(stub.requests.map(({ body }) => batch.parse(JSON.parse(body)).Entries.length)).toEqual([10, 2]);
    expect(stub.requests[0]?.body).toContain('"VisibilityTimeout":30');
  });

  it('stops a long poll when its signal is aborted', async () => {
    const ended = new AbortController();
    ended.abort();
    await expect(queue.receive(1, 20, ended.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
