import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type Receiver, type Script, startReceiver } from '../../support/receiver.ts';
import { OK, pour, type RawServer, startRawServer, unanswered } from './raw-server.ts';

const DEADLINE_MS = 10_000;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

type PostOptions = { body?: string; headers?: Record<string, string>; timeoutMs?: number };

/** Of all tests, each of which uses another path. */
let receiver: Receiver;
let subscriber: Subscriber;
let path = '';
let number = 0;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => {
  path = `/${(number += 1)}`;
  subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8', '::1/128'] });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => receiver.close());

const postTo = (
  url: string,
  { body = '{}', headers = {}, timeoutMs = DEADLINE_MS }: PostOptions = {},
): Promise<Reply> => subscriber.post({ url, headers, body: Buffer.from(body) }, timeoutMs);

describe('httpSubscriber', () => {
  const post = (script?: Script): Promise<Reply> => {
    if (script !== undefined) receiver.script(path, script);
    return postTo(receiver.url(path));
  };
  const raw = (text: string, encoding: BufferEncoding = 'latin1'): Script => [
    { raw: Buffer.from(text, encoding) },
  ];

  describe('the request', () => {
    it('is one POST with the given headers and exactly the bytes of the body', async () => {
      await postTo(receiver.url(path), {
        body: '{"n":12345678901234567890,"é":"\\u00e9 ✓"}',
        headers: { 'webhook-id': 'm1' },
      });
      const [request, ...more] = receiver.received(path);
      expect(more).toEqual([]);
      expect(request?.method).toBe('POST');
      expect(request?.headers).toMatchObject({ 'webhook-id': 'm1', 'content-length': '44' });
      expect(request?.body.toString()).toBe('{"n":12345678901234567890,"é":"\\u00e9 ✓"}');
    });

    it('keeps the path and query of the URL, and omits the fragment', async () => {
      const url = receiver.url(`${path}?a=b%20c&d=é#part`);
      await postTo(url, { body: '' });
      expect(receiver.received(path)).toMatchObject([{ query: 'a=b%20c&d=%C3%A9' }]);
    });

    it('with an invalid header is a failure, not an exception', async () => {
      const reply = await postTo(receiver.url(path), { headers: { 'x-odd': 'line\r\nbreak' } });
      expect(reply).toEqual(unanswered('connection_failed', 'ERR_INVALID_CHAR'));
      expect(receiver.received(path)).toEqual([]);
    });
  });

  describe('the response', () => {
    it.each([200, 204, 299, 304, 400, 410, 429, 500, 503, 599, 600, 999])(
      'has its status %i',
      async (status) => {
        expect(await post([{ status }])).toEqual({ kind: 'answered', statusCode: status });
      },
    );

    it('has a snippet from the start of its body', async () => {
      expect(await post([{ status: 500, body: 'out of\norder' }])).toEqual({
        kind: 'answered',
        statusCode: 500,
        snippet: 'out of order',
      });
    });

    it('has the first Retry-After header unchanged', async () => {
      const script: Script = [
        { status: 503, headers: { 'retry-after': '120' } },
        { status: 503, headers: { 'retry-after': ['Wed, 21 Oct 2026 07:28:00 GMT', '7'] } },
        { status: 503, headers: { 'retry-after': '9'.repeat(65) } },
        { status: 503, headers: { 'retry-after': '' } },
      ];
      expect(await post(script)).toMatchObject({ retryAfter: '120' });
      expect(await post()).toMatchObject({ retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' });
      expect(await post()).not.toHaveProperty('retryAfter');
      expect(await post()).not.toHaveProperty('retryAfter');
    });

    it('may follow 100 informational ones', async () => {
      expect(await post(raw(HINT.repeat(100) + ANSWER))).toEqual(OK);
    });

    it('is not awaited after 101 informational ones', async () => {
      const script: Script = [{ raw: HINT.repeat(101), behaviour: 'hang' }];
      expect(await post(script)).toMatchObject({ error: 'invalid_response' });
    });

    it('may have header values with any bytes', async () => {
      const bytes = String.fromCharCode(...Array.from({ length: 127 }, (_, index) => index + 129));
      expect(
        await post(raw(`HTTP/1.1 200 OK\r\nx-odd: ${bytes}\r\nretry-after: \xff\r\n\r\n`)),
      ).toMatchObject(OK);
    });

    it('may have headers named like properties of every object', async () => {
      const fields = '__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\n';
      expect(await post(raw(`HTTP/1.1 200 OK\r\n${fields}content-length: 0\r\n\r\n`))).toEqual(OK);
    });
  });
});

/**
 * The limits in time, on timers that the test moves. Cases checked by their outcome alone are among the kinds of
 * test/hostile, which unit/hostile runs against the deliver function.
 */
describe('httpSubscriber at a hostile subscriber', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

  /** Posts, and waits until the request was read and this many timers run. The deadline is one of them. */
  const posting = async (script: Script, timers: number): Promise<{ replies: Reply[] }> => {
    receiver.script(path, script);
    const replies: Reply[] = [];
    void postTo(receiver.url(path)).then((reply) => replies.push(reply));
    await turnsUntil(() => receiver.received(path).length === 1 && vi.getTimerCount() === timers);
    return { replies };
  };

  const endsAfter = async (milliseconds: number, replies: Reply[]): Promise<Reply | undefined> => {
    await vi.advanceTimersByTimeAsync(milliseconds - 1);
    expect(replies).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    return replies[0];
  };

  it.each(['drip', 'stall'] as const)(
    'waits for a body for at most 5 s: the snippet of %s',
    async (behaviour) => {
      const { replies } = await posting([{ status: 502, behaviour, body: 'begun' }], 2);
      expect(await endsAfter(5_000, replies)).toMatchObject({
        kind: 'answered',
        statusCode: 502,
        snippet: expect.stringMatching(/^begun\.*$/) as string,
      });
    },
  );

  it('takes a missing response as a timeout at the deadline, and ignores a late one', async () => {
    const { replies } = await posting([{ delayMs: DEADLINE_MS + 1 }], 2);
    expect(await endsAfter(DEADLINE_MS, replies)).toEqual(unanswered('timeout', 'before an answer'));
    await vi.advanceTimersByTimeAsync(1);
    expect(replies).toHaveLength(1);
  });

  it('takes the part of a body that has arrived at the deadline as the snippet', async () => {
    let respond = (): void => undefined;
    const answer = new Promise<void>((resolve) => (respond = resolve));
    const { replies } = await posting(async () => {
      await answer;
      return { status: 502, behaviour: 'stall', body: 'begun' };
    }, 1);
    await vi.advanceTimersByTimeAsync(DEADLINE_MS - 1_000);
    respond();
    await turnsUntil(() => vi.getTimerCount() === 2);
    expect(await endsAfter(1_000, replies)).toEqual({ kind: 'answered', statusCode: 502, snippet: 'begun' });
  });
});

/** Number of complete requests with a body of two bytes in the data of one connection. */
const wholeRequests = (text: string): number => text.split('\r\n\r\n{}').length - 1;

describe('a connection that its server ends', () => {
  it('after the request was written fails that attempt, and the POST is not repeated', async () => {
    const server = await startRawServer((socket, connection) => {
      socket.on('data', () => {
        if (connection > 1 || server.requests().length === 1) socket.write(ANSWER);
        else socket.destroy();
      });
    });
    expect(await postTo(server.url)).toEqual(OK);
    const reply = await postTo(server.url);
    expect(reply).toMatchObject({ kind: 'unanswered', error: 'connection_reset' });
    expect(server.requests()).toHaveLength(2);
    expect(server.connections).toHaveLength(1);
    expect(await postTo(server.url)).toEqual(OK);
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'together with its response, despite keep-alive (%s), causes no failure',
    async (how) => {
      const server = await startRawServer((socket) => {
        socket.on('data', () => {
          socket.write(ANSWER, () => socket[how]());
        });
      });
      for (let count = 0; count < 20; count += 1) {
        expect(await postTo(server.url)).toEqual(OK);
        // The end follows closely behind the response, and the next request comes after this one is recorded.
        await pause(2);
      }
      expect(server.requests()).toHaveLength(20);
    },
  );

  it('at any moment around the next request causes no duplicate, and no failure of an unsent request', async () => {
    const texts: string[] = [];
    const server = await startRawServer((socket, connection) => {
      socket.on('data', (chunk) => {
        texts[connection] = (texts[connection] ?? '') + chunk.toString('latin1');
        socket.write(ANSWER, () => {
          // From before the next request until after its response.
          setTimeout(() => socket.destroy(), connection % 4);
        });
      });
    });
    let failed = 0;
    for (let count = 0; count < 150; count += 1) {
      const reply = await postTo(server.url);
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
  it('because of a second response: the next request gets the right one', async () => {
    const stray = 'HTTP/1.1 500 Stray\r\ncontent-length: 0\r\n\r\n';
    const server = await startRawServer((socket, connection) => {
      socket.on('data', () => socket.write(connection === 1 ? ANSWER + stray : ANSWER));
    });
    expect(await postTo(server.url)).toEqual(OK);
    expect(await postTo(server.url)).toEqual(OK);
    expect(server.connections).toHaveLength(2);
  });

  it('because data arrived while it was idle', async () => {
    const server = await startRawServer((socket, connection) => {
      socket.on('data', () => {
        socket.write(ANSWER);
        if (connection === 1) setTimeout(() => socket.write('HTTP/1.1 500 Late\r\n\r\n'), 20);
      });
    });
    expect(await postTo(server.url)).toEqual(OK);
    await expect.poll(() => server.open()).toBe(0);
    expect(await postTo(server.url)).toEqual(OK);
  });

  it('because of a response before the request was read: the rest is not kept in memory', async () => {
    const server = await startRawServer((socket) => {
      socket.once('data', () => {
        socket.pause();
        socket.write(ANSWER);
      });
    });
    // More than the system buffers for a server that does not read.
    const body = 'x'.repeat(32 * 1024 * 1024);
    expect(await postTo(server.url, { body })).toEqual(OK);
    for (const socket of server.connections) socket.resume();
    await turnsUntil(() => server.open() === 0);
    expect(await postTo(server.url)).toEqual(OK);
    expect(server.connections).toHaveLength(2);
  });

  it('because its server never reads: the attempt ends at the deadline', async () => {
    const server = await startRawServer((socket) => {
      socket.pause();
    });
    const body = 'x'.repeat(32 * 1024 * 1024);
    expect(await postTo(server.url, { body, timeoutMs: 300 })).toEqual(
      unanswered('timeout', 'before an answer'),
    );
    for (const socket of server.connections) socket.resume();
    await turnsUntil(() => server.open() === 0);
  });
});

/**
 * Most bytes that a server can send before it notices the end of the connection: 1 MiB that is read, and the
 * buffers of the system at both ends, up to 4 and 6 MiB on Linux (tcp_wmem, tcp_rmem).
 */
const BOUND = 12 * 1024 * 1024;

const HEAD = 'HTTP/1.1 200 OK\r\n';

describe('a subscriber that sends without end', () => {
  const serverThatPours = (beginning: string, block: string): Promise<RawServer> =>
    startRawServer((socket) => {
      socket.once('data', () => {
        socket.write(beginning, 'latin1');
        pour(socket, block);
      });
    });

  const blank = '\r\n'.repeat(32 * 1024);
  const text = 'x'.repeat(64 * 1024);

  it.each<[string, string, string, Partial<Reply>]>([
    ['a body', `${HEAD}\r\n`, text, { statusCode: 200 }],
    ['chunks', `${HEAD}transfer-encoding: chunked\r\n\r\n`, `10000\r\n${text}\r\n`, { statusCode: 200 }],
    ['headers', HEAD, 'x-h: 1\r\n'.repeat(8_000), { error: 'invalid_response' }],
    ['one header', `${HEAD}x-h: `, text, { error: 'invalid_response' }],
    ['the reason after its status', 'HTTP/1.1 200 ', text, { error: 'invalid_response' }],
    ['blank lines before its status', blank, blank, { error: 'invalid_response' }],
    ['informational responses', '', HINT.repeat(1_000), { error: 'invalid_response' }],
    ['data that is not HTTP', '', text, { error: 'invalid_response' }],
  ])('(%s) is cut off after a bounded number of bytes', async (_what, beginning, block, expected) => {
    // No limit in time ends it.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const server = await serverThatPours(beginning, block);
    expect(await postTo(server.url)).toMatchObject(expected);
    await turnsUntil(() => server.open() === 0);
    expect(server.taken()).toBeLessThan(BOUND);
    expect(server.connections).toHaveLength(1);
  });

  it('in headers is cut off for each of many requests', async () => {
    const { url } = await serverThatPours(HEAD, 'a:\r\n'.repeat(16_000));
    const replies = await Promise.all(Array.from({ length: 100 }, () => postTo(url, { timeoutMs: 60_000 })));
    // At a deadline it would be a timeout.
    for (const reply of replies) expect(reply).toMatchObject({ error: 'invalid_response' });
  }, 60_000);
});

describe('many subscribers at once', () => {
  const END = 'content-length: 2\r\n\r\nok';

  /** The reply to the last of `requests` requests, which gets this answer; the others get none. */
  const lastReplyOf = async (requests: number, answer: string): Promise<Reply> => {
    let requested = 0;
    const server = await startRawServer((socket) => {
      socket.once('data', () => {
        requested += 1;
        if (requested === requests) socket.write(answer, 'latin1');
      });
    });
    return Promise.race(Array.from({ length: requests }, () => postTo(server.url)));
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
});
