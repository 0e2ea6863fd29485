import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../support/receiver.ts';
import { startRawServer } from './raw-server.ts';

const DEADLINE_MS = 3_000;
const OK = { kind: 'answered', statusCode: 200 };

const subscriberWith = (options: Partial<HttpSenderOptions> = {}): Subscriber =>
  httpSubscriber({ allowedAddresses: ['127.0.0.0/8', '::1/128'], ...options });
const postTo = (subscriber: Subscriber, url: string, timeoutMs = DEADLINE_MS) =>
  subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, timeoutMs);

const withoutAnswer: HttpSenderOptions['resolve'] = (_name, signal) => pause(60_000, [], { signal });

/** Ends the server's side; the client may not have read the FIN or RST that its system received. */
const endWith = async (how: 'destroy' | 'resetAndDestroy', socket: Socket | undefined): Promise<void> => {
  if (socket !== undefined) await once(socket[how](), 'close');
};

describe('connections to subscribers', () => {
  const receiverOf = async (options?: ReceiverOptions): Promise<Receiver> => {
    const receiver = await startReceiver(options);
    onTestFinished(receiver.close);
    return receiver;
  };
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are reused by the next request', async () => {
    const receiver = await receiverOf();
    const subscriber = subscriberWith();
    for (let count = 0; count < 5; count += 1) expect(await postTo(subscriber, receiver.url())).toEqual(OK);
    expect(receiver.connections()).toBe(1);
  });

  it('are not reused after 2 s idle by the clock, even if no timer has run', async () => {
    const receiver = await receiverOf();
    let now = 1_000_000;
    const subscriber = subscriberWith({ now: () => now });
    await postTo(subscriber, receiver.url());
    now += 1_999;
    await postTo(subscriber, receiver.url());
    expect(receiver.connections()).toBe(1);
    now += 2_000;
    await postTo(subscriber, receiver.url());
    expect(receiver.connections()).toBe(2);
  });

  it('are not reused if the clock has gone back', async () => {
    const receiver = await receiverOf();
    let now = 1_000_000;
    const subscriber = subscriberWith({ now: () => now });
    await postTo(subscriber, receiver.url());
    now -= 1;
    await postTo(subscriber, receiver.url());
    expect(receiver.connections()).toBe(2);
  });

  it('carry one request at a time, so that requests do not wait for one that hangs', async () => {
    const receiver = await receiverOf();
    receiver.script('/hang', [{ behaviour: 'hang' }]);
    const subscriber = subscriberWith();
    const hanging = postTo(subscriber, receiver.url('/hang'));
    await receiver.waitFor('/hang', 1, DEADLINE_MS);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => postTo(subscriber, receiver.url('/'))),
    );
    expect(replies).toEqual(replies.map(() => OK));
    await receiver.close();
    expect(await hanging).toMatchObject({ error: 'connection_reset' });
  });

  it.each(['stall', 'drip', 'endless', 'hang', 'slow_headers'] as const)(
    'are closed after a response that misbehaves (%s)',
    async (behaviour) => {
      const receiver = await receiverOf();
      receiver.script('/', [{ behaviour }, {}]);
      const subscriber = subscriberWith();
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const misbehaved = postTo(subscriber, receiver.url());
      await turnsUntil(() => receiver.received().length === 1);
      await vi.advanceTimersByTimeAsync(DEADLINE_MS);
      await misbehaved;
      vi.useRealTimers();
      expect(await postTo(subscriber, receiver.url())).toEqual(OK);
      expect(receiver.connections()).toBe(2);
      await turnsUntil(() => receiver.received()[0]?.connection.closedAt !== undefined);
    },
  );

  it('that were closed are dropped: the next request makes one look-up and fails once', async () => {
    const receiver = await startReceiver();
    receiver.script('/', [{ headers: { connection: 'close' } }]);
    const asked: string[] = [];
    const subscriber = subscriberWith({
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const url = `http://once.example:${new URL(receiver.url()).port}/`;
    expect(await postTo(subscriber, url)).toEqual(OK);
    await receiver.close();
    expect(await postTo(subscriber, url)).toMatchObject({ error: 'connection_refused' });
    expect(asked).toHaveLength(2);
  });

  it('that a server closes or resets while idle cause no failure', async () => {
    const server = await startRawServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    onTestFinished(server.close);
    const { connections, url } = server;
    const subscriber = subscriberWith();
    expect(await postTo(subscriber, url)).toEqual(OK);
    await endWith('destroy', connections[0]);
    expect(await postTo(subscriber, url)).toEqual(OK);
    await endWith('resetAndDestroy', connections[1]);
    expect(await postTo(subscriber, url)).toEqual(OK);
    expect(connections).toHaveLength(3);
  });

  it('respect a keep-alive shorter than the sender\'s, and "connection: close"', async () => {
    const receiver = await receiverOf();
    receiver.script('/', [
      { headers: { 'keep-alive': 'timeout=1' } },
      { headers: { connection: 'close' } },
      {},
    ]);
    const subscriber = subscriberWith();
    for (let count = 0; count < 3; count += 1) expect(await postTo(subscriber, receiver.url())).toEqual(OK);
    expect(receiver.connections()).toBe(3);
  });

  it('stay bounded for many origins', async () => {
    const receiver = await receiverOf();
    const { port } = new URL(receiver.url());
    const subscriber = subscriberWith({
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    for (let origin = 0; origin < 300; origin += 1) {
      expect(await postTo(subscriber, `http://origin-${origin}.example:${port}/`)).toEqual(OK);
    }
    expect(await receiver.openConnections()).toBeLessThanOrEqual(110);
    await postTo(subscriber, `http://origin-299.example:${port}/`);
    expect(receiver.connections()).toBe(300);
  });

  it('use the second address of a name if the first refuses', async () => {
    const receiver = await receiverOf();
    const { port } = new URL(receiver.url());
    const subscriber = subscriberWith({
      resolve: () =>
        Promise.resolve([
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ]),
    });
    expect(await postTo(subscriber, `http://both.example:${port}/`)).toEqual(OK);
  });

  it('report a refusal if every address of a name refuses', async () => {
    const receiver = await startReceiver();
    const { port } = new URL(receiver.url());
    await receiver.close();
    const subscriber = subscriberWith({
      resolve: () =>
        Promise.resolve([
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ]),
    });
    expect(await postTo(subscriber, `http://both.example:${port}/`)).toEqual({
      kind: 'unanswered',
      error: 'connection_refused',
      detail: 'refused',
    });
  });

  it.each([
    ['until the deadline', 200, 200],
    ['for at most 5 s, even if the deadline is later', 15_000, 5_000],
  ])('are awaited %s if DNS does not answer', async (_, timeoutMs, endsAfterMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const subscriber = subscriberWith({ resolve: withoutAnswer });
    const replies: Reply[] = [];
    const posted = postTo(subscriber, 'http://mute.example/', timeoutMs).then((reply) => replies.push(reply));
    await vi.advanceTimersByTimeAsync(endsAfterMs - 1);
    expect(replies).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await posted;
    expect(replies).toEqual([
      { kind: 'unanswered', error: 'timeout', detail: 'while the name was resolved' },
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('do not keep the process running', async () => {
    const receiver = await receiverOf();
    const adapter = new URL('../../../shared/adapters/http/subscriber.ts', import.meta.url);
    const program = `
      const { httpSubscriber } = await import(${JSON.stringify(adapter.href)});
      const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
      const reply = await subscriber.post({ url: '${receiver.url()}', headers: {}, body: Buffer.from('') }, 10_000);
      process.stdout.write(JSON.stringify(reply));
      setTimeout(() => process.stdout.write('kept alive'), 1_000).unref();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout).toContain('"statusCode":200');
    expect(stdout).not.toContain('kept alive');
  });

  it.each([
    [
      'refuses the name',
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
      'ENOTFOUND',
    ],
    ['has no address', () => Promise.resolve([]), 'unknown'],
  ])('fail with dns_failed if DNS %s', async (_what, resolve, detail) => {
    const reply = await postTo(subscriberWith({ resolve }), 'http://nowhere.example/');
    expect(reply).toEqual({ kind: 'unanswered', error: 'dns_failed', detail });
  });

  it('go to a receiver on localhost only if loopback is allowed', async () => {
    const receiver = await receiverOf();
    const url = receiver.url().replace('127.0.0.1', 'localhost');
    expect(await postTo(subscriberWith(), url)).toEqual(OK);
    expect(await postTo(httpSubscriber({ allowedAddresses: [] }), url)).toEqual({ kind: 'forbidden' });
  });
});
