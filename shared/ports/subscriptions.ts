import type { DisabledReason, Queue, Subscription } from '../domain/subscription.ts';

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
  /** Disables for a reason. A subscription that is gone, or disabled already, stays as it is. */
  disable(
    queue: string,
    subscriptionId: string,
    disabled: { reason: DisabledReason; at: number },
  ): Promise<void>;
}
