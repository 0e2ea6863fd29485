import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { MessagesNotSentError } from '../../../shared/adapters/sqs/batches.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { receivedRecords, reportingFailures } from '../../../shared/adapters/sqs/failed-records.ts';
import { sqsDeliveryQueue, sqsIngress } from '../../../shared/adapters/sqs/queues.ts';
import { ContendedError } from '../../../shared/domain/contention.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import { parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';
import { aMessage } from '../../support/builders.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

const batchSchema = z.object({
  QueueUrl: z.string(),
  Entries: z.array(
    z.looseObject({
      Id: z.string(),
      MessageBody: z.string(),
      DelaySeconds: z.number().optional(),
      MessageGroupId: z.string().optional(),
      MessageAttributes: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

type Batch = z.infer<typeof batchSchema>;
type Verdict = { fails: string; senderFault: boolean } | undefined;

/** A queue that decides on every entry of every batch. `waits` are the pauses between rounds. */
const queueThat = async (judge: (body: string, batch: number) => Verdict, broken?: StubAnswer) => {
  const batches: Batch[] = [];
  const waits: number[] = [];
  const stub = await awsStub(({ body }) => {
    const batch = batchSchema.parse(JSON.parse(body));
    const index = batches.push(batch) - 1;
    const judged = batch.Entries.map(({ Id, MessageBody }) => ({ Id, verdict: judge(MessageBody, index) }));
    const Failed = judged.flatMap(({ Id, verdict }) =>
      verdict === undefined
        ? []
        : [{ Id, Code: verdict.fails, SenderFault: verdict.senderFault, Message: '' }],
    );
    const Successful = judged.flatMap(({ Id, verdict }) =>
      verdict === undefined ? [{ Id, MessageId: Id }] : [],
    );
    return broken ?? { body: JSON.stringify({ Failed, Successful }) };
  });
  onTestFinished(stub.close);
  const target = {
    sqs: sqsClient(stub.config),
    queueUrl: `${stub.config.endpoint}/000000000000/delivery`,
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
    random: () => 0.5,
  };
  return { target, batches, waits };
};

const takeAll = () => undefined;
const bodies = (count: number) => Array.from({ length: count }, (_, index) => ({ body: `{"n":${index}}` }));
const bodiesIn = (batches: readonly Batch[]) =>
  batches.flatMap(({ Entries }) => Entries.map((entry) => entry.MessageBody));
const bodiesOfBatch = (batch: Batch) => bodiesIn([batch]);
const sizesOf = (batches: readonly Batch[]) =>
  batches.map(({ Entries }) => Entries.length).toSorted((a, b) => b - a);

const jobFor = (subscriptionId: string): DeliveryJob => ({
  kind: 'job',
  key: { queue: 'orders', messageId: 'message-1', subscriptionId, bucket: 0 },
  attempt: 1,
  acceptedAt: 1,
  body: { kind: 'inline', message: aMessage() },
});

describe('jobs for the delivery queue', () => {
  it('are sent ten to a batch, each once', async () => {
    const { target, batches, waits } = await queueThat(takeAll);
    const jobs = Array.from({ length: 43 }, (_, index) => jobFor(`s-${index}`));
    await sqsDeliveryQueue(target).send(jobs);
    expect(sizesOf(batches)).toEqual([10, 10, 10, 10, 3]);
    const sent = bodiesIn(batches).map(parseWork);
    expect(sent).toHaveLength(43);
    expect(sent).toEqual(expect.arrayContaining(jobs.map((value) => ({ ok: true, value }))));
    expect(waits).toEqual([]);
  });

  it('are grouped by subscription and delayed as requested, rounded up and limited to 900 s', async () => {
    const { target, batches } = await queueThat(takeAll);
    const queue = sqsDeliveryQueue(target);
    for (const delay of [undefined, 4.2, -3, 10_000]) await queue.send([jobFor('s-1')], delay);
    const entries = batches.flatMap(({ Entries }) => Entries);
    expect(entries.map((entry) => entry.MessageGroupId)).toEqual(['s-1', 's-1', 's-1', 's-1']);
    expect(entries.map((entry) => entry.DelaySeconds)).toEqual([0, 5, 0, 900]);
  });

  it('make no request for an empty list', async () => {
    const { target, batches } = await queueThat(takeAll);
    await sqsDeliveryQueue(target).send([]);
    expect(batches).toEqual([]);
  });
});

describe('a batch', () => {
  it('contains at most 1 MiB, including attributes, in UTF-8 bytes', async () => {
    const { target, batches } = await queueThat(takeAll);
    const half = `"${'é'.repeat(262_143)}"`;
    const exactly = (attributes: Record<string, string>) => [{ body: half }, { body: half, attributes }];
    await sqsIngress(target).publish(exactly({}));
    expect(sizesOf(batches.splice(0))).toEqual([2]);
    await sqsIngress(target).publish(exactly({ queue: 'orders' }));
    expect(sizesOf(batches)).toEqual([1, 1]);
  });

  it('sends attributes as strings', async () => {
    const { target, batches } = await queueThat(takeAll);
    await sqsIngress(target).publish([{ body: '1', attributes: { queue: 'orders' }, delaySeconds: 7 }]);
    expect(batches[0]?.Entries[0]).toEqual({
      Id: '0',
      MessageBody: '1',
      DelaySeconds: 7,
      MessageAttributes: { queue: { DataType: 'String', StringValue: 'orders' } },
    });
  });

  it('escapes the two characters that SQS rejects, which does not change the JSON', async () => {
    const { target, batches } = await queueThat(takeAll);
    await sqsIngress(target).publish([{ body: '"a\uffff\ufffeb\u{1f600}"' }]);
    expect(bodiesIn(batches)).toEqual(['"a\\uffff\\ufffeb\u{1f600}"']);
  });
});

describe('entries that fail inside SQS', () => {
  it('are sent again after a jittered wait that doubles; the others are not', async () => {
    const rounds = new Map<string, number>();
    const { target, batches, waits } = await queueThat((body) => {
      const round = (rounds.get(body) ?? 0) + 1;
      rounds.set(body, round);
      const isFlaky = body === '{"n":3}' || body === '{"n":17}';
      return isFlaky && round < 4 ? { fails: 'InternalError', senderFault: false } : undefined;
    });
    await sqsIngress(target).publish(bodies(20));
    expect(sizesOf(batches)).toEqual([10, 10, 2, 2, 2]);
    expect(waits).toEqual([50, 100, 200]);
    expect([...rounds.values()].filter((count) => count > 1)).toEqual([4, 4]);
  });

  it('fail after four rounds with an error that counts them', async () => {
    const { target, batches, waits } = await queueThat((body) =>
      body === '{"n":1}' ? { fails: 'ServiceUnavailable', senderFault: false } : undefined,
    );
    const failure: unknown = await sqsIngress(target)
      .publish(bodies(3))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MessagesNotSentError);
    expect(failure).toMatchObject({
      unsent: 1,
      codes: ['ServiceUnavailable'],
      message: '1 of 3 messages could not be sent to delivery: ServiceUnavailable',
    });
    expect(sizesOf(batches)).toEqual([3, 1, 1, 1]);
    expect(waits).toHaveLength(3);
  });
});

describe('entries that there is no time to send again', () => {
  it('fail with their codes, before the wait', async () => {
    const { target, batches, waits } = await queueThat(() => ({
      fails: 'InternalError',
      senderFault: false,
    }));
    // Half of 100 ms for the wait, and half a second for the request.
    const ingressWith = (remaining: number) =>
      sqsIngress({ ...target, deadline: { remainingMs: () => remaining } });
    const failure = { name: 'MessagesNotSentError', unsent: 1, codes: ['InternalError'] };
    await expect(ingressWith(549).publish(bodies(1))).rejects.toMatchObject(failure);
    expect(batches).toHaveLength(1);
    expect(waits).toEqual([]);
    await expect(ingressWith(550).publish(bodies(1))).rejects.toMatchObject(failure);
    expect(waits).toEqual([50]);
  });
});

describe('entries that SQS does not confirm', () => {
  it('are sent again, and fail with NotConfirmed if that does not help', async () => {
    const { target, batches } = await queueThat(takeAll, {
      body: JSON.stringify({ Successful: [{ Id: '1' }] }),
    });
    await expect(sqsIngress(target).publish(bodies(2))).rejects.toMatchObject({
      unsent: 1,
      codes: ['NotConfirmed'],
    });
    expect(batches.map(bodiesOfBatch)).toEqual([
      ['{"n":0}', '{"n":1}'],
      ['{"n":0}'],
      ['{"n":0}'],
      ['{"n":0}'],
    ]);
  });
});

describe('entries that SQS rejects permanently', () => {
  it('are not sent again, but others of the batch are', async () => {
    let flaky = 0;
    const { target, batches } = await queueThat((body) => {
      if (body === '{"n":0}') return { fails: 'InvalidMessageContents', senderFault: true };
      if (body === '{"n":1}' && flaky++ === 0) return { fails: 'InternalError', senderFault: false };
      return undefined;
    });
    await expect(sqsIngress(target).publish(bodies(3))).rejects.toMatchObject({
      unsent: 1,
      codes: ['InvalidMessageContents'],
    });
    expect(bodiesIn(batches.slice(1))).toEqual(['{"n":1}']);
  });
});

describe('a request that fails as a whole', () => {
  it('leaves its entries unsent with their cause, and does not stop other batches', async () => {
    const denied = {
      status: 403,
      body: JSON.stringify({ __type: 'com.amazonaws.sqs#AccessDenied', message: 'no' }),
    };
    const { target, batches } = await queueThat(takeAll, denied);
    const failure: unknown = await sqsIngress(target)
      .publish(bodies(12))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'MessagesNotSentError',
      unsent: 12,
      cause: expect.any(Error) as unknown,
    });
    expect(batches).toHaveLength(2);
  });
});

let stub: AwsStub;

beforeEach(async () => {
  stub = await awsStub(() => ({ body: '{}' }));
});
afterEach(() => stub.close());

const returned = async (error: Error, receiveCounts: readonly number[]): Promise<string[]> => {
  const queueUrls = ['retry', 'delivery'].map((name) => `${stub.config.endpoint}/000000000000/${name}`);
  const { returnSooner } = receivedRecords({
    sqs: sqsClient(stub.config),
    queues: queueUrls.map((url) => ({ url })),
    random: () => 0.5,
  });
  for (const receiveCount of receiveCounts) await returnSooner(anSqsRecord('{}', receiveCount), error);
  return queueUrls;
};

it('makes an unfinished message visible at once, however often it was received', async () => {
  await returned(new UnfinishedError(), [1, 20]);
  expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { VisibilityTimeout: 0 },
    { VisibilityTimeout: 0 },
  ]);
});

