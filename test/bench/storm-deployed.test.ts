import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { othersWait } from '../../bench/storm/deployed/others.ts';
import { requestsOf, strike } from '../../bench/storm/deployed/outage.ts';
import { pathOf, type StormySystem } from '../../bench/storm/deployed/stormy-system.ts';
import { Problem } from '../../local/install/problem.mjs';
import { EMPTY_BOOKS } from '../../shared/domain/message/books.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

/** Delivers at once, by nothing but a request. */
const system = (answered: (response: Response) => void = () => undefined): StormySystem => ({
  receiver,
  publish: async (queue, ids) => {
    for (const id of ids)
      answered(await fetch(receiver.url(pathOf(queue)), { method: 'POST', headers: { 'webhook-id': id } }));
  },
  books: () => Promise.resolve(EMPTY_BOOKS),
  log: () => [],
  signal: AbortSignal.timeout(10_000),
});

describe('a subscriber that is away', () => {
  it('says to each message once when it will be back', async () => {
    const backAt = 1000 * Math.ceil(Date.now() / 1000 + 60);
    const said: [number, string | null][] = [];
    const stricken = system(({ status, headers }) => said.push([status, headers.get('retry-after')]));
    await strike(stricken, 'stricken', { ids: ['a', 'b'], backAt });
    expect(said).toEqual([
      [503, new Date(backAt).toUTCString()],
      [503, new Date(backAt).toUTCString()],
    ]);
    const [first] = requestsOf(stricken, 'stricken');
    expect(first).toMatchObject({ id: 'a', statusCode: 503, answeredAt: first?.at });
  });

  it('takes its time over an answer when a message comes again', async () => {
    const stricken = system();
    await strike(stricken, 'stricken', { ids: ['a'], backAt: Date.now() + 60_000 });
    const leaving = new AbortController();
    const again = fetch(receiver.url(pathOf('stricken')), {
      headers: { 'webhook-id': 'a' },
      signal: leaving.signal,
    });
    await receiver.waitFor(pathOf('stricken'), 2, 5_000);
    leaving.abort();
    await expect(again).rejects.toThrow();
    const [, second] = requestsOf(stricken, 'stricken');
    expect(second).toMatchObject({ id: 'a', statusCode: 200, answeredAt: (second?.at ?? 0) + 3_000 });
  });

  it('makes no storm where it is back before all were tried', async () => {
    await expect(strike(system(), 'stricken', { ids: ['a'], backAt: Date.now() })).rejects.toThrow(Problem);
  });
});

describe("others' first attempts", () => {
  it('are timed from before they are sent, each once, for as long as it goes on', async () => {
    const waits = await othersWait(system(), 'calm', (sent) => sent < 3);
    expect(waits.messages).toBe(3);
    expect(waits.p99).toBeGreaterThanOrEqual(0);
    expect(waits.p99).toBeLessThan(5_000);
  });
});
