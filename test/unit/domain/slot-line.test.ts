import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type RateLimit,
  findSlots,
  isActiveLine,
  type Line,
  lineStart,
  mostTogether,
  spreadOut,
} from '../../../shared/domain/subscription/rate-limit.ts';

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
