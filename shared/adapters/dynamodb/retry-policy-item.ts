import * as z from 'zod';
import { BACKOFF_FUNCTIONS, JITTERS } from '../../domain/vocabulary.ts';
import type { RetryPolicy } from '../../domain/retry/policy.ts';
import { lengthened, shortened } from './short-names.ts';

/** What was checked when it was stored is only told apart here, not judged again: rules may have changed since. */
const policyFields = {
  retries_with_no_delay: z.number(),
  minimum_delay_retries: z.number(),
  minimum_delay: z.number(),
  maximum_delay: z.number(),
  maximum_delay_retries: z.number(),
  retry_backoff_function: z.enum(BACKOFF_FUNCTIONS),
  ignore_subscription_override: z.boolean(),
  backoff_retries: z.number(),
  backoff_exponent: z.number(),
  jitter: z.enum(JITTERS),
  retry_on_status: z.array(z.number()),
} satisfies Record<keyof RetryPolicy, z.ZodType>;

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

/** A policy as a queue or a subscription has it, under its own names. */
export const partialPolicySchema = z.object({
  retries_with_no_delay: policyFields.retries_with_no_delay.exactOptional(),
  minimum_delay_retries: policyFields.minimum_delay_retries.exactOptional(),
  minimum_delay: policyFields.minimum_delay.exactOptional(),
  maximum_delay: policyFields.maximum_delay.exactOptional(),
  maximum_delay_retries: policyFields.maximum_delay_retries.exactOptional(),
  retry_backoff_function: policyFields.retry_backoff_function.exactOptional(),
  ignore_subscription_override: policyFields.ignore_subscription_override.exactOptional(),
  backoff_retries: policyFields.backoff_retries.exactOptional(),
  backoff_exponent: policyFields.backoff_exponent.exactOptional(),
  jitter: policyFields.jitter.exactOptional(),
  retry_on_status: policyFields.retry_on_status.exactOptional(),
});

/** The policy of a round, on its delivery. */
export function policyItemOf(policy: RetryPolicy): Record<string, unknown> {
  return shortened(names, policy);
}

export const policyItemSchema = z
  .record(z.string(), z.unknown())
  .transform((item) => lengthened(names, item))
  .pipe(z.object(policyFields));
