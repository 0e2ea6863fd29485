import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/delivery/outcome.ts';
import { type Receiver, type Script, startReceiver } from '../../support/receiver.ts';

const DEADLINE_MS = 1_000;

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
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => receiver.close());

  const post = (script: Script, timeoutMs = DEADLINE_MS): Promise<Reply> => {
    const path = `/${(paths += 1)}`;
    receiver.script(path, script);
    return httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] }).post(
      { url: receiver.url(path), headers: {}, body: Buffer.from('{}') },
      timeoutMs,
    );
  };

  it('stops reading a body at 64 KB, long before the deadline', async () => {
    const startedAt = performance.now();
    const reply = await post([{ behaviour: 'endless' }], 20_000);
    expect(reply).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('waits for a body for at most 5 s, long before the deadline', async () => {
    const { setTimeout: timer } = globalThis;
    // Five times as fast. The deadline is no timer of this kind.
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((run: () => void, milliseconds = 0) =>
      timer(run, milliseconds / 5),
    );
    const startedAt = performance.now();
    const reply = await post([{ behaviour: 'drip' }], 20_000);
    expect(reply).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(performance.now() - startedAt).toBeLessThan(1_900);
  });

  // Concurrent, because these tests wait.
  describe.concurrent('at the deadline', () => {
    it('the part of a body that has arrived is the snippet', async () => {
      expect(await post([{ status: 502, behaviour: 'stall', body: 'begun' }])).toEqual({
        kind: 'answered',
        statusCode: 502,
        snippet: 'begun',
      });
    });

    it('a missing response is a timeout, and a late one is ignored', async () => {
      const startedAt = performance.now();
      const reply = await post([{ delayMs: DEADLINE_MS * 3 }]);
      const took = performance.now() - startedAt;
      expect(reply).toEqual({ kind: 'unanswered', error: 'timeout', detail: 'before an answer' });
      expect(took).toBeGreaterThan(DEADLINE_MS - 5);
      expect(took).toBeLessThan(DEADLINE_MS + 1_000);
    });
  });
});
