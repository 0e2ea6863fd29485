import type { HealthChange } from '../domain/subscription-health.ts';
import type { Disabled, Queue, Subscription } from '../domain/subscription.ts';

/**
 * How old an answer may be: `cached` up to the deployment's `subscriptionCacheSeconds`, `fresh` strongly consistent.
 * Absence (of a queue, of a subscription, of any subscription at all) is never answered from a cache.
 */
export type Freshness = 'cached' | 'fresh';

export type SubscriptionList = {
  queue: Queue;
  /** All of them, pages followed to the end, the expired and the disabled among them. */
  subscriptions: readonly Subscription[];
  /** When the list was read: a subscription created later is not in it. */
  readAt: number;
};

/** `refused`: the condition did not hold; `current` is the subscription that refused it, undefined where it is gone. */
export type HealthResult =
  { kind: 'written'; subscription: Subscription } | { kind: 'refused'; current: Subscription | undefined };

/** What dispatch and deliver need of the subscriptions table. */
export interface Subscriptions {
  /** Undefined: there is no such queue. */
  list(queue: string, freshness: Freshness): Promise<SubscriptionList | undefined>;
  /** A subscription beside its queue; either may be undefined because it is gone. */
  find(
    queue: string,
    subscriptionId: string,
    freshness: Freshness,
  ): Promise<{ queue: Queue | undefined; subscription: Subscription | undefined }>;
  /**
   * Disables for a reason. A subscription that is gone, or disabled already, stays as it is, and so does one whose
   * `changedAt` is not the given one. The answer is what it is disabled for then; undefined: it is not, or it is gone.
   */
  disable(
    queue: string,
    subscriptionId: string,
    disabled: Disabled,
    changedAt?: number,
  ): Promise<Disabled | undefined>;
  /** One conditional write. A subscription that is gone refuses it. */
  changeHealth(queue: string, subscriptionId: string, change: HealthChange): Promise<HealthResult>;
}
