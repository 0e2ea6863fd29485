import { AsyncLocalStorage } from 'node:async_hooks';
import type { SendMessageBatchCommandInput, SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { MessagesNotSentError } from '../../../shared/adapters/sqs/batches.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { joinedSends } from '../../../shared/adapters/sqs/joined-sends.ts';
import {
  sqsDeliveryQueue,
  sqsIngress,
  sqsOperations,
  sqsQueueDepths,
} from '../../../shared/adapters/sqs/queues.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import { parseWork } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';
import { aMessage } from '../../support/builders.ts';

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
type Entry = Pick<SendMessageBatchRequestEntry, 'Id' | 'MessageBody'>;
/** Why SQS refuses an entry, if it does. */
type Judge = (body: string, batch: number) => { Code: string; SenderFault: boolean } | undefined;

const INTERNAL = { Code: 'InternalError', SenderFault: false };
const INVALID = { Code: 'InvalidMessageContents', SenderFault: true };

const judged = (entries: readonly Entry[], judge: Judge, batch = 0) => {
  const verdicts = entries.map(({ Id, MessageBody = '' }) => ({ Id, refused: judge(MessageBody, batch) }));
  return {
    Successful: verdicts.flatMap(({ Id, refused }) => (refused === undefined ? [{ Id, MessageId: Id }] : [])),
    Failed: verdicts.flatMap(({ Id, refused }) => (refused === undefined ? [] : [{ Id, ...refused }])),
  };
};

const sqsThat = async (answer: (request: StubRequest) => StubAnswer) => {
  const stub = await awsStub(answer);
  onTestFinished(stub.close);
  const requests = () => stub.requests.map(({ body }) => JSON.parse(body) as unknown);
  return {
    sqs: sqsClient(stub.config),
    urlOf: (name: string) => `${stub.config.endpoint}/0/${name}`,
    requests,
  };
};

/** A queue that decides on every entry of every batch. `waits` are the pauses between rounds. */
const queueThat = async (judge: Judge = () => undefined, broken?: StubAnswer) => {
  const batches: Batch[] = [];
  const waits: number[] = [];
  const { sqs, urlOf } = await sqsThat(({ body }) => {
    const batch = batchSchema.parse(JSON.parse(body));
    const index = batches.push(batch) - 1;
    return broken ?? { body: JSON.stringify(judged(batch.Entries, judge, index)) };
  });
  const target = {
    sqs,
    queueUrl: urlOf('delivery'),
    sleep: (milliseconds: number) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
    random: () => 0.5,
  };
  return { target, batches, waits };
};

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
    const { target, batches, waits } = await queueThat();
    const jobs = Array.from({ length: 43 }, (_, index) => jobFor(`s-${index}`));
    await sqsDeliveryQueue(target).send(jobs);
    expect(sizesOf(batches)).toEqual([10, 10, 10, 10, 3]);
    const sent = bodiesIn(batches).map(parseWork);
    expect(sent).toHaveLength(43);
    expect(sent).toEqual(expect.arrayContaining(jobs.map((value) => ({ ok: true, value }))));
    expect(waits).toEqual([]);
  });

  it('are grouped by subscription and delayed as requested, rounded up and limited to 900 s', async () => {
    const { target, batches } = await queueThat();
    const queue = sqsDeliveryQueue(target);
    for (const delay of [undefined, 4.2, -3, 10_000]) await queue.send([jobFor('s-1')], delay);
    const entries = batches.flatMap(({ Entries }) => Entries);
    expect(entries.map((entry) => entry.MessageGroupId)).toEqual(['s-1', 's-1', 's-1', 's-1']);
    expect(entries.map((entry) => entry.DelaySeconds)).toEqual([0, 5, 0, 900]);
  });

  it('make no request for an empty list', async () => {
    const { target, batches } = await queueThat();
    await sqsDeliveryQueue(target).send([]);
    expect(batches).toEqual([]);
  });
});

