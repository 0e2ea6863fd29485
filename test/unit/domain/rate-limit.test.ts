import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findSlots,
  isActiveLine,
  type Line,
  lineStart,
  mostTogether,
  type RateLimit,
  rateLimitOf,
  SLOT_VALID_MS,
  slotIntervalMs,
  slotsFrom,
  slotStateOf,
  spreadOut,
} from '../../../shared/domain/subscription/rate-limit.ts';
import { aSubscription } from '../../support/builders.ts';

const limited = (max_per_second: number, more = {}) =>
  rateLimitOf(aSubscription({ options: { max_per_second }, ...more }));

const rate = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.double({ min: 0.01, max: 20, noNaN: true, noDefaultInfinity: true }),
);

describe('the interval between two slots', () => {
  it.each([
    [10, 100],
    [100, 10],
    [1000, 1],
    [2, 500],
    // Ten requests in ten and a half seconds: eleven in ten seconds would exceed the tolerance of 5 %.
    [1, 1050],
    [0.5, 2100],
    [0.01, 100_000],
  ])('for %d requests a second is %d ms', (perSecond, ms) => {
    expect(slotIntervalMs(perSecond)).toBe(ms);
  });

  it('keeps any ten seconds within 5 % above the limit, even if slots are used late', () => {
    fc.assert(
      fc.property(
        rate,
        fc.array(fc.integer({ min: 0, max: SLOT_VALID_MS }), { minLength: 40, maxLength: 400 }),
        (perSecond, lateMs) => {
          const intervalMs = slotIntervalMs(perSecond);
          const slots = slotsFrom(0.4, lateMs.length, { intervalMs, epoch: 'e' });
          const used = slots.map(({ at }, index) => at + (lateMs[index] ?? 0)).sort((a, b) => a - b);
          const most = Math.max(1, Math.floor(1.05 * 10 * perSecond));
          for (const from of used)
            expect(used.filter((at) => at >= from && at < from + 10_000).length).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('exceeds the nominal interval by at most 5 % and 50 ms from one request a second on', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1000, noNaN: true }), (perSecond) => {
        expect(slotIntervalMs(perSecond)).toBeLessThanOrEqual(1050 / perSecond + 50);
        expect(slotIntervalMs(perSecond)).toBeGreaterThanOrEqual(1000 / perSecond);
      }),
    );
  });
});

describe('the rate limit of a subscription', () => {
  it('is undefined without max_per_second', () => {
    expect(rateLimitOf(aSubscription())).toBeUndefined();
  });

  it('gets a new epoch when its rate or the subscription changes', () => {
    const before = limited(10);
    expect(limited(10)).toEqual(before);
    for (const other of [limited(11), limited(10, { version: 5 }), limited(10, { createdAt: 5 })])
      expect(other?.epoch).not.toBe(before?.epoch);
  });
});

describe('a slot', () => {
  const limit = { intervalMs: 100, epoch: 'e' };

  it.each([
    [999, 'to_come'],
    [1000, 'good'],
    [1400, 'good'],
    [1401, 'none'],
  ])('due at 1000 has at %d the state %s', (now, state) => {
    expect(slotStateOf({ at: 1000, epoch: 'e' }, limit, now)).toBe(state);
  });

  it.each([[undefined], [{ at: 1000, epoch: 'other' }], [{ at: 1000 }]])(
    '%j is unusable at any time',
    (slot) => {
      for (const now of [900, 1000, 1100]) expect(slotStateOf(slot, limit, now)).toBe('none');
    },
  );
});

const NOW = 1_000_000;

const pace = (more: Partial<RateLimit> = {}): RateLimit => ({ intervalMs: 100, epoch: 'e', ...more });

const slotsIn = (line: Line | undefined, limit: RateLimit, count = 1) => {
  const found = findSlots(line, count, { limit, now: NOW });
  return 'instead' in found ? [found.instead] : found.slots;
};

