import * as z from 'zod';
import { BACKOFF_FUNCTIONS, JITTERS, type PolicySource } from './vocabulary.ts';

/**
 * Field types of a retry policy (docs/retry-policy.md); delays in seconds. No bounds, so that a stored policy stays
 * readable when a bound changes: policy-schema.ts has the bounds for user input.
 */
export const partialPolicySchema = z.object({
  retries_with_no_delay: z.int().exactOptional(),
  minimum_delay_retries: z.int().exactOptional(),
  minimum_delay: z.int().exactOptional(),
  maximum_delay: z.int().exactOptional(),
  maximum_delay_retries: z.int().exactOptional(),
  retry_backoff_function: z.enum(BACKOFF_FUNCTIONS).exactOptional(),
  ignore_subscription_override: z.boolean().exactOptional(),
  backoff_retries: z.int().exactOptional(),
  backoff_exponent: z.number().exactOptional(),
  jitter: z.enum(JITTERS).exactOptional(),
  retry_on_status: z.array(z.int()).exactOptional(),
});

/** All fields present. */
export const completePolicySchema = partialPolicySchema.required();

export type RetryPolicy = z.output<typeof completePolicySchema>;

/** A user's policy: validated, not completed from the defaults. */
export type PartialRetryPolicy = z.output<typeof partialPolicySchema>;

/** Policy of a deployment without the setting `defaultRetryPolicy`. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  retries_with_no_delay: 3,
  minimum_delay_retries: 3,
  minimum_delay: 5,
  maximum_delay: 30,
  maximum_delay_retries: 3,
  retry_backoff_function: 'linear',
  ignore_subscription_override: false,
  backoff_retries: 10,
  backoff_exponent: 2,
  jitter: 'none',
  retry_on_status: [],
};

/** A complete policy. `warning` names a changed value; it names no queue and no subscription. */
export type CompletedRetryPolicy = { policy: RetryPolicy; warning?: string };

/**
 * Completes a policy from the defaults; never fails. A stored policy was valid, but the defaults may have changed
 * since: a slightly longer schedule is better than a delivery that is given up.
 */
export function completeRetryPolicy(
  partial: PartialRetryPolicy,
  defaults: RetryPolicy,
): CompletedRetryPolicy {
  const policy = { ...defaults, ...partial };
  const { minimum_delay, maximum_delay } = policy;
  if (maximum_delay >= minimum_delay) return { policy };
  return {
    policy: { ...policy, maximum_delay: minimum_delay },
    warning: `maximum_delay ${maximum_delay} is below minimum_delay ${minimum_delay} with the current defaults; ${minimum_delay} is used for both`,
  };
}

/** Policies that may apply to a delivery. An empty object is a policy with all defaults. */
type PolicyCandidates = {
  subscription?: PartialRetryPolicy | undefined;
  queue?: PartialRetryPolicy | undefined;
  defaults: RetryPolicy;
};

export type PolicyInForce = CompletedRetryPolicy & { source: PolicySource };

/**
 * The policy of a delivery (docs/retry-policy.md#which-policy-is-in-force): the subscription's, else the queue's, else
 * the defaults. The queue's comes first if it sets `ignore_subscription_override`, directly or by default.
 */
export function policyInForce({ subscription, queue, defaults }: PolicyCandidates): PolicyInForce {
  const ofQueue = queue && completeRetryPolicy(queue, defaults);
  if (ofQueue?.policy.ignore_subscription_override === true) return { source: 'queue', ...ofQueue };
  if (subscription) return { source: 'subscription', ...completeRetryPolicy(subscription, defaults) };
  if (ofQueue) return { source: 'queue', ...ofQueue };
  return { source: 'defaults', policy: defaults };
}