describe('a batch', () => {
  it('contains at most 1 MiB, including attributes, in UTF-8 bytes', async () => {
    const { target, batches } = await queueThat();
    const half = `"${'é'.repeat(262_143)}"`;
    const exactly = (attributes: Record<string, string>) => [{ body: half }, { body: half, attributes }];
    await sqsIngress(target).publish(exactly({}));
    expect(sizesOf(batches.splice(0))).toEqual([2]);
    await sqsIngress(target).publish(exactly({ queue: 'orders' }));
    expect(sizesOf(batches)).toEqual([1, 1]);
  });

  it('sends attributes as strings', async () => {
    const { target, batches } = await queueThat();
    await sqsIngress(target).publish([{ body: '1', attributes: { queue: 'orders' }, delaySeconds: 7 }]);
    expect(batches[0]?.Entries[0]).toEqual({
      Id: '0',
      MessageBody: '1',
      DelaySeconds: 7,
      MessageAttributes: { queue: { DataType: 'String', StringValue: 'orders' } },
    });
  });

  it('escapes the two characters that SQS rejects, which does not change the JSON', async () => {
    const { target, batches } = await queueThat();
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
      return isFlaky && round < 4 ? INTERNAL : undefined;
    });
    await sqsIngress(target).publish(bodies(20));
    expect(sizesOf(batches)).toEqual([10, 10, 2, 2, 2]);
    expect(waits).toEqual([50, 100, 200]);
    expect([...rounds.values()].filter((count) => count > 1)).toEqual([4, 4]);
  });

  it('fail after four rounds with an error that counts them', async () => {
    const { target, batches, waits } = await queueThat((body) =>
      body === '{"n":1}' ? { Code: 'ServiceUnavailable', SenderFault: false } : undefined,
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
    const { target, batches, waits } = await queueThat(() => INTERNAL);
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
    const { target, batches } = await queueThat(undefined, {
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
      if (body === '{"n":0}') return INVALID;
      if (body === '{"n":1}' && flaky++ === 0) return INTERNAL;
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
    const denied = '{"__type":"com.amazonaws.sqs#AccessDenied","message":"no"}';
    const { target, batches } = await queueThat(undefined, { status: 403, body: denied });
    await expect(sqsIngress(target).publish(bodies(12))).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      unsent: 12,
      cause: expect.any(Error) as unknown,
    });
    expect(batches).toHaveLength(2);
  });
});

/** A queue whose requests wait until the test answers them or lets them fail. */
const heldQueue = (judge: Judge = () => undefined) => {
  const requests: { bodies: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const sqs = Object.assign(sqsClient(), {
    sendMessageBatch: ({ Entries = [] }: SendMessageBatchCommandInput) =>
      new Promise((resolve, reject) => {
        const answered = judged(Entries, judge);
        requests.push({
          bodies: Entries.map(({ MessageBody = '' }) => MessageBody),
          answer: () => {
            resolve(answered);
          },
          fail: reject,
        });
      }),
  });
  const send = joinedSends({
    sqs,
    queueUrl: 'https://sqs.test/000000000000/retry',
    sleep: () => Promise.resolve(),
    random: () => 0,
  });
  /** Answers a request, and waits for everything that is then ready to run, except timers. */
  const answer = (index: number) => {
    requests[index]?.answer();
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { requests, answer, send: (...bodies: string[]) => send(bodies.map((body) => ({ body }))) };
};

const names = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('joined messages for a queue', () => {
  it('are sent at once if no request is in flight', () => {
    const { requests, send } = heldQueue();
    void send('a');
    expect(requests.map(({ bodies }) => bodies)).toEqual([['a']]);
  });

  it('that arrive during a request go with the next one, ten to a request', async () => {
    const { requests, answer, send } = heldQueue();
    const sends = names(13).map((body) => send(body));
    expect(requests).toHaveLength(1);
    await answer(0);
    expect(requests.map(({ bodies }) => bodies)).toEqual([
      ['0'],
      names(13).slice(1, 11),
      names(13).slice(11),
    ]);
    for (const request of requests) request.answer();
    await Promise.all(sends);
  });

  it('are reported as sent when their request is answered, and not earlier', async () => {
    const { answer, send } = heldQueue();
    const done: string[] = [];
    for (const body of ['a', 'b']) void send(body).then(() => done.push(body));
    await answer(0);
    expect(done).toEqual(['a']);
    await answer(1);
    expect(done).toEqual(['a', 'b']);
  });

  it('do not wait for a request that hangs', async () => {
    const { requests, send } = heldQueue();
    void send('hangs');
    const next = send('b', 'c');
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.answer();
    await next;
    expect(requests.map(({ bodies }) => bodies)).toEqual([['hangs'], ['b', 'c']]);
  });

  it('that fill complete requests are sent separately at once', () => {
    const { requests, send } = heldQueue();
    void send(...names(20, 'many-'));
    void send('one');
    expect(requests.map(({ bodies }) => bodies.length)).toEqual([10, 10, 1]);
  });

  it('make no request for an empty list', async () => {
    const { requests, send } = heldQueue();
    await send();
    expect(requests).toEqual([]);
  });
});

describe('messages of one invocation', () => {
  it('are sent in the context of that invocation, even after waiting for a request of another one', async () => {
    const invocation = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { requests, answer, send } = heldQueue(() => {
      seen.push(invocation.getStore());
      return undefined;
    });
    void invocation.run('first', () => send('a'));
    const second = invocation.run('second', () => send('b'));
    await answer(0);
    requests[1]?.answer();
    await second;
    expect(seen).toEqual(['first', 'second']);
  });
});

describe('a failure among joined messages', () => {
  it('is reported to its sender only, and the other messages are sent', async () => {
    const { requests, answer, send } = heldQueue((body) => (body.startsWith('bad') ? INVALID : undefined));
    const sends = [send('first'), send('a'), send('bad-1', 'b', 'bad-2'), send('c')];
    const outcomes = Promise.allSettled(sends);
    await answer(0);
    expect(requests[1]?.bodies).toEqual(['a', 'bad-1', 'b', 'bad-2', 'c']);
    requests[1]?.answer();
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'fulfilled' },
      {
        status: 'rejected',
        reason: {
          name: 'MessagesNotSentError',
          unsent: 2,
          message: '2 of 3 messages could not be sent to retry: InvalidMessageContents',
        },
      },
      { status: 'fulfilled' },
    ]);
  });

  it('that is retried delays no other sender', async () => {
    let tries = 0;
    const { requests, answer, send } = heldQueue((body) => {
      if (body !== 'busy') return undefined;
      tries += 1;
      return tries < 3 ? INTERNAL : undefined;
    });
    const done: string[] = [];
    const sends = ['first', 'busy', 'a'].map(async (body) => {
      await send(body);
      done.push(body);
    });
    await answer(0);
    await answer(1);
    expect(done).toEqual(['first', 'a']);
    expect(requests[2]?.bodies).toEqual(['busy']);
    await answer(2);
    requests[3]?.answer();
    await Promise.all(sends);
    expect(done).toEqual(['first', 'a', 'busy']);
  });

  it('of the whole request is reported to all its senders, and later messages are sent', async () => {
    const { requests, answer, send } = heldQueue();
    const outcomes = Promise.allSettled([send('first'), send('a'), send('b')]);
    await answer(0);
    requests[1]?.fail(new Error('no'));
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { unsent: 1, cause: { message: 'no' } } },
      { status: 'rejected', reason: { unsent: 1, cause: { message: 'no' } } },
    ]);
    const after = send('after');
    await expect.poll(() => requests.length).toBe(3);
    requests[2]?.answer();
    await after;
  });
});

