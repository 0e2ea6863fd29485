import { createHash } from 'node:crypto';
import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsDeadLetterQueue } from '../../../shared/adapters/sqs/dead-letter-queue.ts';
import { sqsDeadLetters, sqsUndeliverables } from '../../../shared/adapters/sqs/dead-letters.ts';
import { receivedRecords, reportingFailures } from '../../../shared/adapters/sqs/failed-records.ts';
import { sqsWorkQueues } from '../../../shared/adapters/sqs/queues.ts';
import { ContendedError } from '../../../shared/domain/contention.ts';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { type BodyLocation, toPayloadKey } from '../../../shared/domain/message/body.ts';
import type { Message } from '../../../shared/domain/message/message.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import { aMessage } from '../../support/builders.ts';
import { aDelivery } from '../../support/delivery-builders.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { encodeUndeliverableNotice } from '../../../shared/wire/jobs/dead-letter.ts';
import { ok, operationOf, serviceThat } from './service.ts';
import { inMemoryPayloads } from '../../support/in-memory/in-memory-messages.ts';

const sentSchema = z.object({
  MessageBody: z.string(),
  MessageAttributes: z
    .record(z.string(), z.object({ DataType: z.literal('String'), StringValue: z.string() }))
    .optional(),
});

const URL_OF_QUEUE = 'https://sqs.test/000000000000/dead';

const deadQueue = async () => {
  const { config, sent } = await serviceThat(ok({ MessageId: '1' }));
  return { sqs: sqsClient(config), sent: () => sent().map((body) => sentSchema.parse(body)) };
};

const attributesOf = ({ MessageAttributes = {} }: z.infer<typeof sentSchema>) =>
  Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue]));

describe('a dead letter', () => {
  const deadLetter = async (attributes: Record<string, string> = {}, body = ' not {json') => {
    const { sqs, sent } = await deadQueue();
    await sqsDeadLetters(sqs, URL_OF_QUEUE).send({ body, id: 'sqs-id', attributes }, 'not_json');
    return sent()[0] ?? { MessageBody: '' };
  };

  const orders = { queue: 'orders' };

  it('goes without the reason, and without the id, where SQS would refuse it for its size', async () => {
    const id = { 'posthaste-id': 'sqs-id' };
    const sentWith = async (added: string) => {
      const bytes = 1_048_576 - `queueStringorders${added}`.length;
      return attributesOf(await deadLetter(orders, 'x'.repeat(bytes)));
    };
    const both = await sentWith('reasonStringnot_jsonposthaste-idStringsqs-id');
    expect(both).toEqual({ ...orders, ...id, reason: 'not_json' });
    expect(await sentWith('posthaste-idStringsqs-id')).toEqual({ ...orders, ...id });
    expect(await sentWith('posthaste-idStringsqs-i')).toEqual(orders);
  });

  it.each([
    ['the reason and the id that a redrive sends', {}, { 'posthaste-id': 'sqs-id' }],
    [
      'its attributes and a new reason',
      { ...orders, reason: 'old' },
      { ...orders, 'posthaste-id': 'sqs-id' },
    ],
    ['its original id if it was redriven before', { 'posthaste-id': 'first' }, { 'posthaste-id': 'first' }],
  ])('has the unchanged body, and %s', async (_what, attributes, expected) => {
    const letter = await deadLetter(attributes);
    expect(letter.MessageBody).toBe(' not {json');
    expect(attributesOf(letter)).toEqual({ ...expected, reason: 'not_json' });
  });

  it('has at most ten attributes, and prefers those that dispatch reads', async () => {
    const others = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`other-${index}`, 'x']));
    const read = { ...orders, 'ce-specversion': '1.0' };
    const attributes = attributesOf(await deadLetter({ ...others, ...read }));
    expect(Object.keys(attributes)).toHaveLength(10);
    expect(attributes).toMatchObject({ ...read, reason: 'not_json' });
  });
});

describe('an undeliverable message', () => {
  const delivery = aDelivery({ status: 'exhausted' });
  const [small, large] = [aMessage(), aMessage({ data: JSON.stringify('x'.repeat(256 * 1024)) })];
  const key = toPayloadKey(large);
  const inline = (message: Message) => ({ kind: 'inline', message }) as const;
  const stored = { kind: 'stored', payloadKey: key } as const;
  const referenced = { dataRef: `s3://payloads/${key}` };
  const withData = { data: small.data };

  /** What the bucket has before, and afterwards if that differs. */
  type Case = {
    body?: BodyLocation;
    kept?: Message[];
    after?: Message[];
    data: Parameters<typeof encodeUndeliverableNotice>[1];
  };
  it.each<[what: string, given: Case]>([
    ['contains its data', { body: inline(small), data: withData }],
    ['contains small data even if that was stored', { body: stored, kept: [small], data: withData }],
    ['over 256 KB contains the location of its data', { body: stored, kept: [large], data: referenced }],
    ['over 256 KB is stored first if necessary', { body: inline(large), after: [large], data: referenced }],
    ['is reported without data if that is gone', { body: stored, data: {} }],
    ['is reported without data if it has none', { data: {} }],
  ])('%s', async (_what, { body, kept = [], after = kept, data }) => {
    const { sqs, sent } = await deadQueue();
    const payloads = inMemoryPayloads();
    for (const message of kept) await payloads.put(key, message);
    const places = { queueUrl: URL_OF_QUEUE, payloadBucket: 'payloads' };
    await sqsUndeliverables(sqs, payloads, places).send(
      body === undefined ? { delivery } : { delivery, body },
    );
    expect(sent().map(({ MessageBody }) => MessageBody)).toEqual([encodeUndeliverableNotice(delivery, data)]);
    expect([...payloads.stored]).toEqual(after.map((message) => [key, message]));
  });
});

