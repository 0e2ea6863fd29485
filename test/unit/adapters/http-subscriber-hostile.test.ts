import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/delivery/outcome.ts';
import { type Receiver, type Script, startReceiver } from '../../support/receiver.ts';

const DEADLINE_MS = 1_000;
const HINT = 'HTTP/1.1 103 Early Hints\r\n\r\n';

/**
 * Cases checked by their outcome alone are among the kinds of test/hostile, which unit/hostile runs against the
 * deliver function.
 */
describe('httpSubscriber at a hostile subscriber:', () => {
  let receiver: Receiver;
  let paths = 0;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  const postTo = (url: string, timeoutMs = DEADLINE_MS): Promise<Reply> =>
    httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] }).post(
      { url, headers: {}, body: Buffer.from('{}') },
      timeoutMs,
    );

  /** The reply to an attempt, and the number of its requests. */
  const attempt = async (script: Script, timeoutMs = DEADLINE_MS) => {
    const path = `/${(paths += 1)}`;
    receiver.script(path, script);
    const reply = await postTo(receiver.url(path), timeoutMs);
    return { reply, requests: receiver.received(path).length };
  };

  const post = async (script: Script, timeoutMs?: number): Promise<Reply> =>
    (await attempt(script, timeoutMs)).reply;

  it('keeps the status despite a fast endless body', async () => {
    for (const status of [200, 500]) {
      const { reply, requests } = await attempt([{ status, behaviour: 'endless', body: 'begun' }]);
      expect(reply).toMatchObject({ kind: 'answered', statusCode: status });
      expect(requests).toBe(1);
    }
  });

  it('stops reading a body at 64 KB, long before the deadline', async () => {
    const startedAt = performance.now();
    const reply = await post([{ behaviour: 'endless' }], 20_000);
    expect(reply).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  // Concurrent, because these tests wait.
  describe.concurrent('a body that misbehaves', () => {
    it.each(['reset_in_body', 'short', 'stall', 'drip'] as const)(
      '(%s) does not change the status',
      async (behaviour) => {
        for (const status of [200, 500]) {
          const { reply, requests } = await attempt([{ status, behaviour, body: 'begun' }]);
          expect(reply).toMatchObject({ kind: 'answered', statusCode: status });
          expect(requests).toBe(1);
        }
      },
    );

    it('yields a snippet of the part received', async () => {
      expect(await post([{ status: 502, behaviour: 'stall', body: 'begun' }])).toEqual({
        kind: 'answered',
        statusCode: 502,
        snippet: 'begun',
      });
    });

    it('is awaited for at most 5 s, long before the deadline', { timeout: 10_000 }, async () => {
      const startedAt = performance.now();
      const reply = await post([{ behaviour: 'drip' }], 20_000);
      expect(reply).toMatchObject({ kind: 'answered', statusCode: 200 });
      expect(performance.now() - startedAt).toBeLessThan(6_000);
    });

    it('may have invalid chunks', async () => {
      const reply = await post([
        { raw: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense' },
      ]);
      expect(reply).toEqual({ kind: 'answered', statusCode: 200, snippet: 'hello' });
    });
  });

  describe.concurrent('a missing response', () => {
    it.each([
      ['only an informational response', 'timeout', [{ raw: HINT, behaviour: 'hang' }]],
      ['101 informational responses', 'invalid_response', [{ raw: HINT.repeat(101), behaviour: 'hang' }]],
      ['an empty response', 'connection_reset', [{ raw: '' }]],
      ['headers cut off', 'connection_reset', [{ raw: 'HTTP/1.1 200 OK\r\ncontent-' }]],
    ] as const)('caused by %s is reported as %s, after one request', async (_what, error, script) => {
      const { reply, requests } = await attempt(script);
      expect(reply).toMatchObject({ kind: 'unanswered', error });
      expect(JSON.stringify(reply)).not.toMatch(/127\.0\.0\.1|localhost/);
      expect(requests).toBe(1);
    });

    it('within the deadline ends at the deadline, and a late response is ignored', async () => {
      const startedAt = performance.now();
      const reply = await post([{ delayMs: DEADLINE_MS * 3 }]);
      const took = performance.now() - startedAt;
      expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'before an answer' });
      expect(took).toBeGreaterThan(DEADLINE_MS - 5);
      expect(took).toBeLessThan(DEADLINE_MS + 1_000);
    });

    it('from a closed port is reported as connection_refused', async () => {
      const gone = await startReceiver();
      await gone.close();
      const reply = await postTo(gone.url('/'));
      expect(reply).toEqual({ kind: 'unanswered', error: 'connection_refused', detail: 'refused' });
    });
  });
});
