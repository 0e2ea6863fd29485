import { AsyncLocalStorage } from 'node:async_hooks';
import type { SendMessageBatchCommandInput, SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
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
import type { StubAnswer } from '../../support/aws-stub.ts';
import { aMessage } from '../../support/builders.ts';
import { inAnyOrder } from '../../support/in-any-order.ts';
import { fault, ok, serviceThat } from './service.ts';

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

/** A queue that decides on every entry of every batch. `waits` are the pauses between rounds. */
const queueThat = async (judge: Judge = () => undefined, broken?: StubAnswer) => {
  const batches: Batch[] = [];
  const waits: number[] = [];
  const { config } = await serviceThat(({ body }, index) => {
    const batch = batchSchema.parse(JSON.parse(body));
    batches.push(batch);
    return broken ?? ok(judged(batch.Entries, judge, index));
  });
  const target = {
    sqs: sqsClient(config),
    queueUrl: 'https://sqs.test/000000000000/delivery',
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
    expect(inAnyOrder(sent)).toEqual(inAnyOrder(jobs.map((value) => ({ ok: true, value }))));
    expect(waits).toEqual([]);
  });

  it('are grouped by subscription and delayed as requested', async () => {
    const { target, batches } = await queueThat();
    const queue = sqsDeliveryQueue(target);
    for (const delay of [undefined, 5, 900]) await queue.send([jobFor('s-1')], delay);
    const entries = batches.flatMap(({ Entries }) => Entries);
    expect(entries.map((entry) => entry.MessageGroupId)).toEqual(['s-1', 's-1', 's-1']);
    expect(entries.map((entry) => entry.DelaySeconds)).toEqual([0, 5, 900]);
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
    await sqsIngress(target).publish([{ body: '1', attributes: { queue: 'orders' } }]);
    expect(batches[0]?.Entries[0]).toEqual({
      Id: '0',
      MessageBody: '1',
      MessageAttributes: { queue: { DataType: 'String', StringValue: 'orders' } },
    });
  });

  it('escapes the two characters that SQS rejects, which does not change the JSON', async () => {
    const { target, batches } = await queueThat();
    await sqsIngress(target).publish([{ body: '"a\uffff\ufffeb\u{1f600}"' }]);
    expect(bodiesIn(batches)).toEqual(['"a\\uffff\\ufffeb\u{1f600}"']);
  });
});

const unsentOf = (counts: string, code: string): string =>
  `${counts} messages could not be sent to delivery: ${code}`;

describe('entries that SQS does not accept', () => {
  it('are sent again after a jittered wait that doubles, the others are not', async () => {
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
    const { target, batches, waits } = await queueThat((body) => (body === '{"n":1}' ? INTERNAL : undefined));
    await expect(sqsIngress(target).publish(bodies(3))).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      message: '1 of 3 messages could not be sent to delivery: InternalError',
    });
    expect(sizesOf(batches)).toEqual([3, 1, 1, 1]);
    expect(waits).toHaveLength(3);
  });

  it('fail with their codes, before a wait that there is no time for', async () => {
    const { target, batches, waits } = await queueThat(() => INTERNAL);
    // Half of 100 ms for the wait, and half a second for the request.
    const publish = (remaining: number) =>
      sqsIngress({ ...target, deadline: { remainingMs: () => remaining } }).publish(bodies(1));
    const failure = { name: 'MessagesNotSentError', message: unsentOf('1 of 1', 'InternalError') };
    await expect(publish(549)).rejects.toMatchObject(failure);
    expect(batches).toHaveLength(1);
    expect(waits).toEqual([]);
    await expect(publish(550)).rejects.toMatchObject(failure);
    expect(waits).toEqual([50]);
  });

  it('are sent again if it did not confirm them, and fail with NotConfirmed if that does not help', async () => {
    const { target, batches } = await queueThat(undefined, ok({ Successful: [{ Id: '1' }] }));
    const failure = { message: unsentOf('1 of 2', 'NotConfirmed') };
    await expect(sqsIngress(target).publish(bodies(2))).rejects.toMatchObject(failure);
    expect(bodiesIn(batches)).toEqual(['{"n":0}', '{"n":1}', '{"n":0}', '{"n":0}', '{"n":0}']);
  });

  it('are not sent again if it rejected them permanently, but others of the batch are', async () => {
    const { target, batches } = await queueThat((body, batch) => {
      if (body === '{"n":0}') return INVALID;
      return body === '{"n":1}' && batch === 0 ? INTERNAL : undefined;
    });
    const failure = { message: unsentOf('1 of 3', 'InvalidMessageContents') };
    await expect(sqsIngress(target).publish(bodies(3))).rejects.toMatchObject(failure);
    expect(bodiesIn(batches.slice(1))).toEqual(['{"n":1}']);
  });

  it('fail with the cause if the whole request failed, which does not stop other batches', async () => {
    const { target, batches } = await queueThat(undefined, fault(403, 'AccessDenied'));
    const failure = {
      name: 'MessagesNotSentError',
      message: unsentOf('12 of 12', 'AccessDenied'),
      cause: expect.any(Error) as unknown,
    };
    await expect(sqsIngress(target).publish(bodies(12))).rejects.toMatchObject(failure);
    expect(batches).toHaveLength(2);
  });
});

