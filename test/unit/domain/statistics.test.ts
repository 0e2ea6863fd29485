import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDuration, addTo, noCounters, percentilesOf } from '../../../shared/domain/delivery/statistics.ts';

const histogramOf = (durations: readonly number[]) => {
  const histogram = new Map<number, number>();
  for (const duration of durations) addDuration(histogram, duration);
  return histogram;
};

/** From under a millisecond to ten years, evenly over the orders of magnitude. */
const durations = fc.array(
  fc.double({ min: -1, max: 11.5, noNaN: true }).map((power) => Math.floor(10 ** power)),
  { minLength: 1, maxLength: 300 },
);

describe('percentiles of durations', () => {
  it('are at most 12 % and half a millisecond from the exact ones', () => {
    fc.assert(
      fc.property(durations, (given) => {
        const sorted = given.map((duration) => Math.max(1, duration)).sort((one, other) => one - other);
        const found = percentilesOf(histogramOf(given));
        expect(found?.count).toBe(given.length);
        for (const [share, percentile] of [
          [0.5, found?.p50],
          [0.95, found?.p95],
          [0.99, found?.p99],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
          expect(Math.abs((percentile ?? Number.NaN) - exact)).toBeLessThanOrEqual(0.12 * exact + 0.5);
        }
      }),
    );
  });

  it('do not depend on the order of the durations', () => {
    const [slowFirst, slowLast] = [histogramOf([5000, 20, 20]), histogramOf([20, 20, 5000])];
    expect(percentilesOf(slowFirst)).toEqual(percentilesOf(slowLast));
    expect(percentilesOf(slowFirst)?.p50).toBeLessThan(23);
  });

  it('count a duration below zero, by clocks that differ, as one millisecond', () => {
    expect(percentilesOf(histogramOf([-40, 0, 1]))).toEqual({ count: 3, p50: 1, p95: 1, p99: 1 });
  });

  it('are undefined without durations', () => {
    expect(percentilesOf(new Map())).toBeUndefined();
  });

  it('need at most 60 buckets from a millisecond to ten minutes', () => {
    const all = Array.from({ length: 600_000 }, (_, duration) => duration + 1);
    expect(histogramOf(all).size).toBeLessThanOrEqual(60);
  });
});

describe('counters', () => {
  it('add up as if everything had been counted at once', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const [total, more] = [noCounters(), noCounters()];
        for (const duration of some) addDuration(total.response, duration);
        for (const duration of others) addDuration(more.response, duration);
        total.counts.messages = some.length;
        more.counts.messages = others.length;
        more.counts.cancelled = 3;
        addTo(total, more);
        expect(total.response).toEqual(histogramOf([...some, ...others]));
        expect(total.counts).toEqual({
          ...noCounters().counts,
          messages: some.length + others.length,
          cancelled: 3,
        });
        expect(total.timeToDelivery.size).toBe(0);
      }),
    );
  });
});
