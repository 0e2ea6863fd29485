import type { Socket } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { pour, type RawServer, startRawServer } from './raw-server.ts';

const DEADLINE_MS = 10_000;
const MIB = 1024 * 1024;

/**
 * Most bytes that a server can send before it notices the end of the connection: 1 MiB that is read, and the
 * buffers of the system at both ends, up to 4 and 6 MiB on Linux (tcp_wmem, tcp_rmem).
 */
const BOUND = 12 * MIB;

const HEAD = 'HTTP/1.1 200 OK\r\n';

describe('a subscriber that sends without end', () => {
  let server: RawServer | undefined;
  afterEach(() => {
    vi.useRealTimers();
    return server?.close();
  });

  const replyTo = async (beginning: string, block: string): Promise<Reply> => {
    server = await startRawServer((socket: Socket) => {
      socket.once('data', () => {
        socket.write(beginning, 'latin1');
        pour(socket, block);
      });
    });
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
    return subscriber.post({ url: server.url, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS);
  };

  const blank = '\r\n'.repeat(32 * 1024);
  const text = 'x'.repeat(64 * 1024);

  it.each<[string, string, string, Partial<Reply>]>([
    ['a body', `${HEAD}\r\n`, text, { statusCode: 200 }],
    ['chunks', `${HEAD}transfer-encoding: chunked\r\n\r\n`, `10000\r\n${text}\r\n`, { statusCode: 200 }],
    ['headers', HEAD, 'x-h: 1\r\n'.repeat(8_000), { error: 'invalid_response' }],
    ['one header', `${HEAD}x-h: `, text, { error: 'invalid_response' }],
    ['the reason after its status', 'HTTP/1.1 200 ', text, { error: 'invalid_response' }],
    ['blank lines before its status', blank, blank, { error: 'invalid_response' }],
    [
      'informational responses',
      '',
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000),
      { error: 'invalid_response' },
    ],
    ['data that is not HTTP', '', text, { error: 'invalid_response' }],
  ])('(%s) is cut off after a bounded number of bytes', async (_what, beginning, block, expected) => {
    // No limit in time ends it.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    expect(await replyTo(beginning, block)).toMatchObject(expected);
    await turnsUntil(() => server?.open() === 0);
    expect(server?.taken()).toBeLessThan(BOUND);
    expect(server?.connections).toHaveLength(1);
  });
});

describe('many subscribers at once', () => {
  let server: RawServer | undefined;
  afterEach(() => server?.close());

  const END = 'content-length: 2\r\n\r\nok';

  /** The reply to the last of `requests` requests, which gets this answer; the others get none. */
  const lastReplyOf = async (requests: number, answer: string): Promise<Reply> => {
    let requested = 0;
    server = await startRawServer((socket) => {
      socket.once('data', () => {
        requested += 1;
        if (requested === requests) socket.write(answer, 'latin1');
      });
    });
    const { url } = server;
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
    const post = () => subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS);
    return Promise.race(Array.from({ length: requests }, post));
  };

  const lines = (count: number): string => 'x-h: 1\r\n'.repeat(count);
  const long = `x-long: ${'x'.repeat(60 * 1024)}\r\n`;

  it.each([
    ['one alone', 1, lines(10_000), { statusCode: 200 }],
    ['one alone', 1, long, { statusCode: 200 }],
    ['one of ten', 10, lines(10_000), { statusCode: 200 }],
    ['one of a hundred', 100, lines(200), { statusCode: 200 }],
    ['one of a hundred', 100, lines(10_000), { error: 'invalid_response' }],
    ['one of a hundred', 100, long, { error: 'invalid_response' }],
  ])('share a limit on headers: %s', async (_, requests, headers, expected) => {
    await expect(lastReplyOf(requests, `${HEAD}${headers}${END}`)).resolves.toMatchObject(expected);
  });

  it('have no limit on the lines of a body after the status', async () => {
    const body = 'line\n'.repeat(20_000);
    const answer = `${HEAD}content-length: ${body.length}\r\n\r\n${body}`;
    await expect(lastReplyOf(100, answer)).resolves.toMatchObject({ statusCode: 200 });
  });

  it('with endless headers are all cut off', async () => {
    server = await startRawServer((socket) => {
      socket.once('data', () => {
        socket.write(HEAD);
        pour(socket, 'a:\r\n'.repeat(16_000));
      });
    });
    const { url } = server;
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] });
    const replies = await Promise.all(
      Array.from({ length: 100 }, () =>
        subscriber.post({ url, headers: {}, body: Buffer.from('{}') }, 60_000),
      ),
    );
    // At a deadline it would be a timeout.
    for (const reply of replies) expect(reply).toMatchObject({ error: 'invalid_response' });
  }, 60_000);
});
