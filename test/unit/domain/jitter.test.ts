import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jitteredDelay, meanSeconds } from '../../../shared/domain/retry/schedule.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import type { Jitter } from '../../../shared/domain/retry/vocabulary.ts';

describe('jitter', () => {
  const delay = fc.double({ min: 0, max: 604_800, noNaN: true });

  it('of kind none keeps the delay', () => {
    fc.assert(fc.property(delay, fc.string(), (d, seed) => jitteredDelay(d, 'none', seed) === d));
  });

  it('is between 0 (full) or half of the delay (equal) and the delay', () => {
    fc.assert(
      fc.property(delay, fc.string(), (d, seed) => {
        const full = jitteredDelay(d, 'full', seed);
        const equal = jitteredDelay(d, 'equal', seed);
        return full >= 0 && full <= d && equal >= d / 2 && equal <= d;
      }),
    );
  });

  it('gives the same delay for the same seed across releases', () => {
    // First 48 bits of the seed's SHA-256 as a fraction of 2^48.
    const fraction = 18.851971771600162 / 100;
    const seed = '["orders","m-1","s-1",5]';
    expect(jitteredDelay(100, 'full', seed)).toBe(jitteredDelay(100, 'full', seed));
    expect(jitteredDelay(100, 'full', seed)).toBeCloseTo(100 * fraction, 9);
    expect(jitteredDelay(100, 'equal', seed)).toBeCloseTo(50 + 50 * fraction, 9);
  });

  it.each<[Jitter, number]>([
    ['full', 0],
    ['equal', 50],
  ])('of kind %s spreads evenly over its range', (jitter, least) => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let n = 0; n < 10_000; n += 1) {
      const share = (jitteredDelay(100, jitter, `delivery-${n}`) - least) / (100 - least);
      const tenth = Math.floor(share * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    // Expected value 1,000, standard deviation 30.
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(tenths).toHaveLength(10);
  });

  it.each<[Jitter, number]>([
    ['none', 1],
    ['full', 0.5],
    ['equal', 0.75],
  ])('of kind %s has the mean that a schedule shows', (jitter, share) => {
    expect(meanSeconds({ ...DEFAULT_RETRY_POLICY, jitter })).toBe(280 * share);
    const drawn = Array.from({ length: 2000 }, (_, n) => jitteredDelay(1, jitter, `delivery-${n}`));
    expect(drawn.reduce((sum, delay) => sum + delay, 0) / drawn.length).toBeCloseTo(share, 1);
  });
});
