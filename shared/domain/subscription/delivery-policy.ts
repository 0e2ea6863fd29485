import {
  policyInForce,
  type CompletedRetryPolicy,
  type PolicyInForce,
  type RetryPolicy,
} from '../retry/policy.ts';
import { TOO_MANY_REQUESTS } from '../retry/outcome.ts';
import type { Queue, SubscriptionOptions } from './subscription.ts';
import { choosePaceSwitches, type PaceSwitches } from './switches.ts';

/** What applies where neither the subscription nor its queue says anything. */
export type RetryDefaults = PaceSwitches & {
  defaultRetryPolicy: RetryPolicy;
  /** `retry_throttled` of the subscriptions that do not set it. */
  retryThrottled: boolean;
};

/** Undefined: it was deleted. */
type PolicyOwners = {
  queue: Pick<Queue, 'metadata' | 'retryPolicy'> | undefined;
  subscription: { options: SubscriptionOptions } | undefined;
};

/**
 * The policy of a delivery whose round has none yet. Its `retry_on_status` includes 429 if `retry_throttled` or
 * `adapt_to_throttling` is on.
 */
export function policyFor(
  { queue, subscription = { options: {} } }: PolicyOwners,
  defaults: RetryDefaults,
): PolicyInForce {
  const inForce = policyInForce({
    subscription: subscription.options._retry_policy,
    queue: queue?.retryPolicy,
    defaults: defaults.defaultRetryPolicy,
  });
  return { ...inForce, policy: withThrottled(inForce.policy, { queue, subscription }, defaults) };
}

/**
 * The policy of a delivery: that stored at its round's first failure; before that, the policy in force now. A stored
 * one also follows the switches: those may have been turned on since.
 */
export function policyOfRound(
  { policy }: { policy?: RetryPolicy | undefined },
  owners: PolicyOwners,
  defaults: RetryDefaults,
): CompletedRetryPolicy {
  return policy === undefined
    ? policyFor(owners, defaults)
    : { policy: withThrottled(policy, owners, defaults) };
}

function withThrottled(
  policy: RetryPolicy,
  { queue, subscription = { options: {} } }: PolicyOwners,
  defaults: RetryDefaults,
): RetryPolicy {
  const { retry_throttled = defaults.retryThrottled } = subscription.options;
  const isRetried =
    retry_throttled || choosePaceSwitches({ queue, subscription }, defaults).adaptToThrottling;
  const { retry_on_status } = policy;
  return !isRetried || retry_on_status.includes(TOO_MANY_REQUESTS)
    ? policy
    : { ...policy, retry_on_status: [...retry_on_status, TOO_MANY_REQUESTS] };
}
