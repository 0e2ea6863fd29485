import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { type Receiver, type Script, startReceiver } from '../../support/receiver.ts';

const DEADLINE_MS = 20_000;

/**
 * The limits in time, on timers that the test moves. Cases checked by their outcome alone are among the kinds of
 * test/hostile, which unit/hostile runs against the deliver function.
 */
describe('httpSubscriber at a hostile subscriber', () => {
  let receiver: Receiver;
  let paths = 0;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());
  afterAll(() => receiver.close());

  /** Posts, and waits until the request was read and this many timers run. The deadline is one of them. */
  const posting = async (script: Script, timers: number): Promise<{ replies: Reply[] }> => {
    const path = `/${(paths += 1)}`;
    receiver.script(path, script);
    const replies: Reply[] = [];
    void httpSubscriber({ allowedAddresses: ['127.0.0.0/8'] })
      .post({ url: receiver.url(path), headers: {}, body: Buffer.from('{}') }, DEADLINE_MS)
      .then((reply) => replies.push(reply));
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
    expect(await endsAfter(DEADLINE_MS, replies)).toEqual({
      kind: 'unanswered',
      error: 'timeout',
      detail: 'before an answer',
    });
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
