import * as z from 'zod';
import { buildConfirmationId } from './confirmation.ts';
import { destinationSchema } from './destination.ts';
import { pauseSchema } from './pause.ts';
import { queueMember } from './queue-metadata.ts';
import { partialPolicySchema } from '../retry/policy.ts';
import { type AbsenceReason, DISABLE_REASONS, PRESSURE_REASONS } from './vocabulary.ts';
import { sealedSecretSchema } from './secret-rotation.ts';

/**
 * A named channel. `metadata` is chosen by the user and may contain `_retry_policy`; `retryPolicy` is its parsed
 * form.
 */
export const queueSchema = z.object({
  name: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  retryPolicy: partialPolicySchema.exactOptional(),
  createdAt: z.number(),
  /** The last time that it was deleted and restored. */
  restoredAt: z.number().exactOptional(),
  pauses: z.array(pauseSchema).readonly().exactOptional(),
});

export type Queue = z.infer<typeof queueSchema>;

/** Identifies a subscription. */
export type SubscriptionKey = { queue: string; subscriptionId: string };

/**
 * Delivery options of a subscription (Zaqar's `options`). Types only: the API adds the rules for what callers send
 * (functions/api/subscriptions/options.ts).
 */
export const optionsSchema = z.object({
  _retry_policy: partialPolicySchema.exactOptional(),
  post_headers: z.record(z.string(), z.string()).exactOptional(),
  /** A template in which `"$zaqar_message$"` stands for the whole body. */
  post_data: z.string().exactOptional(),
  /** Send only the data. */
  raw_delivery: z.boolean().exactOptional(),
  /** Maximum seconds per attempt, if less than the deployment's limit. */
  attempt_timeout: z.number().exactOptional(),
  /** Maximum requests a second, including retries (shared/domain/subscription/rate-limit.ts). */
  max_per_second: z.number().exactOptional(),
  /** Adds 429 to `retry_on_status` (delivery-policy.ts). */
  retry_throttled: z.boolean().exactOptional(),
  /** Whether all requests are slowed down to what the subscriber takes (switches.ts). */
  adapt_to_throttling: z.boolean().exactOptional(),
  /** Whether there is one probe at a time while the subscriber is down. */
  hold_while_down: z.boolean().exactOptional(),
  /** Only messages of these types match. */
  event_types: z.array(z.string()).exactOptional(),
  /**
   * Only messages with matching data match (shared/domain/subscription/content-filter.ts). As given by the user.
   */
  filter: z.unknown().exactOptional(),
});

export type SubscriptionOptions = z.infer<typeof optionsSchema>;

/** Which messages a subscription selects. */
export const selectionSchema = optionsSchema.pick({ event_types: true, filter: true });

export type Selection = z.infer<typeof selectionSchema>;

/** A former selection. `until`: milliseconds since the epoch. */
export const previousSelectionSchema = selectionSchema.extend({ until: z.number() });

export const disabledSchema = z.object({ reason: z.enum(DISABLE_REASONS), at: z.number() });

export type Disabled = z.infer<typeof disabledSchema>;

/**
 * `at`: when confirmation was requested. `tokenHash`: base64url SHA-256 of the link's token; the token itself is
 * not stored. `owed`: the request may not have been sent; set with the change that requires it, cleared after
 * sending.
 */
const pendingConfirmationSchema = z.object({
  tokenHash: z.string(),
  at: z.number(),
  owed: z.literal(true).exactOptional(),
});

export type PendingConfirmation = z.infer<typeof pendingConfirmationSchema>;

/**
 * `failures`: counted up to the number that disables. `countedAt`: time of the last counted failure, from the one
 * that triggers the notification on.
 */
const failureStreakSchema = z.object({
  since: z.number(),
  failures: z.number(),
  countedAt: z.number().exactOptional(),
});

export type FailureStreak = z.infer<typeof failureStreakSchema>;

/** The last time that it was deleted and restored: messages accepted in between are not for it. */
const restoredSchema = z.object({ deletedAt: z.number(), at: z.number() });

const pressureReason = z.enum(PRESSURE_REASONS);

const pressureStateSchema = z.discriminatedUnion('state', [
  /** All function instances count what its requests find. */
  z.object({ state: z.literal('watched') }),
  /** It refuses a share of its requests. */
  z.object({
    state: z.literal('slowed'),
    perSecond: z.number(),
    line: z.number(),
    askAgainMs: z.number(),
  }),
  /** It is down: one probe at a time. */
  z.object({ state: z.literal('held') }),
  /** A probe was answered: the rate doubles every few seconds. */
  z.object({ state: z.literal('ramping'), line: z.number() }),
  /** Ended by a change of the subscription, or begun by an earlier version. The next request records the end. */
  z.object({ state: z.literal('ending'), reason: pressureReason }),
  /** Stays on the record, because the epochs of later lines follow its version. */
  z.object({ state: z.literal('ended') }),
]);

export type PressureState = z.infer<typeof pressureStateSchema>;

export const pressureVersionSchema = z.object({ at: z.number(), since: z.number() });

/**
 * How a subscription's requests are counted or slowed (docs/retry-policy.md#back-pressure). `at`: its version, unique and
 * increasing. `since`: start of the episode. `line`: version that its line of slots began with. Times are milliseconds
 * since the epoch.
 */
export const pressureSchema = z.intersection(pressureStateSchema, pressureVersionSchema);

export type Pressure = z.infer<typeof pressureSchema>;

const episode = { reason: pressureReason, since: z.number() };

