import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isStanding,
  rateLimitOf,
  slotIntervalMs,
  SLOT_GOOD_FOR_MS,
  slotsFrom,
  standingOf,
} from '../../../shared/domain/subscription/rate-limit.ts';
import { aSubscription } from '../../support/builders.ts';

const limited = (max_per_second: number, more = {}) =>
  rateLimitOf(aSubscription({ options: { max_per_second }, ...more }));

const rate = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.double({ min: 0.01, max: 20, noNaN: true, noDefaultInfinity: true }),
);

describe('the time between two slots', () => {
  it.each([
    [10, 100],
    [100, 10],
    [1000, 1],
    [2, 500],
    // Ten in ten and a half seconds: eleven in ten would be a tenth too many.
    [1, 1050],
    [0.5, 2100],
    [0.01, 100_000],
  ])('at %d a second is %d ms', (perSecond, ms) => {
    expect(slotIntervalMs(perSecond)).toBe(ms);
  });

  it('keeps any ten seconds within a twentieth over the limit, however late each slot is used', () => {
    fc.assert(
      fc.property(
        rate,
        fc.array(fc.integer({ min: 0, max: SLOT_GOOD_FOR_MS }), { minLength: 40, maxLength: 400 }),
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

  it('is no longer than a twentieth over what the limit says, from one request a second on', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1000, noNaN: true }), (perSecond) => {
        expect(slotIntervalMs(perSecond)).toBeLessThanOrEqual(1050 / perSecond + 50);
        expect(slotIntervalMs(perSecond)).toBeGreaterThanOrEqual(1000 / perSecond);
      }),
    );
  });
});

describe('the limit of a subscription', () => {
  it('is none where it does not ask for one', () => {
    expect(rateLimitOf(aSubscription())).toBeUndefined();
  });

  it('begins anew where its rate, or it itself, becomes another one', () => {
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
  ])('of 1000 is at %d: %s', (now, standing) => {
    expect(standingOf({ at: 1000, epoch: 'e' }, limit, now)).toBe(standing);
  });

  it.each([[undefined], [{ at: 1000, epoch: 'other' }], [{ at: 1000 }]])(
    'that is %j is nothing to go by, whatever the time',
    (slot) => {
      for (const now of [900, 1000, 1100]) expect(standingOf(slot, limit, now)).toBe('none');
    },
  );
});

describe('a line', () => {
  it.each([
    [{ reservedUpTo: 1001, epoch: 'e' }, true],
    [{ reservedUpTo: 1000, epoch: 'e' }, false],
    [{ reservedUpTo: 2000, epoch: 'other' }, false],
    [undefined, false],
  ])('%j stands at 1000: %s', (line, stands) => {
    expect(isStanding(line, { epoch: 'e' }, 1000)).toBe(stands);
  });
});
