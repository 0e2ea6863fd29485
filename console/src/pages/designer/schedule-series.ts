import type { BackoffFunction } from '../../../../shared/domain/vocabulary.ts';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../../shared/domain/retry/schedule.ts';

/** Seconds before each retry by this function, the rest of the policy being the same. */
export function delaysOf(policy: RetryPolicy, retry_backoff_function: BackoffFunction): number[] {
  return retrySchedule({ ...policy, retry_backoff_function }).map(({ delaySeconds }) => delaySeconds);
}

/** Seconds from the end of the first attempt to each retry, if the attempts took no time. */
export function runningTotal(delays: readonly number[]): number[] {
  let total = 0;
  return delays.map((delay) => (total += delay));
}
