import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { type Receiver, type Script, startReceiver } from '../../support/receiver.ts';

const DEADLINE_MS = 4_000;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

describe('httpSubscriber', () => {
  let receiver: Receiver;
  let path = '';
  let number = 0;
  let subscriber: Subscriber;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  beforeEach(() => {
    number += 1;
    subscriber = httpSubscriber({ allowedAddresses: LOOPBACK });
    path = `/${number}`;
  });
  afterAll(() => receiver.close());

  const post = (
    script?: Script,
    request: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Reply> => {
    if (script !== undefined) receiver.script(path, script);
    return subscriber.post(
      { url: receiver.url(path), headers: {}, ...request, body: Buffer.from(request.body ?? '{}') },
      DEADLINE_MS,
    );
  };
  const raw = (text: string, encoding: BufferEncoding = 'latin1'): Script => [
    { raw: Buffer.from(text, encoding) },
  ];

  describe('the request', () => {
    it('is one POST with the given headers and exactly the bytes of the body', async () => {
      await post(undefined, {
        body: '{"n":12345678901234567890,"é":"\\u00e9 ✓"}',
        headers: { 'webhook-id': 'm1' },
      });
      const [request, ...more] = receiver.received(path);
      expect(more).toEqual([]);
      expect(request?.method).toBe('POST');
      expect(request?.headers).toMatchObject({ 'webhook-id': 'm1', 'content-length': '44' });
      expect(request?.body.toString()).toBe('{"n":12345678901234567890,"é":"\\u00e9 ✓"}');
    });

    it('carries any text unchanged', async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 2_000 }), async (body) => {
          await post(undefined, { body });
          expect(receiver.received(path).at(-1)?.body.equals(Buffer.from(body))).toBe(true);
        }),
        { numRuns: 50 },
      );
    });

    it('keeps the path and query of the URL, and omits the fragment', async () => {
      const url = receiver.url(`${path}?a=b%20c&d=é#part`);
      await subscriber.post({ url, headers: {}, body: Buffer.from('') }, DEADLINE_MS);
      expect(receiver.received(path)).toMatchObject([{ query: 'a=b%20c&d=%C3%A9' }]);
    });

    it('with an invalid header is a failure, not an exception', async () => {
      const reply = await post(undefined, { headers: { 'x-odd': 'line\r\nbreak' } });
      expect(reply).toEqual({
        kind: 'unanswered',
        error: 'connection_failed',
        detail: 'ERR_INVALID_CHAR',
      });
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

    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

    it('may follow 100 informational ones', async () => {
      const answer = 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n';
      expect(await post(raw(`${hint.repeat(100)}${answer}`))).toEqual({ kind: 'answered', statusCode: 202 });
    });

    it('is not awaited after 101 informational ones', async () => {
      const script: Script = [{ raw: hint.repeat(101), behaviour: 'hang' }];
      expect(await post(script)).toMatchObject({ error: 'invalid_response' });
    });

    it('may have header values with any bytes', async () => {
      const bytes = String.fromCharCode(...Array.from({ length: 127 }, (_, index) => index + 129));
      expect(
        await post(raw(`HTTP/1.1 200 OK\r\nx-odd: ${bytes}\r\nretry-after: \xff\r\n\r\n`)),
      ).toMatchObject({
        kind: 'answered',
        statusCode: 200,
      });
    });

    it('may have headers named like properties of every object', async () => {
      const fields = '__proto__: a\r\n__proto__: b\r\nconstructor: c\r\ntoString: d\r\n';
      expect(await post(raw(`HTTP/1.1 200 OK\r\n${fields}content-length: 0\r\n\r\n`))).toEqual({
        kind: 'answered',
        statusCode: 200,
      });
    });
  });
});
