import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import {
  backoffDelays,
  jitteredDelay,
  meanSeconds,
  retrySchedule,
  totalSeconds,
} from '../../../shared/domain/retry/schedule.ts';
import type { BackoffFunction, Jitter } from '../../../shared/domain/retry/vocabulary.ts';

const SERIES: BackoffFunction[] = ['linear', 'arithmetic', 'geometric', 'exponential'];
const ALL: BackoffFunction[] = [...SERIES, 'capped_exponential'];

type Backoff = {
  function: BackoffFunction;
  minimum: number;
  maximum: number;
  retries: number;
  exponent: number;
};

const delaysOf = ({ function: name, minimum, maximum, retries, exponent }: Backoff): number[] =>
  backoffDelays({
    ...DEFAULT_RETRY_POLICY,
    retry_backoff_function: name,
    minimum_delay: minimum,
    maximum_delay: maximum,
    backoff_retries: retries,
    backoff_exponent: exponent,
  });

const backoff = (overrides: Partial<Backoff>): Backoff => ({
  function: 'linear',
  minimum: 5,
  maximum: 60,
  retries: 12,
  exponent: 2,
  ...overrides,
});

const seconds = fc.oneof(
  fc.integer({ min: 1, max: 604_800 }),
  fc.double({ min: 0.001, max: 604_800, noNaN: true }),
);

const anyBackoff = (functions: BackoffFunction[]): fc.Arbitrary<Backoff> =>
  fc
    .record({
      function: fc.constantFrom(...functions),
      minimum: seconds,
      maximum: seconds,
      retries: fc.integer({ min: 0, max: 100 }),
      exponent: fc.double({ min: 1, max: 1e300, minExcluded: true, noNaN: true }),
    })
    .map((drawn) => ({
      ...drawn,
      minimum: Math.min(drawn.minimum, drawn.maximum),
      maximum: Math.max(drawn.minimum, drawn.maximum),
    }));

/** The formulas of docs/retry-policy.md, without handling of rounding. */
const asWritten = ({ function: name, minimum, maximum, retries, exponent }: Backoff, n: number): number => {
  const ratio = (maximum / minimum) ** (1 / (retries - 1));
  switch (name) {
    case 'linear':
      return minimum + ((maximum - minimum) / (retries - 1)) * (n - 1);
    case 'arithmetic':
      return minimum + ((n * (n - 1)) / 2) * ((2 * (maximum - minimum)) / (retries * (retries - 1)));
    case 'geometric':
      return minimum * ratio ** (n - 1);
    case 'exponential':
      return (minimum / ratio) * ratio ** n;
    case 'capped_exponential':
      return Math.min(maximum, minimum * exponent ** (n - 1));
  }
};

describe('backoff delays', () => {
  it('of a geometric series are exact where they are whole', () => {
    const delays = delaysOf(backoff({ function: 'geometric', minimum: 1, maximum: 1000, retries: 4 }));
    expect(delays).toEqual([1, 10, 100, 1000]);
  });

  it.each(ALL)('%s starts at the minimum with one or two retries', (name) => {
    expect(delaysOf(backoff({ function: name, retries: 0 }))).toEqual([]);
    expect(delaysOf(backoff({ function: name, retries: 1 }))).toEqual([5]);
    expect(delaysOf(backoff({ function: name, retries: 2 }))[0]).toBe(5);
  });

  it.each(ALL)('%s is constant if minimum and maximum are equal', (name) => {
    expect(delaysOf(backoff({ function: name, minimum: 7, maximum: 7, retries: 4 }))).toEqual([7, 7, 7, 7]);
  });

  it('are one per retry, never decrease and stay within the bounds', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        const delays = delaysOf(drawn);
        expect(delays).toHaveLength(drawn.retries);
        delays.reduce((before, delay) => {
          expect(delay).toBeGreaterThanOrEqual(before);
          expect(delay).toBeLessThanOrEqual(drawn.maximum);
          return delay;
        }, drawn.minimum);
      }),
    );
  });

  it('start at the minimum and end at exactly the maximum with two or more retries', () => {
    fc.assert(
      fc.property(anyBackoff(SERIES), (drawn) => {
        fc.pre(drawn.retries >= 2);
        const delays = delaysOf(drawn);
        expect(delays[0]).toBe(drawn.minimum);
        expect(delays.at(-1)).toBe(drawn.maximum);
      }),
    );
  });

  it.each(SERIES)('%s ends at the exact maximum where a power would be inexact', (name) => {
    expect(0.1 * (1.9 / 0.1)).not.toBe(1.9);
    expect(delaysOf(backoff({ function: name, minimum: 0.1, maximum: 1.9, retries: 3 })).at(-1)).toBe(1.9);
  });

  it('follow the documented formulas', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        fc.pre(drawn.retries >= 2);
        delaysOf(drawn).forEach((delay, index) => {
          expect(Math.abs(delay / asWritten(drawn, index + 1) - 1)).toBeLessThan(1e-9);
        });
      }),
    );
  });
});

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
  });
});

