import type { BackoffFunction } from '../../../../shared/domain/retry/vocabulary.ts';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../../shared/domain/retry/schedule.ts';

/** The delay in seconds before each retry of the policy with this backoff function. */
export function delaysOf(policy: RetryPolicy, retry_backoff_function: BackoffFunction): number[] {
  return retrySchedule({ ...policy, retry_backoff_function }).map(({ delaySeconds }) => delaySeconds);
}

/** Seconds from the first attempt to each retry, if attempts took no time. */
export function runningTotal(delays: readonly number[]): number[] {
  let total = 0;
  return delays.map((delay) => (total += delay));
}
