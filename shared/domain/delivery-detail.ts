import type { Delivery } from './delivery.ts';
import type { PlannedAttempt } from './next-attempt.ts';
import type { PolicySource } from './policy-in-force.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** A delivery, what it follows and what is to come. */
export type DeliveryDetail = {
  delivery: Delivery;
  policy: RetryPolicy;
  /** `delivery`: kept on it at its round's first failure; else where the one comes from that would be kept now. */
  policySource: PolicySource | 'delivery';
  planned: readonly PlannedAttempt[];
};