const policy = (overrides: Partial<RetryPolicy>): RetryPolicy => ({ ...DEFAULT_RETRY_POLICY, ...overrides });

const anyPolicy: fc.Arbitrary<RetryPolicy> = fc
  .record({
    retries_with_no_delay: fc.integer({ min: 0, max: 25 }),
    minimum_delay_retries: fc.integer({ min: 0, max: 25 }),
    backoff_retries: fc.integer({ min: 0, max: 25 }),
    maximum_delay_retries: fc.integer({ min: 0, max: 25 }),
    minimum_delay: fc.integer({ min: 1, max: 100 }),
    above: fc.integer({ min: 0, max: 604_700 }),
    retry_backoff_function: fc.constantFrom(...ALL),
    backoff_exponent: fc.double({ min: 1, max: 1000, minExcluded: true, noNaN: true }),
    jitter: fc.constantFrom<Jitter[]>('none', 'full', 'equal'),
  })
  .map(({ above, ...drawn }) => policy({ ...drawn, maximum_delay: drawn.minimum_delay + above }));

describe('retry schedule', () => {
  it("matches the original document's example: 12 backoff retries at 5, 10, …, 60 between the other phases", () => {
    const documented = policy({ minimum_delay: 5, maximum_delay: 60, backoff_retries: 12 });
    const schedule = retrySchedule(documented);
    expect(schedule.map(({ phase, delaySeconds }) => [phase, delaySeconds])).toEqual([
      ...Array.from({ length: 3 }, () => ['immediate', 0]),
      ...Array.from({ length: 3 }, () => ['pre_backoff', 5]),
      ...[5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60].map((delay) => ['backoff', delay]),
      ...Array.from({ length: 3 }, () => ['post_backoff', 60]),
    ]);
    expect(totalSeconds(documented)).toBe(585);
  });

  it('has 19 retries over 280 seconds by default', () => {
    expect(retrySchedule(DEFAULT_RETRY_POLICY)).toHaveLength(19);
    expect(totalSeconds(DEFAULT_RETRY_POLICY)).toBe(280);
  });

  it('passes the exponent to capped_exponential', () => {
    const series = { retry_backoff_function: 'capped_exponential', backoff_exponent: 3 } as const;
    const backoff = retrySchedule(policy({ ...series, backoff_retries: 3 })).filter(
      ({ phase }) => phase === 'backoff',
    );
    expect(backoff.map(({ delaySeconds }) => delaySeconds)).toEqual([5, 15, 30]);
  });

  it('has exactly the retries of each phase in order, numbered without gaps', () => {
    fc.assert(
      fc.property(anyPolicy, (drawn) => {
        const schedule = retrySchedule(drawn);
        expect(schedule.map(({ phase }) => phase)).toEqual([
          ...Array.from({ length: drawn.retries_with_no_delay }, () => 'immediate'),
          ...Array.from({ length: drawn.minimum_delay_retries }, () => 'pre_backoff'),
          ...Array.from({ length: drawn.backoff_retries }, () => 'backoff'),
          ...Array.from({ length: drawn.maximum_delay_retries }, () => 'post_backoff'),
        ]);
        expect(schedule.every(({ retry }, index) => retry === index + 1)).toBe(true);
      }),
    );
  });

  it('does not depend on jitter', () => {
    expect(retrySchedule(policy({ jitter: 'full' }))).toEqual(retrySchedule(policy({ jitter: 'none' })));
  });
});
