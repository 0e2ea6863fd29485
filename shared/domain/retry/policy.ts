import * as z from 'zod';
import { BACKOFF_FUNCTIONS, JITTERS, type PolicySource } from '../vocabulary.ts';

/**
 * What a retry policy is (docs/policy.md), in the order of its fields; delays are seconds. Only types: a stored policy stays readable
 * when a bound changes. The bounds on what users give are in policy-schema.ts.
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

/** With every field present. */
export const completePolicySchema = partialPolicySchema.required();

export type RetryPolicy = z.output<typeof completePolicySchema>;

/** A policy as a user gave it: validated, not yet completed from the defaults. */
export type PartialRetryPolicy = z.output<typeof partialPolicySchema>;

/** What a deployment uses that sets no `defaultRetryPolicy` of its own. */
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

/** A policy ready to be followed. `warning` says what had to be changed to make it so; it names no queue and no subscription. */
type CompletedRetryPolicy = { policy: RetryPolicy; warning?: string };

/**
 * Fills what a policy leaves out from the defaults. Never fails: a policy was checked when it was stored, and should the
 * defaults have changed under it since, a schedule that is a little longer is better than a delivery that is given up.
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
    warning: `maximum_delay ${maximum_delay} is below minimum_delay ${minimum_delay} with the present defaults; ${minimum_delay} is used for both`,
  };
}

/** The policies that a delivery could follow. An empty object is a policy: all defaults. */
type PolicyCandidates = {
  subscription?: PartialRetryPolicy | undefined;
  queue?: PartialRetryPolicy | undefined;
  defaults: RetryPolicy;
};

export type PolicyInForce = CompletedRetryPolicy & { source: PolicySource };

/**
 * The policy a delivery follows (docs/policy.md#which-policy-is-in-force): the subscription's; else the queue's; else the defaults. A queue whose
 * policy says `ignore_subscription_override`, itself or by the defaults that complete it, comes first.
 */
export function policyInForce({ subscription, queue, defaults }: PolicyCandidates): PolicyInForce {
  const ofQueue = queue && completeRetryPolicy(queue, defaults);
  if (ofQueue?.policy.ignore_subscription_override === true) return { source: 'queue', ...ofQueue };
  if (subscription) return { source: 'subscription', ...completeRetryPolicy(subscription, defaults) };
  if (ofQueue) return { source: 'queue', ...ofQueue };
  return { source: 'defaults', policy: defaults };
}
