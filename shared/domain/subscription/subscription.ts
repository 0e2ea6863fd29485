import { confirmationIdOf } from './confirmation.ts';
import type { Destination } from './destination.ts';
import { queueLimitOf } from './queue-limits.ts';
import type { PartialRetryPolicy } from '../retry/policy.ts';
import type { SealedSecret } from './secret-rotation.ts';
import type { AbsenceReason, DisableReason, PressureReason } from './vocabulary.ts';

/**
 * A named channel. `metadata` is chosen by the user and may contain `_retry_policy`; `retryPolicy` is its parsed
 * form.
 */
export type Queue = {
  name: string;
  metadata: Record<string, unknown>;
  retryPolicy?: PartialRetryPolicy;
  createdAt: number;
};

/** Identifies a subscription. */
export type SubscriptionKey = { queue: string; subscriptionId: string };

/** Delivery options of a subscription (Zaqar's `options`). */
export type SubscriptionOptions = {
  _retry_policy?: PartialRetryPolicy;
  post_headers?: Record<string, string>;
  /** A template in which `"$zaqar_message$"` stands for the whole body. */
  post_data?: string;
  /** Send only the data. */
  raw_delivery?: boolean;
  /** Maximum seconds per attempt, if less than the deployment's limit. */
  attempt_timeout?: number;
  /** Maximum requests a second, including retries (shared/domain/subscription/rate-limit.ts). */
  max_per_second?: number;
  /** Adds 429 to `retry_on_status` (delivery-policy.ts). */
  retry_throttled?: boolean;
  /** Whether all requests are slowed down to what the subscriber takes (switches.ts). */
  adapt_to_throttling?: boolean;
  /** Whether there is one probe at a time while the subscriber is down. */
  hold_while_down?: boolean;
  /** Only messages of these types match. */
  event_types?: readonly string[];
  /**
   * Only messages with matching data match (shared/domain/subscription/content-filter.ts). As given by the user.
   */
  filter?: unknown;
};

/** Sends the messages of a queue that it selects to a destination. Times are milliseconds since the epoch. */
export type Subscription = {
  id: string;
  queue: string;
  /** Chosen by the user; not unique. */
  name?: string;
  destination: Destination;
  options: SubscriptionOptions;
  createdAt: number;
  /**
   * When its destination changed or it was re-enabled; unique per change, so that results of attempts from before
   * the change are ignored. Undefined before the first change.
   */
  changedAt?: number;
  /** When its `max_per_second` last changed; always increases, even if clocks differ. */
  limitedAt?: number;
  /** Seconds, as given by the user. */
  ttl?: number;
  expiresAt?: number;
  disabled?: Disabled;
  /** Set while its subscriber has not confirmed. */
  unconfirmed?: PendingConfirmation;
  /** When the subscriber confirmed, if it was asked. */
  confirmedAt?: number;
  /** The current failure streak. */
  failing?: FailureStreak;
  /** Set once the subscriber refuses or fails a request where a switch asks for back-pressure. */
  pressure?: Pressure;
  /** Event that may not have been sent to operators yet. */
  unsent?: PendingEvent;
  /** Signing secrets, the current one first. Undefined on subscriptions created before signatures existed. */
  secrets?: readonly SealedSecret[];
  /** Its previous selection of messages. */
  formerly?: PreviousSelection;
  /** Marked for deletion: invisible to callers, while an operation cancels its pending deliveries. */
  deletedAt?: number;
};

/**
 * The fields that decide whether and how a message goes to a subscription. Other options are omitted: they may have
 * 64 KB.
 */
export type ListedSubscription = Pick<
  Subscription,
  'id' | 'createdAt' | 'confirmedAt' | 'unconfirmed' | 'deletedAt' | 'expiresAt' | 'failing' | 'formerly'
> & { options: Selection };

/** Which messages a subscription selects. */
export type Selection = Pick<SubscriptionOptions, 'event_types' | 'filter'>;

/** A former selection. `until`: milliseconds since the epoch. */
export type PreviousSelection = Selection & { until: number };

export type Disabled = { reason: DisableReason; at: number };

/**
 * `at`: when confirmation was requested. `tokenHash`: base64url SHA-256 of the link's token; the token itself is
 * not stored. `owed`: the request may not have been sent; set with the change that requires it, cleared after
 * sending.
 */
export type PendingConfirmation = { tokenHash: string; at: number; owed?: true };

/**
 * `failures`: counted up to the number that disables. `countedAt`: time of the last counted failure, from the one
 * that triggers the notification on.
 */
export type FailureStreak = { since: number; failures: number; countedAt?: number };

/**
 * How a subscription's requests are counted or slowed (docs/retry-policy.md#back-pressure). `at`: its version, unique and
 * increasing. `since`: start of the episode. `line`: version that its line of slots began with. Times are milliseconds
 * since the epoch.
 */
export type Pressure = PressureState & { at: number; since: number };

export type PressureState =
  /** All function instances count what its requests find. */
  | { state: 'watched' }
  /** It refuses a share of its requests. */
  | { state: 'slowed'; perSecond: number; line: number; askAgainMs: number }
  /** It is down: one probe at a time. */
  | { state: 'held' }
  /** A probe was answered: the rate doubles every few seconds. */
  | { state: 'ramping'; line: number }
  /** Ended by a change of the subscription, or begun by an earlier version. The next request records the end. */
  | { state: 'ending'; reason: PressureReason }
  /** Stays on the record, because the epochs of later lines follow its version. */
  | { state: 'ended' };

/** A change of a subscription's health that operators are notified of. */
export type SubscriptionEvent =
  | { type: 'subscription.disabled'; reason: DisableReason; at: number }
  | { type: 'subscription.failing'; since: number; failures: number }
  | { type: 'subscription.recovered'; since: number; at: number }
  /** `until`: when the first request may start. */
  | { type: 'subscription.slowed'; reason: PressureReason; since: number; until: number }
  | { type: 'subscription.resumed'; reason: PressureReason; since: number; at: number }
  /** Its client certificate expires in `days` (30, 7 or 1) or fewer. */
  | { type: 'subscription.certificate_expiring'; expiresAt: number; days: number };

/** An event stored with the change it reports and cleared after sending, so that a crash loses nothing. */
export type PendingEvent = { event: SubscriptionEvent; at: number };

/** Timeout of an attempt in milliseconds: the least of the deployment's, the queue's and the subscription's. */
export function attemptTimeoutOf(
  { queue, subscription }: { queue: Pick<Queue, 'metadata'> | undefined; subscription: Subscription },
  deploymentMs: number,
): number {
  const ofQueue = queueLimitOf('_attempt_timeout', queue?.metadata) ?? Infinity;
  const { attempt_timeout: ofSubscription = Infinity } = subscription.options;
  return Math.min(deploymentMs, ofQueue * 1000, ofSubscription * 1000);
}

/**
 * Why a subscription gets no requests; undefined if it does. `messageId`: the message to send; an unconfirmed
 * subscription only gets its confirmation request.
 */
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

/** Whether its confirmation request may not have been sent. */
export function owesConfirmationRequest({ unconfirmed }: Subscription): boolean {
  return unconfirmed?.owed === true;
}

/** Whether a subscription is visible to callers: neither marked for deletion nor expired. */
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
