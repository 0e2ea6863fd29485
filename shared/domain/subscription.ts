import type { PartialRetryPolicy } from './retry-policy.ts';

/** A named channel. `metadata` is the user's own and may hold `_retry_policy`, which is given parsed as well. */
export type Queue = {
  name: string;
  metadata: Record<string, unknown>;
  retryPolicy?: PartialRetryPolicy;
  createdAt: number;
};

/** How a subscriber wants to be called (Zaqar's `options`). */
export type SubscriptionOptions = {
  _retry_policy?: PartialRetryPolicy;
  post_headers?: Record<string, string>;
  /** Text in which `"$zaqar_message$"` stands for the whole body. */
  post_data?: string;
  /** Send the bare data. */
  raw_delivery?: boolean;
};

/** A subscriber's URL and options on one queue. Times are milliseconds since the epoch. */
export type Subscription = {
  id: string;
  queue: string;
  subscriber: string;
  options: SubscriptionOptions;
  createdAt: number;
  /** Seconds, as the user gave it. */
  ttl?: number;
  expiresAt?: number;
  disabled?: { reason: DisabledReason; at: number };
};

export type DisabledReason = 'gone';

/** Why a subscription takes no requests, if so. */
export type Absence = 'subscription_deleted' | 'subscription_expired' | 'disabled';

export const absenceOf = (subscription: Subscription | undefined, now: number): Absence | undefined => {
  if (subscription === undefined) return 'subscription_deleted';
  if (subscription.expiresAt !== undefined && subscription.expiresAt <= now) return 'subscription_expired';
  return subscription.disabled === undefined ? undefined : 'disabled';
};
