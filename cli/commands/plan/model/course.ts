import type { Mechanism } from '../../../../shared/domain/vocabulary.ts';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../../shared/domain/retry/schedule.ts';
import { planWakeUp } from '../../../../shared/domain/retry/wake-up-plan.ts';

/** A retry of a policy: how it is brought about, and how long after the first attempt, in seconds. */
export type PlannedRetry = { mechanism: Mechanism; delaySeconds: number; offsetSeconds: number };

/**
 * The retries of a policy in order, attempts taken for instantaneous. Jitter is left out: delays are the longest there can be.
 * @param thresholdSeconds the setting `schedulerThreshold`
 */
export function plannedRetries(policy: RetryPolicy, thresholdSeconds: number): PlannedRetry[] {
  let offsetSeconds = 0;
  return retrySchedule(policy).map(({ delaySeconds }) => {
    offsetSeconds += delaySeconds;
    return { mechanism: mechanismOf(delaySeconds, thresholdSeconds), delaySeconds, offsetSeconds };
  });
}

function mechanismOf(delaySeconds: number, thresholdSeconds: number): Mechanism {
  return delaySeconds === 0 ? 'same_invocation' : planWakeUp(delaySeconds * 1000, 0, thresholdSeconds).by;
}

/** How a delivery goes: its first `failures` attempts fail; `exhausted`: and there was no other. */
export type Course = { failures: number; exhausted: boolean };

/**
 * The course of a delivery whose subscriber fails for so many seconds from the first attempt on. The first one always fails;
 * a retry succeeds that starts when the time is over.
 */
export function courseThrough(retries: readonly PlannedRetry[], failingSeconds: number): Course {
  const failedRetries = retries.filter(({ offsetSeconds }) => offsetSeconds < failingSeconds).length;
  return { failures: 1 + failedRetries, exhausted: failedRetries === retries.length };
}
