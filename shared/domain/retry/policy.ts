import * as z from 'zod';
import {
  BACKOFF_FUNCTIONS,
  JITTERS,
  POLICY_PRESETS,
  type PolicySource,
  type PresetName,
} from './vocabulary.ts';

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

/** Refusals that usually pass: timeout, too early, too many requests. */
const PASSING_REFUSALS = [408, 425, 429];

/**
 * Complete policies by name (docs/retry-policy.md#presets). A name is replaced by its policy when it is accepted, so
 * that a changed preset leaves stored policies as they are.
 */
export const RETRY_POLICY_PRESETS: Readonly<Record<PresetName, RetryPolicy>> = {
  /** Gives up after a minute: at once, then 2, 4, 8, 16 and 30 s. */
  quick: {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 2,
    maximum_delay: 30,
    maximum_delay_retries: 0,
    retry_backoff_function: 'capped_exponential',
    ignore_subscription_override: false,
    backoff_retries: 5,
    backoff_exponent: 2,
    jitter: 'none',
    retry_on_status: PASSING_REFUSALS,
  },
  default: DEFAULT_RETRY_POLICY,
  /**
   * The example schedule of the Standard Webhooks specification, "Deliverability and reliability": 5 s, 5 min, 30 min,
   * 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, with jitter. As near as four phases come: at once, 5 min, 56 min, 2.6 h, 5.2 h,
   * 8.6 h, 12.9 h, 18 h and 24 h, each shortened by up to half. The specification retries every status except 410;
   * this policy lists the common ones, because each delivery stores them.
   */
  'standard-webhooks': {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 300,
    maximum_delay: 86_400,
    maximum_delay_retries: 0,
    retry_backoff_function: 'arithmetic',
    ignore_subscription_override: false,
    backoff_retries: 8,
    backoff_exponent: 2,
    jitter: 'equal',
    retry_on_status: [400, 401, 403, 404, 405, 408, 409, 422, 423, 425, 429],
  },
  /**
   * Tries for three days, which is the mean with jitter: at once, 5 s doubling to 2 h 51 min, then every 4 h. An
   * endpoint that comes back is called within 4 h.
   */
  patient: {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 5,
    maximum_delay: 14_400,
    maximum_delay_retries: 23,
    retry_backoff_function: 'capped_exponential',
    ignore_subscription_override: false,
    backoff_retries: 12,
    backoff_exponent: 2,
    jitter: 'equal',
    retry_on_status: PASSING_REFUSALS,
  },
};

export function isPresetName(text: string): text is PresetName {
  return POLICY_PRESETS.some((name) => name === text);
}

/** A sentence for a name that is no preset. Quotes only what looks like a name: anything else may be secret. */
export function unknownPreset(text: string): string {
  const sentence = /^[A-Za-z][\w-]{0,31}$/.test(text) ? `There is no preset ${text}. ` : '';
  return `${sentence}Presets: ${POLICY_PRESETS.join(', ')}`;
}
