import * as z from 'zod';
import { WHOLE_POLICY } from '../../shared/domain/retry/policy-limits.ts';
import { parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { refusedFields } from './errors.ts';

/** Of a query; false where it is left out. In any case of letters, because Zaqar's own client writes what Python prints. */
export const flag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false'], 'must be true or false'))
  .default('false')
  .transform((text) => text === 'true')
  .meta({ override: { type: 'boolean', default: false } });

/** Ten years: longer is a typing error, and the time it leads to must stay one that a date can hold. */
export const MAX_TTL_SECONDS = 315_360_000;

export function seconds(minimum: number, maximum: number) {
  const rule = `must be an integer number of seconds from ${minimum} to ${maximum}`;
  return z.int(rule).min(minimum, rule).max(maximum, rule);
}

/** Control characters and non-characters: what SQS or a header could not carry. */
const PRINTABLE = /^[^\u0000-\u001f\u007f-\u009f\ufffe\uffff]*$/u;

const LONE_SURROGATE = /\p{Cs}/u;

export function printable(maxLength: number) {
  const rule = `must be text of 1 to ${maxLength} characters without control characters`;
  return z
    .string(rule)
    .min(1, rule)
    .max(maxLength, rule)
    .regex(PRINTABLE, rule)
    .refine((text) => !LONE_SURROGATE.test(text), rule);
}

/** The type of a message. */
export const messageType = printable(256);

/**
 * The retry policy under `at` (`_retry_policy`, `options._retry_policy`), checked together with the defaults that will complete it.
 * @throws RefusedRequest `invalid_retry_policy`; a fault of the whole policy names `at` itself.
 */
export function retryPolicyAt(at: string, input: unknown, defaults: RetryPolicy): PartialRetryPolicy {
  const result = parseRetryPolicy(input, defaults);
  if (result.ok) return result.policy;
  const fields = result.fields.map(({ field, message }) => ({
    field: field === WHOLE_POLICY ? at : `${at}.${field}`,
    message,
  }));
  throw refusedFields('invalid_retry_policy', fields);
}
