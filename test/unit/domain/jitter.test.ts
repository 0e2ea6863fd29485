import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jitteredDelay } from '../../../shared/domain/retry/next-attempt.ts';
import type { Jitter } from '../../../shared/domain/vocabulary.ts';

describe('jitter', () => {
  const delay = fc.double({ min: 0, max: 604_800, noNaN: true });

  it('leaves a delay alone by default', () => {
    fc.assert(fc.property(delay, fc.string(), (d, seed) => jitteredDelay(d, 'none', seed) === d));
  });

  it('of kind full stays between nothing and the delay, of kind equal between half of it and the delay', () => {
    fc.assert(
      fc.property(delay, fc.string(), (d, seed) => {
        const full = jitteredDelay(d, 'full', seed);
        const equal = jitteredDelay(d, 'equal', seed);
        return full >= 0 && full <= d && equal >= d / 2 && equal <= d;
      }),
    );
  });

  it('gives one seed one delay, then, now and in a later release', () => {
    // sha256 of the seed, its first 48 bits as a fraction of 2^48.
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
    // 1,000 expected in each, standard deviation 30.
    for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(tenths).toHaveLength(10);
  });
});
