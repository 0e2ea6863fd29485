import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Jitter } from '../../../shared/domain/retry/vocabulary.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule, totalSeconds } from '../../../shared/domain/retry/schedule.ts';

const policy = (overrides: Partial<RetryPolicy>): RetryPolicy => ({ ...DEFAULT_RETRY_POLICY, ...overrides });

const anyPolicy: fc.Arbitrary<RetryPolicy> = fc
  .record({
    retries_with_no_delay: fc.integer({ min: 0, max: 25 }),
    minimum_delay_retries: fc.integer({ min: 0, max: 25 }),
    backoff_retries: fc.integer({ min: 0, max: 25 }),
    maximum_delay_retries: fc.integer({ min: 0, max: 25 }),
    minimum_delay: fc.integer({ min: 1, max: 100 }),
    above: fc.integer({ min: 0, max: 604_700 }),
    retry_backoff_function: fc.constantFrom<RetryPolicy['retry_backoff_function'][]>(
      'linear',
      'arithmetic',
      'geometric',
      'exponential',
      'capped_exponential',
    ),
    backoff_exponent: fc.double({ min: 1, max: 1000, minExcluded: true, noNaN: true }),
    jitter: fc.constantFrom<Jitter[]>('none', 'full', 'equal'),
  })
  .map(({ above, ...drawn }) => policy({ ...drawn, maximum_delay: drawn.minimum_delay + above }));

describe('retry schedule', () => {
  it("matches the original document's example: 12 backoff retries at 5, 10, …, 60 between the other phases", () => {
    const schedule = retrySchedule(policy({ minimum_delay: 5, maximum_delay: 60, backoff_retries: 12 }));

    expect(schedule.map(({ phase, delaySeconds }) => [phase, delaySeconds])).toEqual([
      ...Array.from({ length: 3 }, () => ['immediate', 0]),
      ...Array.from({ length: 3 }, () => ['pre_backoff', 5]),
      ...[5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60].map((delay) => ['backoff', delay]),
      ...Array.from({ length: 3 }, () => ['post_backoff', 60]),
    ]);
    expect(schedule.map(({ retry }) => retry)).toEqual(Array.from({ length: 21 }, (_, index) => index + 1));
    expect(totalSeconds(policy({ minimum_delay: 5, maximum_delay: 60, backoff_retries: 12 }))).toBe(585);
  });

  it('has 19 retries over 280 seconds by default', () => {
    expect(retrySchedule(DEFAULT_RETRY_POLICY)).toHaveLength(19);
    expect(totalSeconds(DEFAULT_RETRY_POLICY)).toBe(280);
  });

  it('passes the exponent to capped_exponential', () => {
    const capped = policy({
      retry_backoff_function: 'capped_exponential',
      backoff_exponent: 3,
      backoff_retries: 3,
    });
    const backoff = retrySchedule(capped).filter(({ phase }) => phase === 'backoff');
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
