import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffDelays, type Backoff } from '../../../shared/domain/retry/schedule.ts';
import type { BackoffFunction } from '../../../shared/domain/retry/vocabulary.ts';

const SERIES: BackoffFunction[] = ['linear', 'arithmetic', 'geometric', 'exponential'];
const ALL: BackoffFunction[] = [...SERIES, 'capped_exponential'];

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
  it.each<[string, Partial<Backoff>, number[]]>([
    ['linear grows by equal steps', {}, [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]],
    [
      'arithmetic grows by increasing steps',
      { function: 'arithmetic', maximum: 35, retries: 4 },
      [5, 10, 20, 35],
    ],
    ['geometric grows by a factor', { function: 'geometric', maximum: 80, retries: 5 }, [5, 10, 20, 40, 80]],
    [
      'exponential is the same series as geometric',
      { function: 'exponential', maximum: 80, retries: 5 },
      [5, 10, 20, 40, 80],
    ],
    [
      'geometric keeps whole delays exact',
      { function: 'geometric', minimum: 1, maximum: 1000, retries: 4 },
      [1, 10, 100, 1000],
    ],
    [
      'capped_exponential stays at the maximum',
      { function: 'capped_exponential', retries: 6 },
      [5, 10, 20, 40, 60, 60],
    ],
    [
      'capped_exponential may end below the maximum',
      { function: 'capped_exponential', retries: 3 },
      [5, 10, 20],
    ],
    [
      'capped_exponential accepts fractional exponents',
      { function: 'capped_exponential', retries: 3, exponent: 1.5 },
      [5, 7.5, 11.25],
    ],
    [
      'capped_exponential caps an enormous exponent',
      { function: 'capped_exponential', retries: 3, exponent: 1e300 },
      [5, 60, 60],
    ],
  ])('%s', (_, overrides, delays) => {
    expect(backoffDelays(backoff(overrides))).toEqual(delays);
  });

  it.each(ALL)('%s starts at the minimum with one or two retries', (name) => {
    expect(backoffDelays(backoff({ function: name, retries: 0 }))).toEqual([]);
    expect(backoffDelays(backoff({ function: name, retries: 1 }))).toEqual([5]);
    expect(backoffDelays(backoff({ function: name, retries: 2 }))[0]).toBe(5);
  });

  it.each(ALL)('%s is constant if minimum and maximum are equal', (name) => {
    expect(backoffDelays(backoff({ function: name, minimum: 7, maximum: 7, retries: 4 }))).toEqual([
      7, 7, 7, 7,
    ]);
  });

  it('are one per retry, never decrease and stay within the bounds', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        const delays = backoffDelays(drawn);
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
        const delays = backoffDelays(drawn);
        expect(delays[0]).toBe(drawn.minimum);
        expect(delays.at(-1)).toBe(drawn.maximum);
      }),
    );
  });

  it.each(SERIES)('%s ends at the exact maximum where a power would be inexact', (name) => {
    expect(0.1 * (1.9 / 0.1)).not.toBe(1.9);
    expect(backoffDelays(backoff({ function: name, minimum: 0.1, maximum: 1.9, retries: 3 })).at(-1)).toBe(
      1.9,
    );
  });

  it('start at the minimum for capped_exponential', () => {
    fc.assert(
      fc.property(anyBackoff(['capped_exponential']), (drawn) => {
        fc.pre(drawn.retries >= 1);
        expect(backoffDelays(drawn)[0]).toBe(drawn.minimum);
      }),
    );
  });

  it('follow the documented formulas', () => {
    fc.assert(
      fc.property(anyBackoff(ALL), (drawn) => {
        fc.pre(drawn.retries >= 2);
        backoffDelays(drawn).forEach((delay, index) => {
          expect(Math.abs(delay / asWritten(drawn, index + 1) - 1)).toBeLessThan(1e-9);
        });
      }),
    );
  });

  it('follow the recurrence of the arithmetic series: each delay adds d(n − 1) to the previous one', () => {
    const { minimum, maximum, retries } = backoff({ maximum: 95, retries: 10 });
    const d = (2 * (maximum - minimum)) / (retries * (retries - 1));
    const delays = backoffDelays(backoff({ function: 'arithmetic', maximum, retries }));
    for (let n = 2; n <= retries; n += 1)
      expect(delays[n - 1]).toBeCloseTo((delays[n - 2] ?? NaN) + d * (n - 1), 9);
  });
});
