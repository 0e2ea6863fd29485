import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  rateLimitOf,
  slotIntervalMs,
  SLOT_VALID_MS,
  slotStateOf,
  slotsFrom,
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
    for (const other of [limited(11), limited(10, { changedAt: 5 }), limited(10, { createdAt: 5 })])
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