const operation: Operation = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 };

const operationsAnswered = async (answer: StubAnswer) => {
  const { sqs, urlOf, requests } = await sqsThat(() => answer);
  const queueUrl = urlOf('operation');
  return { operations: sqsOperations(sqs, queueUrl), queueUrl, requests };
};

describe('an operation by SQS', () => {
  it('goes to the operation queue, at once or delayed, grouped by its queue', async () => {
    const { requests, queueUrl, operations } = await operationsAnswered({ body: '{"MessageId":"1"}' });
    await operations.send(operation);
    await operations.send(operation, 120);
    expect(requests()).toEqual(
      [0, 120].map((DelaySeconds) => ({
        QueueUrl: queueUrl,
        MessageBody: encodeOperation(operation),
        DelaySeconds,
        MessageGroupId: 'orders',
      })),
    );
  });

  it('that could not be sent is an error', async () => {
    const { operations } = await operationsAnswered({
      status: 500,
      headers: { 'x-amzn-errortype': 'InternalError', 'content-type': 'application/json' },
      body: JSON.stringify({ Message: 'from the test' }),
    });
    await expect(operations.send(operation)).rejects.toThrow('from the test');
  });

  it.each([{}, { MessageId: null }])('that SQS does not confirm is an error: %j', async (answer) => {
    const { operations } = await operationsAnswered({ body: JSON.stringify(answer) });
    await expect(operations.send(operation)).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      codes: ['NotConfirmed'],
    });
  });
});

const depthRequest = z.object({ QueueUrl: z.string(), AttributeNames: z.array(z.string()) });

/** Depths of two queues, from an SQS with an answer for each URL. */
const depths = async (answers: Record<string, StubAnswer>) => {
  const { sqs, requests } = await sqsThat(
    ({ body }) => answers[depthRequest.parse(JSON.parse(body)).QueueUrl] ?? { status: 500 },
  );
  const urls = { ingress: 'https://sqs.test/in', retry: 'https://sqs.test/re' };
  return { queues: sqsQueueDepths(sqs, urls), requests };
};

const attributes = (Attributes?: Record<string, string>): StubAnswer => ({
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ Attributes }),
});

describe('the depths of queues', () => {
  it('count visible and in-flight messages, and delayed ones separately', async () => {
    const { queues, requests } = await depths({
      'https://sqs.test/in': attributes({
        ApproximateNumberOfMessages: '1',
        ApproximateNumberOfMessagesDelayed: '20',
        ApproximateNumberOfMessagesNotVisible: '300',
      }),
      'https://sqs.test/re': attributes(),
    });
    expect(await queues.approximate()).toEqual({
      ingress: { waiting: 301, delayed: 20 },
      retry: { waiting: 0, delayed: 0 },
    });
    expect(requests()).toHaveLength(2);
  });

  it('are not returned if one queue cannot be read', async () => {
    const { queues } = await depths({
      'https://sqs.test/in': attributes(),
      'https://sqs.test/re': { status: 403 },
    });
    await expect(queues.approximate()).rejects.toThrow();
  });
});
