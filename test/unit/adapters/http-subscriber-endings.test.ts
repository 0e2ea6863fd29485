import { setTimeout as pause } from 'node:timers/promises';

import { afterEach, describe, expect, it } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type RawServer, startRawServer } from './raw-server.ts';

const DEADLINE_MS = 3_000;
const OK: Reply = { kind: 'answered', statusCode: 200 };
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

const sender = (): Subscriber => httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
const postTo = (subscriber: Subscriber, url: string, body = '{}', timeoutMs = DEADLINE_MS): Promise<Reply> =>
  subscriber.post({ url, headers: {}, body: Buffer.from(body) }, timeoutMs);

/** Number of complete requests with a body of two bytes in the data of one connection. */
const wholeRequests = (text: string): number => text.split('\r\n\r\n{}').length - 1;

describe('a connection that its server ends', () => {
  let server: RawServer | undefined;
  afterEach(() => server?.close());

  it('after the request was written fails that attempt, and the POST is not repeated', async () => {
    server = await startRawServer((socket, connection) => {
      socket.on('data', () => {
        if (connection > 1 || server?.requests().length === 1) socket.write(ANSWER);
        else socket.destroy();
      });
    });
    const subscriber = sender();
    expect(await postTo(subscriber, server.url)).toEqual(OK);
    const reply = await postTo(subscriber, server.url);
    expect(reply).toMatchObject({ kind: 'unanswered', error: 'connection_reset' });
    expect(server.requests()).toHaveLength(2);
    expect(server.connections).toHaveLength(1);
    expect(await postTo(subscriber, server.url)).toEqual(OK);
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'together with its response, despite keep-alive (%s), causes no failure',
    async (how) => {
      server = await startRawServer((socket) => {
        socket.on('data', () => {
          socket.write(ANSWER, () => socket[how]());
        });
      });
      const subscriber = sender();
      for (let count = 0; count < 20; count += 1) {
        expect(await postTo(subscriber, server.url)).toEqual(OK);
        // The end follows closely behind the response, and the next request comes after this one is recorded.
        await pause(2);
      }
      expect(server.requests()).toHaveLength(20);
    },
  );

  it('at any moment around the next request causes no duplicate, and no failure of an unsent request', async () => {
    const texts: string[] = [];
    server = await startRawServer((socket, connection) => {
      socket.on('data', (chunk) => {
        texts[connection] = (texts[connection] ?? '') + chunk.toString('latin1');
        socket.write(ANSWER, () => {
          // From before the next request until after its response.
          setTimeout(() => socket.destroy(), connection % 4);
        });
      });
    });
    const subscriber = sender();
    let failed = 0;
    for (let count = 0; count < 150; count += 1) {
      const reply = await postTo(subscriber, server.url);
      if (reply.kind === 'unanswered') failed += 1;
      else expect(reply).toEqual(OK);
      await pause(count % 3);
    }
    const arrived = texts.filter(Boolean).reduce((total, text) => total + wholeRequests(text), 0);
    // A failed request had been sent; it arrived unless the connection was reset in transit.
    expect(arrived).toBeGreaterThanOrEqual(150 - failed);
    expect(arrived).toBeLessThanOrEqual(150);
    expect(failed).toBeLessThan(50);
  });
});

describe('a connection that is not reusable', () => {
  let server: RawServer | undefined;
  afterEach(() => server?.close());

  it('because of a second response: the next request gets the right one', async () => {
    const stray = 'HTTP/1.1 500 Stray\r\ncontent-length: 0\r\n\r\n';
    server = await startRawServer((socket, connection) => {
      socket.on('data', () => socket.write(connection === 1 ? ANSWER + stray : ANSWER));
    });
    const subscriber = sender();
    expect(await postTo(subscriber, server.url)).toEqual(OK);
    expect(await postTo(subscriber, server.url)).toEqual(OK);
    expect(server.connections).toHaveLength(2);
  });

  it('because data arrived while it was idle', async () => {
    server = await startRawServer((socket, connection) => {
      socket.on('data', () => {
        socket.write(ANSWER);
        if (connection === 1) setTimeout(() => socket.write('HTTP/1.1 500 Late\r\n\r\n'), 20);
      });
    });
    const subscriber = sender();
    expect(await postTo(subscriber, server.url)).toEqual(OK);
    await expect.poll(() => server?.open()).toBe(0);
    expect(await postTo(subscriber, server.url)).toEqual(OK);
  });

  it('because of a response before the request was read: the rest is not kept in memory', async () => {
    server = await startRawServer((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(ANSWER);
      });
    });
    const subscriber = sender();
    // More than the system buffers for a server that does not read.
    const body = 'x'.repeat(32 * 1024 * 1024);
    expect(await postTo(subscriber, server.url, body)).toEqual(OK);
    for (const socket of server.connections) socket.resume();
    await turnsUntil(() => server?.open() === 0);
    expect(await postTo(subscriber, server.url)).toEqual(OK);
    expect(server.connections).toHaveLength(2);
  });

  it('because its server never reads: the attempt ends at the deadline', async () => {
    server = await startRawServer((socket) => {
      socket.pause();
    });
    const body = 'x'.repeat(32 * 1024 * 1024);
    expect(await postTo(sender(), server.url, body, 300)).toEqual({
      kind: 'unanswered',
      error: 'timeout',
      detail: 'before an answer',
    });
    for (const socket of server.connections) socket.resume();
    await turnsUntil(() => server?.open() === 0);
  });
});
