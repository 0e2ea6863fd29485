import type { BackoffFunction, RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../../shared/domain/retry/schedule.ts';

export const FUNCTIONS = [
  'linear',
  'arithmetic',
  'geometric',
  'exponential',
  'capped_exponential',
] as const satisfies readonly BackoffFunction[];

/** Seconds before each retry, by function, the rest of the policy being the same. */
export type ScheduleSeries = { retries: number[]; delays: Readonly<Record<BackoffFunction, number[]>> };

export function scheduleSeries(policy: RetryPolicy): ScheduleSeries {
  const delaysBy = (retry_backoff_function: BackoffFunction): number[] =>
    retrySchedule({ ...policy, retry_backoff_function }).map(({ delaySeconds }) => delaySeconds);
  return {
    retries: retrySchedule(policy).map(({ retry }) => retry),
    delays: {
      linear: delaysBy('linear'),
      arithmetic: delaysBy('arithmetic'),
      geometric: delaysBy('geometric'),
      exponential: delaysBy('exponential'),
      capped_exponential: delaysBy('capped_exponential'),
    },
  };
}

/** Seconds from the end of the first attempt to each retry, if the attempts took no time. */
export function runningTotal(delays: readonly number[]): number[] {
  let total = 0;
  return delays.map((delay) => (total += delay));
}
