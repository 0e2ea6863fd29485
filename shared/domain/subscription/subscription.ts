import { confirmationIdOf } from './confirmation.ts';
import type { PartialRetryPolicy } from '../retry/policy.ts';
import type { SealedSecret } from './secret-rotation.ts';
import type { AbsenceReason, DisableReason } from '../vocabulary.ts';

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
  /** Seconds that an attempt may take in all, where that is less than the deployment's. */
  attempt_timeout?: number;
  /** Requests a second that it takes at most, retries among them (shared/domain/subscription/rate-limit.ts). */
  max_per_second?: number;
  /** Only messages of these types match. */
  event_types?: readonly string[];
  /** Only messages whose data has this content match (shared/domain/subscription/content-filter.ts). As it was given. */
  filter?: unknown;
};

/** A subscriber's URL and options on one queue. Times are milliseconds since the epoch. */
export type Subscription = {
  id: string;
  queue: string;
  subscriber: string;
  options: SubscriptionOptions;
  createdAt: number;
  /**
   * When its subscriber became another one, or it was enabled. Each change has its own, so an attempt that went by another one
   * says nothing of it as it is. None before the first change.
   */
  changedAt?: number;
  /** When its `max_per_second` last changed; later each time, whatever the clocks say. */
  limitedAt?: number;
  /** Seconds, as the user gave it. */
  ttl?: number;
  expiresAt?: number;
  disabled?: Disabled;
  /** Its subscriber was asked whether it wants to be one, and has not said yes. */
  unconfirmed?: Unconfirmed;
  /** When it said yes, if it was asked. */
  confirmedAt?: number;
  /** Since when it has only failed. */
  failing?: FailureStreak;
  /** What operators may not have been told of it yet. */
  unsent?: PendingEvent;
  /** What its requests are signed with, the current one first. None on one from before there were signatures. */
  secrets?: readonly SealedSecret[];
  /** What it asked for before `options` last changed in that. */
  formerly?: PreviousSelection;
  /** Marked for deletion: gone for everybody, while a job cancels what is pending for it. */
  deletedAt?: number;
};

/** What decides whether a message goes to a subscription, and how. Of its options only those: the others may have 64 KB. */
export type ListedSubscription = Pick<
  Subscription,
  'id' | 'createdAt' | 'confirmedAt' | 'unconfirmed' | 'deletedAt' | 'expiresAt' | 'failing' | 'formerly'
> & { options: Selection };

/** Which messages a subscription asks for. */
export type Selection = Pick<SubscriptionOptions, 'event_types' | 'filter'>;

/** Interests that were in force until then (milliseconds since the epoch). */
export type PreviousSelection = Selection & { until: number };

export type Disabled = { reason: DisableReason; at: number };

/**
 * `at`: since when it is. `tokenHash`: base64url of the SHA-256 of the token in the link, which itself is kept nowhere.
 * `owed`: the question may not have been sent; written with what makes it due, and taken off once it is sent.
 */
export type Unconfirmed = { tokenHash: string; at: number; owed?: true };

/**
 * `failures` is counted up to what disabling takes, and no further. `countedAt` is when it was counted last, from the one on
 * that operators are told of.
 */
export type FailureStreak = { since: number; failures: number; countedAt?: number };

/** What happened to a subscription that its operator wants to be told of. */
export type SubscriptionEvent =
  | { type: 'subscription.disabled'; reason: DisableReason; at: number }
  | { type: 'subscription.failing'; since: number; failures: number }
  | { type: 'subscription.recovered'; since: number; at: number };

/** Written together with what it tells of, and taken off once it is sent, so that a crash in between loses nothing. */
export type PendingEvent = { event: SubscriptionEvent; at: number };

/** Milliseconds that an attempt may take in all: what the subscription asks for, and never more than the deployment's. */
export function attemptTimeoutOf({ options }: Subscription, deploymentMs: number): number {
  return Math.min(deploymentMs, (options.attempt_timeout ?? Infinity) * 1000);
}

/** `messageId`: what is to be sent. Where confirmation is awaited, the message that asks for it passes and no other. */
export function absenceOf(
  subscription: Subscription | undefined,
  now: number,
  messageId?: string,
): AbsenceReason | undefined {
  if (!isPresent(subscription, now)) return absenceReason(subscription);
  const { unconfirmed } = subscription;
  if (unconfirmed !== undefined && messageId !== confirmationIdOf(unconfirmed))
    return 'subscription_unconfirmed';
  return subscription.disabled === undefined ? undefined : 'disabled';
}

/** Whether its subscriber may not have been asked yet. */
export function owesConfirmationRequest({ unconfirmed }: Subscription): boolean {
  return unconfirmed?.owed === true;
}

/** Neither marked for deletion nor expired: whoever administers it sees it. */
export function isPresent(subscription: Subscription | undefined, now: number): subscription is Subscription {
  return (
    subscription !== undefined &&
    subscription.deletedAt === undefined &&
    (subscription.expiresAt === undefined || subscription.expiresAt > now)
  );
}

function absenceReason(subscription: Subscription | undefined): AbsenceReason {
  return subscription === undefined || subscription.deletedAt !== undefined
    ? 'subscription_deleted'
    : 'subscription_expired';
}