/** A queue whose requests wait until the test answers them or lets them fail. */
const heldQueue = (judge: Judge) => {
  const requests: { bodies: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const sqs = Object.assign(sqsClient(), {
    sendMessageBatch: ({ Entries = [] }: SendMessageBatchCommandInput) =>
      new Promise((resolve, reject) => {
        const answered = judged(Entries, judge, requests.length);
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

const names = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

describe('joined messages for a queue', () => {
  let judge: Judge;
  let requests: ReturnType<typeof heldQueue>['requests'];
  let answer: ReturnType<typeof heldQueue>['answer'];
  let send: ReturnType<typeof heldQueue>['send'];
  beforeEach(() => {
    judge = () => undefined;
    ({ requests, answer, send } = heldQueue((...asked) => judge(...asked)));
  });
  const requested = () => requests.map((request) => request.bodies);

  it('are sent at once if no request is in flight; those that arrive during one go with the next one, ten to a request', async () => {
    const sends = names(13).map((body) => send(body));
    expect(requests).toHaveLength(1);
    await answer(0);
    expect(requested()).toEqual([['0'], names(13).slice(1, 11), names(13).slice(11)]);
    for (const request of requests) request.answer();
    await Promise.all(sends);
  });

  it('are reported as sent when their request is answered, and not earlier', async () => {
    const done: string[] = [];
    for (const body of ['a', 'b']) void send(body).then(() => done.push(body));
    await answer(0);
    expect(done).toEqual(['a']);
    await answer(1);
    expect(done).toEqual(['a', 'b']);
  });

  it('do not wait for a request that hangs', async () => {
    void send('hangs');
    const next = send('b', 'c');
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.answer();
    await next;
    expect(requested()).toEqual([['hangs'], ['b', 'c']]);
  });

  it('that fill complete requests are sent separately at once', () => {
    void send(...names(20));
    void send('one');
    expect(requested().map(({ length }) => length)).toEqual([10, 10, 1]);
  });

  it('make no request for an empty list', async () => {
    await send();
    expect(requests).toEqual([]);
  });

  it('are sent in the context of their invocation, even after waiting for a request of another one', async () => {
    const invocation = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    judge = () => void seen.push(invocation.getStore());
    void invocation.run('first', () => send('a'));
    const second = invocation.run('second', () => send('b'));
    await answer(0);
    requests[1]?.answer();
    await second;
    expect(seen).toEqual(['first', 'second']);
  });

  it('report a failure to its sender only, and the other messages are sent', async () => {
    judge = (body) => (body.startsWith('bad') ? INVALID : undefined);
    const outcomes = Promise.allSettled([send('first'), send('a'), send('bad-1', 'b', 'bad-2'), send('c')]);
    await answer(0);
    expect(requests[1]?.bodies).toEqual(['a', 'bad-1', 'b', 'bad-2', 'c']);
    requests[1]?.answer();
    const message = '2 of 3 messages could not be sent to retry: InvalidMessageContents';
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'fulfilled' },
      { status: 'rejected', reason: { name: 'MessagesNotSentError', message } },
      { status: 'fulfilled' },
    ]);
  });

  it('are not delayed by the repetition of another one', async () => {
    judge = (body, request) => (body === 'busy' && request < 3 ? INTERNAL : undefined);
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

  it('report the failure of a whole request to all its senders, and later ones are sent', async () => {
    const outcomes = Promise.allSettled([send('first'), send('a'), send('b')]);
    await answer(0);
    requests[1]?.fail(new Error('no'));
    const reason = { message: '1 of 1 messages could not be sent to retry: Error', cause: { message: 'no' } };
    expect(await outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    const after = send('after');
    await expect.poll(() => requests.length).toBe(3);
    requests[2]?.answer();
    await after;
  });
});

const operation: Operation = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 };

const operationsAnswered = async (answer: StubAnswer) => {
  const { config, sent } = await serviceThat(answer);
  return { operations: sqsOperations(sqsClient(config), 'https://sqs.test/operation'), sent };
};

describe('an operation by SQS', () => {
  it('goes to the operation queue, at once or delayed, grouped by its queue', async () => {
    const { sent, operations } = await operationsAnswered(ok({ MessageId: '1' }));
    await operations.send(operation);
    await operations.send(operation, 120);
    expect(sent()).toEqual(
      [0, 120].map((DelaySeconds) => ({
        QueueUrl: 'https://sqs.test/operation',
        MessageBody: encodeOperation(operation),
        DelaySeconds,
        MessageGroupId: 'orders',
      })),
    );
  });

  it('that could not be sent is an error', async () => {
    const { operations } = await operationsAnswered(fault(500, 'InternalError'));
    await expect(operations.send(operation)).rejects.toThrow('from the test');
  });

  it.each([{}, { MessageId: null }])('that SQS does not confirm is an error: %j', async (answer) => {
    const { operations } = await operationsAnswered(ok(answer));
    await expect(operations.send(operation)).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      message: expect.stringMatching(/: NotConfirmed$/) as unknown,
    });
  });
});

const depthRequest = z.object({ QueueUrl: z.string(), AttributeNames: z.array(z.string()) });

describe('the depths of queues', () => {
  /** Of two queues, from an SQS with an answer for each. */
  const depths = async (answers: { ingress: StubAnswer; retry: StubAnswer }) => {
    const { config } = await serviceThat(({ body }) =>
      depthRequest.parse(JSON.parse(body)).QueueUrl.endsWith('ingress') ? answers.ingress : answers.retry,
    );
    const urls = { ingress: 'https://sqs.test/ingress', retry: 'https://sqs.test/retry' };
    return sqsQueueDepths(sqsClient(config), urls).approximate();
  };

  it('count visible and in-flight messages, and delayed ones separately', async () => {
    const Attributes = {
      ApproximateNumberOfMessages: '1',
      ApproximateNumberOfMessagesDelayed: '20',
      ApproximateNumberOfMessagesNotVisible: '300',
    };
    expect(await depths({ ingress: ok({ Attributes }), retry: ok({}) })).toEqual({
      ingress: { waiting: 301, delayed: 20 },
      retry: { waiting: 0, delayed: 0 },
    });
  });

  it('are not returned if one queue cannot be read', async () => {
    await expect(depths({ ingress: ok({}), retry: { status: 403 } })).rejects.toThrow();
  });
});
