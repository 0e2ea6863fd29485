import { WHOLE_POLICY } from '../../shared/domain/retry-policy-limits.ts';
import { parseRetryPolicy } from '../../shared/domain/retry-policy-schema.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry-policy.ts';
import { refusedFields } from './error-answers.ts';

/**
 * The retry policy under `at` (`_retry_policy`, `options._retry_policy`), checked together with the defaults that will complete it.
 * @throws RefusedRequest `invalid_retry_policy`; a fault of the whole policy names `at` itself.
 */
export const retryPolicyAt = (at: string, input: unknown, defaults: RetryPolicy): PartialRetryPolicy => {
  const result = parseRetryPolicy(input, defaults);
  if (result.ok) return result.policy;
  const fields = result.fields.map(({ field, message }) => ({
    field: field === WHOLE_POLICY ? at : `${at}.${field}`,
    message,
  }));
  throw refusedFields('invalid_retry_policy', fields);
};
