import type { FieldError } from '../errors.ts';
import type { PartialRetryPolicy, RetryPolicy } from './policy.ts';
import { totalSeconds } from './schedule.ts';

const DAY_SECONDS = 86_400;

/**
 * Bounds a schedule: a delivery's record must outlive it, and a typo must not cause years of retries
 * (docs/retry-policy.md#limits).
 */
export const MAXIMUM_DELAY_LIMIT_SECONDS = 7 * DAY_SECONDS;
const SCHEDULE_LIMIT_SECONDS = 15 * DAY_SECONDS;
const RETRIES_LIMIT = 100;

/**
 * Longest duration of a delivery, in milliseconds: the longest schedule, with each retry delayed by the Retry-After
 * cap.
 */
export function longestScheduleMs(retryAfterCapMs: number): number {
  return SCHEDULE_LIMIT_SECONDS * 1000 + RETRIES_LIMIT * retryAfterCapMs;
}

/** Field name for errors about the whole policy. */
export const WHOLE_POLICY = '_retry_policy';

const COUNTS = [
  'retries_with_no_delay',
  'minimum_delay_retries',
  'backoff_retries',
  'maximum_delay_retries',
] as const;

const SCHEDULE_FIELDS = [
  ...COUNTS,
  'minimum_delay',
  'maximum_delay',
  'retry_backoff_function',
  'backoff_exponent',
] as const;

/**
 * Errors that depend on several fields of a policy. `wrong`: fields already reported; checks that need their values
 * are skipped, because they would use defaults that the user did not choose.
 */
export function limitErrors(
  given: PartialRetryPolicy,
  defaults: RetryPolicy,
  wrong: ReadonlySet<string>,
): FieldError[] {
  const policy = { ...defaults, ...given };
  const order = wrong.has('minimum_delay') || wrong.has('maximum_delay') ? [] : orderErrors(policy, given);
  const count = countErrors(policy, wrong);
  const schedulable =
    order.length === 0 && count.length === 0 && !SCHEDULE_FIELDS.some((field) => wrong.has(field));
  return [...order, ...count, ...(schedulable ? lengthErrors(policy) : [])];
}

function orderErrors(policy: RetryPolicy, given: PartialRetryPolicy): FieldError[] {
  const { minimum_delay, maximum_delay } = policy;
  if (maximum_delay >= minimum_delay) return [];
  const named = (field: 'minimum_delay' | 'maximum_delay'): string =>
    given[field] === undefined ? `${policy[field]} by default` : `${policy[field]}`;
  const message = `must not be below minimum_delay: it is ${named('maximum_delay')}, minimum_delay is ${named('minimum_delay')}`;
  return [{ field: 'maximum_delay', message }];
}

function countErrors(policy: RetryPolicy, wrong: ReadonlySet<string>): FieldError[] {
  const counts = COUNTS.filter((field) => !wrong.has(field)).map((field) => policy[field]);
  const retries = counts.reduce((sum, count) => sum + count, 0);
  if (retries <= RETRIES_LIMIT) return [];
  const message = `must not exceed ${RETRIES_LIMIT} retries in total: ${counts.join(' + ')} = ${retries}, including defaults`;
  return [{ field: WHOLE_POLICY, message }];
}

/** Rounding tolerance for a sum of up to 100 fractions, so that a schedule of exactly the limit is accepted. */
const ROUNDING_SECONDS = 1e-6;

function lengthErrors(policy: RetryPolicy): FieldError[] {
  const seconds = totalSeconds(policy);
  if (seconds <= SCHEDULE_LIMIT_SECONDS + ROUNDING_SECONDS) return [];
  const message = `must not exceed 15 days (${SCHEDULE_LIMIT_SECONDS} s) in total: it takes ${Math.ceil(seconds)} s, including defaults`;
  return [{ field: WHOLE_POLICY, message }];
}
