import * as z from 'zod';
import { completePolicySchema, type RetryPolicy } from '../../domain/retry/policy.ts';
import { lengthened, shortened } from './short-names.ts';

const names = {
  retries_with_no_delay: 'i',
  minimum_delay_retries: 'pre',
  minimum_delay: 'min',
  maximum_delay: 'max',
  maximum_delay_retries: 'post',
  retry_backoff_function: 'f',
  ignore_subscription_override: 'own',
  backoff_retries: 'b',
  backoff_exponent: 'exp',
  jitter: 'j',
  retry_on_status: 'on',
} as const satisfies Record<keyof RetryPolicy, string>;

/** The policy of a round, on its delivery. */
export function policyItemOf(policy: RetryPolicy): Record<string, unknown> {
  return shortened(names, policy);
}

export const policyItemSchema = z
  .record(z.string(), z.unknown())
  .transform((item) => lengthened(names, item))
  .pipe(completePolicySchema);