/** The requests for a record that failed, at these receives. */
const returned = async (error: Error, receiveCounts: readonly number[]) => {
  const { config, sent } = await serviceThat({});
  const queues = ['retry', 'delivery'].map((name) => ({ url: `https://sqs.test/000000000000/${name}` }));
  const { returnSooner } = receivedRecords({ sqs: sqsClient(config), queues, random: () => 0.5 });
  for (const receiveCount of receiveCounts) await returnSooner(anSqsRecord('{}', receiveCount), error);
  return sent();
};

it.each([
  ['an unfinished message visible at once, at every receive', new UnfinishedError(), [1, 20], [0, 0]],
  [
    'a failed message visible after a delay that grows with each receive',
    new Error(),
    [1, 3, 20],
    [2, 7, 444],
  ],
])('makes %s, on its queue', async (_what, error, receives, delays) => {
  const request = { QueueUrl: 'https://sqs.test/000000000000/delivery', ReceiptHandle: 'receipt' };
  expect(await returned(error, receives)).toEqual(
    delays.map((VisibilityTimeout) => ({ ...request, VisibilityTimeout })),
  );
});

describe('a message that failed five times while another of its queue succeeded', () => {
  const failingBeside = async (fault: Error, { others = 1, receives = 5, canSend = true } = {}) => {
    const [letters, returns, notes]: [unknown[], unknown[], unknown[]] = [[], [], []];
    const handle = reportingFailures(
      { fault: () => undefined, note: (fact) => void notes.push(fact) },
      {
        handleRecord: ({ body }) => (body === 'good' ? Promise.resolve() : Promise.reject(fault)),
        returnSooner: (_, error) => Promise.resolve(void returns.push(error)),
        deadLetters: {
          send: (letter, reason) => {
            if (canSend) letters.push({ ...letter, reason });
            return canSend ? Promise.resolve() : Promise.reject(new Error('SQS is down'));
          },
        },
      },
    );
    const context = { getRemainingTimeInMillis: () => 1_000 };
    for (let index = 0; index < others; index += 1) await handle(anSqsRecord('good', 1), context);
    const outcome = await handle(anSqsRecord('bad', receives), context).then(
      () => 'handled',
      () => 'returned',
    );
    return { outcome, letters, returns, notes };
  };

  it('becomes a dead letter with a reason, and counts as handled', async () => {
    const { outcome, letters, returns, notes } = await failingBeside(new TypeError('no such property'));
    expect(outcome).toBe('handled');
    expect(letters).toMatchObject([{ body: 'bad', reason: 'failed_repeatedly' }]);
    expect(notes).toMatchObject([{ fact: 'dead_lettered', reason: 'failed_repeatedly' }]);
    expect(returns).toEqual([]);
  });

  const serviceFault = (name: string) =>
    new DynamoDBServiceException({ name, $fault: 'client', $metadata: {}, message: name });

  it('does so where AWS refuses what it contains', async () => {
    const fault = new Error('not written', { cause: serviceFault('ValidationException') });
    expect((await failingBeside(fault)).outcome).toBe('handled');
  });

  it.each([
    ['AWS throttles', serviceFault('ProvisionedThroughputExceededException')],
    ['AWS denies the call', serviceFault('AccessDeniedException')],
    ['AWS is partly down', new AggregateError([new TypeError(), serviceFault('InternalServerError')])],
    ['nothing answers', Object.assign(new Error(), { code: 'ECONNREFUSED' })],
    ['a call times out', new Error('', { cause: Object.assign(new Error(), { name: 'TimeoutError' }) })],
    ['writes contend', new ContendedError('delivery')],
    ['it is not finished', new UnfinishedError()],
  ])('comes back where %s', async (_, fault) => {
    expect(await failingBeside(fault)).toMatchObject({ outcome: 'returned', letters: [], returns: [fault] });
  });

  it.each([
    ['while no other message of the queue succeeds', { others: 0 }],
    ['at its fourth failure', { receives: 4 }],
    ['where the dead letter cannot be sent', { canSend: false }],
  ])('comes back %s', async (_, options) => {
    const fault = new TypeError('bug');
    const returned = { outcome: 'returned', letters: [], returns: [fault] };
    expect(await failingBeside(fault, options)).toMatchObject(returned);
  });
});