it('makes a failed message visible on its queue after a delay that grows with each receive', async () => {
  const queueUrls = await returned(new Error('DynamoDB is down'), [1, 3, 20]);

  expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
    [2, 7, 444].map((VisibilityTimeout) => ({
      QueueUrl: queueUrls[1],
      ReceiptHandle: 'receipt',
      VisibilityTimeout,
    })),
  );
});

describe('a message that failed five times while another of its queue succeeded', () => {
  const failing = async (fault: Error, { others = 1, receives = 5, canSend = true } = {}) => {
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
    const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 1_000 };
    for (let index = 0; index < others; index += 1) await handle(anSqsRecord('good', 1), context);
    const outcome = await handle(anSqsRecord('bad', receives), context).then(
      () => 'handled',
      () => 'returned',
    );
    return { outcome, letters, returns, notes };
  };

  it('becomes a dead letter with a reason, and counts as handled', async () => {
    const { outcome, letters, returns, notes } = await failing(new TypeError('no such property'));
    expect(outcome).toBe('handled');
    expect(letters).toMatchObject([{ body: 'bad', reason: 'failed_repeatedly' }]);
    expect(notes).toMatchObject([{ fact: 'dead_lettered', reason: 'failed_repeatedly' }]);
    expect(returns).toEqual([]);
  });

  const serviceFault = (name: string) =>
    new DynamoDBServiceException({ name, $fault: 'client', $metadata: {}, message: name });

  it('does so where AWS refuses what it contains', async () => {
    const fault = new Error('not written', { cause: serviceFault('ValidationException') });
    expect((await failing(fault)).outcome).toBe('handled');
  });

  it.each([
    ['AWS throttles', serviceFault('ProvisionedThroughputExceededException')],
    ['AWS denies the call', serviceFault('AccessDeniedException')],
    [
      'AWS is down, for a part of it',
      new AggregateError([new TypeError('x'), serviceFault('InternalServerError')]),
    ],
    ['nothing answers', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    [
      'a call times out',
      new Error('call', { cause: Object.assign(new Error('x'), { name: 'TimeoutError' }) }),
    ],
    ['writes contend', new ContendedError('delivery')],
    ['it is not finished', new UnfinishedError()],
  ])('comes back where %s', async (_, fault) => {
    expect(await failing(fault)).toMatchObject({ outcome: 'returned', letters: [], returns: [fault] });
  });

  it('comes back while no other message of the queue succeeds', async () => {
    expect(await failing(new TypeError('bug'), { others: 0 })).toMatchObject({
      outcome: 'returned',
      letters: [],
    });
  });

  it('comes back at its fourth failure, and where the dead letter cannot be sent', async () => {
    const fault = new TypeError('bug');
    expect(await failing(fault, { receives: 4 })).toMatchObject({ outcome: 'returned', letters: [] });
    expect(await failing(fault, { canSend: false })).toMatchObject({ outcome: 'returned', returns: [fault] });
  });
});
