import type { RateLimit, Slot } from '../domain/subscription/rate-limit.ts';
import type { CountingWindow, ReceiverCounts } from '../domain/subscription/back-pressure.ts';
import type { SubscriptionKey } from '../domain/subscription/subscription.ts';

/**
 * Constraints on a slot, in milliseconds since the epoch. `from`: no earlier slot; a line that ends before it has
 * none. `until`: no later slot, such as when the message expires.
 */
export type SlotConstraints = { from?: number | undefined; until?: number | undefined };

/** Slot lines of rate-limited subscriptions. */
export interface RateLimits {
  /**
   * Reserves the next free slot for the caller. Without one, returns a slot without an epoch, whose time says when
   * to ask again. A missed slot need not be returned: the rate never exceeds the limit.
   */
  reserve(limited: SubscriptionKey, limit: RateLimit, wanted?: SlotConstraints): Promise<Slot>;
  /** Returns an unused slot for other deliveries; at most once per slot. A slot of an outdated line is ignored. */
  returnSlot(limited: SubscriptionKey, slot: Slot): Promise<void>;
}

/** What all function instances count of a subscription's requests while they watch it. */
export interface CountingWindows {
  find(subscription: SubscriptionKey): Promise<CountingWindow | undefined>;
  /** Adds to the window of that version, or begins it. Counts for an earlier version than the stored one are dropped. */
  add(subscription: SubscriptionKey, version: number, counts: ReceiverCounts): Promise<void>;
}