const requestSchema = z.looseObject({
  QueueUrl: z.string(),
  Entries: z.array(z.looseObject({ Id: z.string() })).default([]),
});
type SqsRequest = z.infer<typeof requestSchema> & { action: string };

/** An SQS with scripted answers. `waits` are the pauses between requests. */
const sqsThat = async (answer: (request: SqsRequest, index: number) => object) => {
  const requests: SqsRequest[] = [];
  const waits: number[] = [];
  const { config } = await serviceThat((received, index) => {
    const request = { ...requestSchema.parse(JSON.parse(received.body)), action: operationOf(received) };
    requests.push(request);
    return ok(answer(request, index));
  });
  const source = {
    sqs: new SQS({ ...config, md5: false }),
    queueUrl: URL_OF_QUEUE,
    sleep: (milliseconds: number) => Promise.resolve(void waits.push(milliseconds)),
  };
  return { source, queue: sqsDeadLetterQueue(source), requests, waits };
};

const letters = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `letter-${n}`, receipt: `receipt-${n}` }));

const failing = (Id: string, Code: string, SenderFault: boolean) => ({ Id, Code, SenderFault });

describe('receiving dead letters', () => {
  it('requests ten at a time with all attributes', async () => {
    const { queue, requests } = await sqsThat(() => ({}));
    expect(await queue.receive(23, 60)).toEqual([]);
    expect(requests.map(({ MaxNumberOfMessages }) => MaxNumberOfMessages)).toEqual([10, 10, 3]);
    expect(requests[0]).toMatchObject({
      action: 'ReceiveMessage',
      WaitTimeSeconds: 1,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'ApproximateReceiveCount'],
    });
  });

  it('hides them for the given time once they are here, and for seconds if the answer is lost', async () => {
    const letter = (n: number) => ({ MessageId: `${n}`, ReceiptHandle: `receipt-${n}`, Body: '' });
    const { queue, requests } = await sqsThat(({ action }, index) =>
      action === 'ReceiveMessage'
        ? { Messages: [{ ...letter(index), Attributes: { SentTimestamp: '1' } }] }
        : {},
    );
    await queue.receive(20, 300);
    const [first, second, hide, ...more] = requests;
    expect([first, second]).toMatchObject([{ VisibilityTimeout: 20 }, { VisibilityTimeout: 20 }]);
    expect(hide).toMatchObject({ action: 'ChangeMessageVisibilityBatch' });
    expect(hide?.Entries).toMatchObject([
      { ReceiptHandle: 'receipt-0', VisibilityTimeout: 300 },
      { ReceiptHandle: 'receipt-1', VisibilityTimeout: 300 },
    ]);
    expect(more).toEqual([]);
  });

  it('returns them with their group and their receives', async () => {
    const Attributes = {
      SentTimestamp: '1700000000123',
      MessageGroupId: 'group',
      ApproximateReceiveCount: '7',
    };
    const MD5OfBody = createHash('md5').update('body').digest('hex');
    const message = { MessageId: 'letter', ReceiptHandle: 'receipt', Body: 'body', MD5OfBody, Attributes };
    const { queue } = await sqsThat(() => ({ Messages: [message] }));
    const letter = { id: 'letter', sentAt: 1_700_000_000_123, receipt: 'receipt', body: 'body' };
    expect(await queue.receive(1, 60)).toMatchObject([{ ...letter, group: 'group', receives: 7 }]);
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
      Entries: letters(2).map(({ receipt }) => ({ ReceiptHandle: receipt, VisibilityTimeout: 0 })),
    });
  });
});

describe('sending dead letters back', () => {
  it('sends each to its queue, with its group and typed attributes', async () => {
    const { source, requests } = await sqsThat(() => ({
      Successful: [{ Id: '0' }, { Id: '1' }],
      Failed: [],
    }));
    const urls = { ingress: 'ingress', delivery: 'delivery', retry: 'retry', operation: 'operation' };
    const picture = { type: 'Binary.png', bytes: Uint8Array.of(1) };
    const messages: RedrivenMessage[] = [
      { to: 'retry', body: 'wake-up', attributes: {}, group: 's-1' },
      { to: 'ingress', body: 'message', attributes: { picture } },
      { to: 'retry', body: 'another', attributes: { note: { type: 'Number.int', text: '1' } } },
    ];
    await sqsWorkQueues({ ...source, random: () => 0 }, urls).send(messages);
    const note = { DataType: 'Number.int', StringValue: '1' };
    const image = { DataType: 'Binary.png', BinaryValue: 'AQ==' };
    const toRetry = [
      { Id: '0', MessageBody: 'wake-up', MessageGroupId: 's-1' },
      { Id: '1', MessageBody: 'another', MessageAttributes: { note } },
    ];
    const toIngress = [{ Id: '0', MessageBody: 'message', MessageAttributes: { picture: image } }];
    expect(requests.map(({ QueueUrl, Entries }) => ({ QueueUrl, Entries }))).toEqual([
      { QueueUrl: 'retry', Entries: toRetry },
      { QueueUrl: 'ingress', Entries: toIngress },
    ]);
  });
});
