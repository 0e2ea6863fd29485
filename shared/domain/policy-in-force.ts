import { completeRetryPolicy } from './retry-policy.ts';
import type { CompletedRetryPolicy, PartialRetryPolicy, RetryPolicy } from './retry-policy.ts';

/** The policies that a delivery could follow. An empty object is a policy: all defaults. */
type PolicyCandidates = {
  subscription?: PartialRetryPolicy | undefined;
  queue?: PartialRetryPolicy | undefined;
  defaults: RetryPolicy;
};

export type PolicySource = 'subscription' | 'queue' | 'defaults';

export type PolicyInForce = CompletedRetryPolicy & { source: PolicySource };

/**
 * The policy a delivery follows (design §3): the subscription's; else the queue's; else the defaults. A queue whose
 * policy says `ignore_subscription_override`, itself or by the defaults that complete it, comes first.
 */
export const policyInForce = ({ subscription, queue, defaults }: PolicyCandidates): PolicyInForce => {
  const ofQueue = queue && completeRetryPolicy(queue, defaults);
  if (ofQueue?.policy.ignore_subscription_override === true) return { source: 'queue', ...ofQueue };
  if (subscription) return { source: 'subscription', ...completeRetryPolicy(subscription, defaults) };
  if (ofQueue) return { source: 'queue', ...ofQueue };
  return { source: 'defaults', policy: defaults };
};
