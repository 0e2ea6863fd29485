import { AsyncLocalStorage } from 'node:async_hooks';
import type { SendMessageBatchCommandInput } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { joinedSends } from '../../../shared/adapters/sqs/joined-sends.ts';

type Failed = { Id: string; Code: string; SenderFault: boolean };
type Verdict = (body: string) => { Code: string; SenderFault: boolean } | undefined;

/** A queue whose requests wait until the test answers them or lets them fail. */
const queueThat = (verdict: Verdict = () => undefined) => {
  const requests: { bodies: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const sqs = Object.assign(sqsClient(), {
    sendMessageBatch: ({ Entries = [] }: SendMessageBatchCommandInput) =>
      new Promise((resolve, reject) => {
        const Failed = Entries.flatMap(({ Id = '', MessageBody = '' }): Failed[] => {
          const failed = verdict(MessageBody);
          return failed === undefined ? [] : [{ Id, ...failed }];
        });
        const failed = new Set(Failed.map(({ Id }) => Id));
        const Successful = Entries.map(({ Id = '' }) => ({ Id })).filter(({ Id }) => !failed.has(Id));
        requests.push({
          bodies: Entries.map(({ MessageBody = '' }) => MessageBody),
          answer: () => {
            resolve({ Successful, Failed });
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
  return { requests, send: (...bodies: string[]) => send(bodies.map((body) => ({ body }))) };
};

/** Waits for everything that is ready to run, except timers. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const names = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('joined messages for a queue', () => {
  it('are sent at once if no request is in flight', () => {
    const { requests, send } = queueThat();
    void send('a');
    expect(requests.map(({ bodies }) => bodies)).toEqual([['a']]);
  });

  it('that arrive during a request go with the next one, ten to a request', async () => {
    const { requests, send } = queueThat();
    const sends = names(13).map((body) => send(body));
    expect(requests).toHaveLength(1);
    requests[0]?.answer();
    await settled();
    expect(requests.map(({ bodies }) => bodies)).toEqual([
      ['0'],
      names(13).slice(1, 11),
      names(13).slice(11),
    ]);
    for (const { answer } of requests) answer();
    await Promise.all(sends);
  });

  it('are reported as sent when their request is answered, and not earlier', async () => {
    const { requests, send } = queueThat();
    const done: string[] = [];
    for (const body of ['a', 'b']) void send(body).then(() => done.push(body));
    requests[0]?.answer();
    await settled();
    expect(done).toEqual(['a']);
    requests[1]?.answer();
    await settled();
    expect(done).toEqual(['a', 'b']);
  });

  it('do not wait for a request that hangs', async () => {
    const { requests, send } = queueThat();
    void send('hangs');
    const next = send('b', 'c');
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.answer();
    await next;
    expect(requests.map(({ bodies }) => bodies)).toEqual([['hangs'], ['b', 'c']]);
  });

  it('that fill complete requests are sent separately at once', () => {
    const { requests, send } = queueThat();
    void send(...names(20, 'many-'));
    void send('one');
    expect(requests.map(({ bodies }) => bodies.length)).toEqual([10, 10, 1]);
  });

  it('make no request for an empty list', async () => {
    const { requests, send } = queueThat();
    await send();
    expect(requests).toEqual([]);
  });
});

describe('messages of one invocation', () => {
  it('are sent in the context of that invocation, even after waiting for a request of another one', async () => {
    const invocation = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { requests, send } = queueThat(() => {
      seen.push(invocation.getStore());
      return undefined;
    });
    void invocation.run('first', () => send('a'));
    const second = invocation.run('second', () => send('b'));
    requests[0]?.answer();
    await settled();
    requests[1]?.answer();
    await second;
    expect(seen).toEqual(['first', 'second']);
  });
});

describe('a failure among joined messages', () => {
  it('is reported to its sender only, and the other messages are sent', async () => {
    const refused = { Code: 'InvalidMessageContents', SenderFault: true };
    const { requests, send } = queueThat((body) => (body.startsWith('bad') ? refused : undefined));
    const sends = [send('first'), send('a'), send('bad-1', 'b', 'bad-2'), send('c')];
    const outcomes = Promise.allSettled(sends);
    requests[0]?.answer();
    await settled();
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
    const { requests, send } = queueThat((body) => {
      if (body !== 'busy') return undefined;
      tries += 1;
      return tries < 3 ? { Code: 'InternalError', SenderFault: false } : undefined;
    });
    const done: string[] = [];
    const sends = ['first', 'busy', 'a'].map(async (body) => {
      await send(body);
      done.push(body);
    });
    requests[0]?.answer();
    await settled();
    requests[1]?.answer();
    await settled();
    expect(done).toEqual(['first', 'a']);
    expect(requests[2]?.bodies).toEqual(['busy']);
    requests[2]?.answer();
    await settled();
    requests[3]?.answer();
    await Promise.all(sends);
    expect(done).toEqual(['first', 'a', 'busy']);
  });

  it('of the whole request is reported to all its senders, and later messages are sent', async () => {
    const { requests, send } = queueThat();
    const outcomes = Promise.allSettled([send('first'), send('a'), send('b')]);
    requests[0]?.answer();
    await settled();
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
