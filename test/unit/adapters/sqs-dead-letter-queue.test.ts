import { createHash } from 'node:crypto';
import { SQS } from '@aws-sdk/client-sqs';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import { sqsWorkQueues } from '../../../shared/adapters/sqs/queues.ts';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { awsStub } from '../../support/aws-stub.ts';

const requestSchema = z.looseObject({
  QueueUrl: z.string(),
  Entries: z.array(z.looseObject({ Id: z.string() })).default([]),
});
type SqsRequest = z.infer<typeof requestSchema> & { action: string };
type Answer = Record<string, unknown>;

/** An SQS with scripted answers. `waits` are the pauses between requests. */
const sqsThat = async (answer: (request: SqsRequest, index: number) => Answer) => {
  const requests: SqsRequest[] = [];
  const waits: number[] = [];
  const stub = await awsStub(({ headers, body }) => {
    const action = String(headers['x-amz-target']).split('.').at(-1) ?? '';
    const request = { ...requestSchema.parse(JSON.parse(body)), action };
    const index = requests.push(request) - 1;
    return { body: JSON.stringify(answer(request, index)) };
  });
  onTestFinished(stub.close);
  const source = {
    sqs: new SQS({ ...stub.config, md5: false }),
    queueUrl: `${stub.config.endpoint}/000000000000/dead`,
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
  };
  return { source, queue: sqsDeadLetterQueue(source), requests, waits, url: source.queueUrl };
};

const letters = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `letter-${n}`, receipt: `receipt-${n}` }));

const failing = (Id: string, Code: string, SenderFault: boolean) => ({ Id, Code, SenderFault });

describe('receiving dead letters', () => {
  it('requests ten at a time with all attributes, and hides them for the given time', async () => {
    const { queue, requests } = await sqsThat(() => ({}));
    expect(await queue.receive(23, 60)).toEqual([]);
    expect(requests.map(({ MaxNumberOfMessages }) => MaxNumberOfMessages)).toEqual([10, 10, 3]);
    expect(requests[0]).toMatchObject({
      action: 'ReceiveMessage',
      VisibilityTimeout: 60,
      WaitTimeSeconds: 1,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'ApproximateReceiveCount'],
    });
  });

  it('returns them completely, with typed attributes', async () => {
    const { queue } = await sqsThat(() => ({
      Messages: [
        {
          MessageId: 'letter',
          ReceiptHandle: 'receipt',
          Body: 'body',
          MD5OfBody: createHash('md5').update('body').digest('hex'),
          Attributes: {
            SentTimestamp: '1700000000123',
            MessageGroupId: 'group',
            ApproximateReceiveCount: '7',
          },
          MessageAttributes: {
            reason: { DataType: 'String', StringValue: 'not_json' },
            picture: { DataType: 'Binary.png', BinaryValue: Buffer.of(1, 2).toString('base64') },
          },
        },
      ],
    }));
    const [letter] = await queue.receive(1, 60);
    expect(letter).toMatchObject({
      id: 'letter',
      sentAt: 1_700_000_000_123,
      receipt: 'receipt',
      body: 'body',
      group: 'group',
      receives: 7,
      attributes: { reason: { type: 'String', text: 'not_json' }, picture: { type: 'Binary.png' } },
    });
    const picture = letter?.attributes['picture'];
    expect(picture !== undefined && 'bytes' in picture && [...picture.bytes]).toEqual([1, 2]);
  });
});

describe('removing dead letters', () => {
  it('takes ten a request, and retries entries that failed inside SQS', async () => {
    const { queue, requests, waits } = await sqsThat(({ Entries }, index) => ({
      Successful: [],
      Failed: index < 2 && Entries.length === 10 ? [failing('4', 'InternalError', false)] : [],
    }));
    await queue.remove(letters(20));
    expect(requests.map(({ action }) => action)).toEqual(Array(4).fill('DeleteMessageBatch'));
    expect(
      requests.slice(2).map(({ Entries }) => Entries.map(({ ReceiptHandle }) => ReceiptHandle).join()),
    ).toEqual(expect.arrayContaining(['receipt-4', 'receipt-14']));
    expect(waits).toEqual([100, 100]);
  });

  it('reports how many remain after three rounds, and does not retry permanent failures', async () => {
    const { queue, requests, waits } = await sqsThat(({ Entries }) => ({
      Successful: [],
      Failed: Entries.flatMap(({ Id }) => {
        if (Id === '0') return [failing(Id, 'ReceiptHandleIsInvalid', true)];
        return Id === '1' ? [failing(Id, 'InternalError', false)] : [];
      }),
    }));
    await expect(queue.remove(letters(3))).rejects.toMatchObject({
      name: 'DeadLettersNotRemovedError',
      message: '2 messages could not be removed from dead: ReceiptHandleIsInvalid, InternalError',
    });
    expect(requests.map(({ Entries }) => Entries.length)).toEqual([3, 1, 1]);
    expect(waits).toEqual([100, 200]);
  });
});

describe('releasing dead letters', () => {
  it('makes them visible at once, and ignores those that are already visible', async () => {
    const { queue, requests } = await sqsThat(() => ({
      Successful: [],
      Failed: [failing('0', 'MessageNotInflight', true)],
    }));
    await queue.release(letters(2));
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      action: 'ChangeMessageVisibilityBatch',
      Entries: [
        { ReceiptHandle: 'receipt-0', VisibilityTimeout: 0 },
        { ReceiptHandle: 'receipt-1', VisibilityTimeout: 0 },
      ],
    });
  });
});

describe('counting dead letters', () => {
  it('separates those in flight', async () => {
    const { queue } = await sqsThat(() => ({
      Attributes: { ApproximateNumberOfMessages: '7', ApproximateNumberOfMessagesNotVisible: '5' },
    }));
    expect(await queue.counts()).toEqual({ visible: 7, hidden: 5 });
  });
});

describe('sending dead letters back', () => {
  it('sends each to its queue, with its group and typed attributes', async () => {
    const { source, requests, url } = await sqsThat(() => ({
      Successful: [{ Id: '0' }, { Id: '1' }],
      Failed: [],
    }));
    const urls = {
      ingress: `${url}-ingress`,
      delivery: `${url}-delivery`,
      retry: `${url}-retry`,
      operation: `${url}-operation`,
    };
    const messages: RedrivenMessage[] = [
      { to: 'retry', body: 'wake-up', attributes: {}, group: 's-1' },
      {
        to: 'ingress',
        body: 'message',
        attributes: { picture: { type: 'Binary.png', bytes: Uint8Array.of(1) } },
      },
      { to: 'retry', body: 'another', attributes: { note: { type: 'Number.int', text: '1' } } },
    ];
    await sqsWorkQueues({ ...source, random: () => 0 }, urls).send(messages);
    expect(requests.map(({ QueueUrl, Entries }) => ({ QueueUrl, Entries }))).toEqual([
      {
        QueueUrl: urls.retry,
        Entries: [
          { Id: '0', MessageBody: 'wake-up', MessageGroupId: 's-1' },
          {
            Id: '1',
            MessageBody: 'another',
            MessageAttributes: { note: { DataType: 'Number.int', StringValue: '1' } },
          },
        ],
      },
      {
        QueueUrl: urls.ingress,
        Entries: [
          {
            Id: '0',
            MessageBody: 'message',
            MessageAttributes: { picture: { DataType: 'Binary.png', BinaryValue: 'AQ==' } },
          },
        ],
      },
    ]);
  });
});