/** A change of a subscription's health that operators are notified of. */
const subscriptionEventSchema = z.discriminatedUnion('type', [
  disabledSchema.extend({ type: z.literal('subscription.disabled') }),
  z.object({ type: z.literal('subscription.failing'), since: z.number(), failures: z.number() }),
  z.object({ type: z.literal('subscription.recovered'), since: z.number(), at: z.number() }),
  /** `until`: when the first request may start. */
  z.object({ type: z.literal('subscription.slowed'), ...episode, until: z.number() }),
  z.object({ type: z.literal('subscription.resumed'), ...episode, at: z.number() }),
  /** Its client certificate expires in `days` (30, 7 or 1) or fewer. */
  z.object({ type: z.literal('subscription.certificate_expiring'), expiresAt: z.number(), days: z.number() }),
]);

export type SubscriptionEvent = z.infer<typeof subscriptionEventSchema>;

/** An event stored with the change it reports and cleared after sending, so that a crash loses nothing. */
export const pendingEventSchema = z.object({ event: subscriptionEventSchema, at: z.number() });

export type PendingEvent = z.infer<typeof pendingEventSchema>;

/** Sends the messages of a queue that it selects to a destination. Times are milliseconds since the epoch. */
export const subscriptionSchema = z.object({
  id: z.string(),
  queue: z.string(),
  /** Chosen by the user; not unique. */
  name: z.string().exactOptional(),
  destination: destinationSchema,
  options: optionsSchema,
  createdAt: z.number(),
  /**
   * When its destination changed or it was re-enabled; unique per change, so that results of attempts from before
   * the change are ignored. Undefined before the first change.
   */
  version: z.number().exactOptional(),
  /** When its `max_per_second` last changed; always increases, even if clocks differ. */
  rateChangedAt: z.number().exactOptional(),
  /** Seconds, as given by the user. */
  ttl: z.number().exactOptional(),
  expiresAt: z.number().exactOptional(),
  disabled: disabledSchema.exactOptional(),
  /** The newest last. */
  pauses: z.array(pauseSchema).readonly().exactOptional(),
  /** Set while its subscriber has not confirmed. */
  unconfirmed: pendingConfirmationSchema.exactOptional(),
  /** When the subscriber confirmed, if it was asked. */
  confirmedAt: z.number().exactOptional(),
  /** The current failure streak. */
  failing: failureStreakSchema.exactOptional(),
  /** Set once the subscriber refuses or fails a request where a switch asks for back-pressure. */
  pressure: pressureSchema.exactOptional(),
  /** Event that may not have been sent to operators yet. */
  unsent: pendingEventSchema.exactOptional(),
  /** Signing secrets, the current one first. Undefined on subscriptions created before signatures existed. */
  secrets: z.array(sealedSecretSchema).readonly().exactOptional(),
  /** Its previous selection of messages. */
  previousSelection: previousSelectionSchema.exactOptional(),
  /** Marked for deletion: invisible to callers, while an operation cancels its pending deliveries. */
  deletedAt: z.number().exactOptional(),
  /** Until when that can be undone; absent if it cannot. */
  restorableUntil: z.number().exactOptional(),
  restored: restoredSchema.exactOptional(),
});

export type Subscription = z.infer<typeof subscriptionSchema>;

/** When something was deleted, and until when that can be undone. Milliseconds since the epoch. */
export type Deletion = { deletedAt: number; restorableUntil: number };

/** Until when a subscription can be restored that is deleted `now`. Undefined: it leaves no archive. */
export function planDeletion(
  subscription: Subscription,
  now: number,
  restorableUntil: number | undefined,
): Deletion | undefined {
  if (restorableUntil === undefined || !isPresent(subscription, now)) return undefined;
  const { expiresAt = Infinity } = subscription;
  return { deletedAt: now, restorableUntil: Math.min(restorableUntil, expiresAt) };
}

export type ArchivedQueue = Deletion & { queue: Queue };

export type ArchivedSubscription = Deletion & { subscription: Subscription };

/**
 * The fields that decide whether and how a message goes to a subscription. Other options are omitted: they may have
 * 64 KB.
 */
export const listedSubscriptionSchema = subscriptionSchema
  .pick({
    id: true,
    createdAt: true,
    confirmedAt: true,
    unconfirmed: true,
    deletedAt: true,
    expiresAt: true,
    failing: true,
    previousSelection: true,
    restored: true,
  })
  .extend({ options: selectionSchema });

export type ListedSubscription = z.infer<typeof listedSubscriptionSchema>;

/** Timeout of an attempt in milliseconds: the least of the deployment's, the queue's and the subscription's. */
export function computeAttemptTimeout(
  {
    queue,
    subscription,
  }: { queue: Pick<Queue, 'metadata'> | undefined; subscription: Pick<Subscription, 'options'> },
  deploymentMs: number,
): number {
  const ofQueue = queueMember('_attempt_timeout', queue?.metadata) ?? Infinity;
  const { attempt_timeout: ofSubscription = Infinity } = subscription.options;
  return Math.min(deploymentMs, ofQueue * 1000, ofSubscription * 1000);
}

/**
 * Why a subscription gets no requests; undefined if it does. `messageId`: the message to send; an unconfirmed
 * subscription only gets its confirmation request.
 */
export function findAbsence(
  subscription: Subscription | undefined,
  now: number,
  messageId?: string,
): AbsenceReason | undefined {
  if (!isPresent(subscription, now)) return absenceReason(subscription);
  const { unconfirmed } = subscription;
  if (unconfirmed !== undefined && messageId !== buildConfirmationId(unconfirmed))
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