describe('a line', () => {
  it.each([
    [{ reservedUpTo: 1001, epoch: 'e' }, true],
    [{ reservedUpTo: 1000, epoch: 'e' }, false],
    [{ reservedUpTo: 2000, epoch: 'other' }, false],
    [undefined, false],
  ])('%j is active at 1000: %s', (line, isActive) => {
    expect(isActiveLine(line, { epoch: 'e' }, 1000)).toBe(isActive);
  });

  it('begins when it opens, and its slots say why they wait', () => {
    const limit = pace({ opensAt: NOW + 5_000, reason: 'receiver_throttled' });
    expect(slotsIn(undefined, limit, 2)).toEqual([
      { at: NOW + 5_000, epoch: 'e', reason: 'receiver_throttled' },
      { at: NOW + 5_100, epoch: 'e', reason: 'receiver_throttled' },
    ]);
    expect(lineStart(limit, NOW + 9_000)).toBe(NOW + 9_000);
  });

  it('has its last slot at its greatest length; the next delivery asks again, spread over half of the time', () => {
    const limit = pace({ opensAt: NOW + 5_000, longestMs: 200, askAgainMs: 10_000, reason: 'circuit_open' });
    const end = (reservedUpTo: number) => ({ reservedUpTo, epoch: 'e' });
    expect(slotsIn(end(NOW + 5_200), limit)).toMatchObject([{ at: NOW + 5_200, epoch: 'e' }]);
    const [instead] = slotsIn(end(NOW + 5_201), limit);
    expect(instead).toEqual({ at: NOW + 10_000, spreadMs: 5_000, reason: 'circuit_open' });
  });

  it('does not let a delivery ask again long after its message has expired', () => {
    const limit = pace({ longestMs: 0, askAgainMs: 60_000 });
    const line = { reservedUpTo: NOW + 100, epoch: 'e' };
    const found = findSlots(line, 1, { limit, now: NOW, until: NOW + 3_000 });
    const asks = 'instead' in found ? spreadOut(found.instead, 'seed').at : Infinity;
    expect(asks).toBe(NOW + 3_750);
  });

  it('of an open circuit has one slot, until the time for its probe is over', () => {
    const limit = pace({ opensAt: NOW + 5_000, longestMs: 0, intervalMs: 30_000, askAgainMs: 10_000 });
    expect(mostTogether(limit)).toBe(1);
    const taken = { reservedUpTo: NOW + 35_000, epoch: 'e' };
    expect(slotsIn(taken, limit)[0]).not.toHaveProperty('epoch');
    expect(slotsIn({ ...taken, reservedUpTo: NOW }, { ...limit, opensAt: NOW - 30_000 })).toEqual([
      { at: NOW, epoch: 'e' },
    ]);
  });

  it('gives no more slots by one write than it holds', () => {
    expect(mostTogether(pace({ longestMs: 1_000 }))).toBe(11);
    expect(mostTogether(pace())).toBe(Infinity);
  });

  it('of a later epoch makes the caller read again, at once and not spread', () => {
    const [instead] = slotsIn({ reservedUpTo: NOW + 500, epoch: 'f' }, pace({ askAgainMs: 60_000 }));
    expect(instead).toEqual({ at: NOW + 2_000 });
  });
});

describe('deliveries that ask again', () => {
  it('do so at separate times, within the spread', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 900_000 }), fc.string(), (spreadMs, seed) => {
        const { at, ...rest } = spreadOut({ at: NOW, spreadMs, reason: 'circuit_open' }, seed);
        expect(at).toBeGreaterThanOrEqual(NOW);
        expect(at).toBeLessThanOrEqual(NOW + spreadMs);
        expect(rest).toEqual({ reason: 'circuit_open' });
        expect(spreadOut({ at: NOW, spreadMs }, seed).at).toBe(at);
      }),
    );
    const seconds = Array.from({ length: 100 }, (_, index) =>
      Math.floor((spreadOut({ at: 0, spreadMs: 10_000 }, `delivery-${index}`).at - 1) / 1_000),
    );
    expect(new Set(seconds).size).toBe(10);
  });

  it('keep a slot as it is', () => {
    expect(spreadOut({ at: NOW, epoch: 'e' }, 'seed')).toEqual({ at: NOW, epoch: 'e' });
  });
});
