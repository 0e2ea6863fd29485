import * as z from 'zod';
import {
  DISABLE_REASONS,
  CONFIRMATION_STATES,
  PAUSED_BY,
  PRESSURE_REASONS,
} from '../../domain/subscription/vocabulary.ts';
import type { Auth } from '../../domain/subscription/auth.ts';
import { findAuth, toSubscriber } from '../../domain/subscription/destination.ts';
import { pressureAt, computePace, findPressureReason } from '../../domain/subscription/back-pressure.ts';
import { redacted } from '../../domain/subscription/credential-headers.ts';
import { findPauseInForce, type Pausable, type PauseInForce } from '../../domain/subscription/pause.ts';
import { retryPolicySchema } from '../../domain/retry/policy-schema.ts';
import {
  optionsSchema,
  owesConfirmationRequest,
  type Subscription,
} from '../../domain/subscription/subscription.ts';
import { secretsInForce } from '../../domain/subscription/secret-rotation.ts';
import { timeText, timeView } from '../fields.ts';

/** Options as given by the user. Loose, so that an older reader shows newer options. */
export const shownOptions = z.looseObject({
  ...optionsSchema.shape,
  // The rules of the API, of which OpenAPI tells readers.
  _retry_policy: retryPolicySchema.exactOptional(),
  attempt_timeout: z.int().exactOptional(),
  // Beside the options on the record, where what is secret is sealed.
  auth: z.looseObject({ type: z.string() }).exactOptional(),
});

/** State of a pending confirmation: `asked`, or `owed` if the request may not have been sent. */
export const confirmationSchema = z.enum(CONFIRMATION_STATES);

/** A pause in force: no requests are sent. `until`: absent where it ends only when it is resumed. */
export const pausedViewSchema = z.object({
  since: timeView,
  until: timeView.exactOptional(),
  by: z.enum(PAUSED_BY),
});

/**
 * A subscription in the API: Zaqar's fields and Posthaste's additions. `ttl` and `age` are seconds; a null `ttl`
 * never expires. Credentials are redacted.
 */
export const subscriptionViewSchema = z.object({
  id: z.string(),
  source: z.string(),
  name: z.string().exactOptional(),
  subscriber: z.string(),
  ttl: z.int().positive().nullable(),
  age: z.int().nonnegative(),
  options: shownOptions,
  disabled: z.object({ reason: z.enum(DISABLE_REASONS), at: timeView }).exactOptional(),
  failing: z.object({ since: timeView, failures: z.int().positive() }).exactOptional(),
  /** Of the client certificate in `options.auth`. */
  certificateExpiresAt: timeView.exactOptional(),
  /** Until then requests are signed with the previous secret too; absent while only the current one signs. */
  previousSecretExpiresAt: timeView.exactOptional(),
  /** It gets fewer requests. `perSecond`: now; absent while it gets one probe at a time. */
  backPressure: z
    .object({
      reason: z.enum(PRESSURE_REASONS),
      since: timeView,
      perSecond: z.number().positive().exactOptional(),
    })
    .exactOptional(),
  paused: pausedViewSchema.exactOptional(),
  /** False: it receives only the confirmation request. */
  confirmed: z.boolean(),
  confirmation: confirmationSchema.exactOptional(),
});

/** What is accepted, but may be a mistake. */
const warningsSchema = z.array(z.object({ field: z.string(), message: z.string() }));

/** The response to subscribing. No later one contains the secret. `confirmation`: where the subscriber must confirm. */
export const subscribedSchema = z.object({
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
  confirmation: confirmationSchema.exactOptional(),
  warnings: warningsSchema.exactOptional(),
});

/** The response to a change. `secret`: set if it is new; not shown again. */
export const changedSubscriptionSchema = subscriptionViewSchema.extend({
  secret: z.string().exactOptional(),
  warnings: warningsSchema.exactOptional(),
});

/**
 * The response to what stops requests. `requests_end_within_seconds`: by then the last one has ended; those of jobs and
 * invocations that began before still go out.
 */
export const stoppedSubscriptionSchema = subscriptionViewSchema.extend({
  requests_end_within_seconds: z.int().nonnegative(),
});

/** A queue that can be paused, and the response to what stops its requests. */
export const pausableQueueSchema = z.object({ name: z.string(), paused: pausedViewSchema.exactOptional() });
export const stoppedQueueSchema = pausableQueueSchema.extend({
  requests_end_within_seconds: stoppedSubscriptionSchema.shape.requests_end_within_seconds,
});

/** Deliveries that wait for the end of a pause, or to be received. */
export const waitingSchema = z.object({
  count: z.int().nonnegative(),
  more: z.boolean().describe('Whether more wait than were counted.'),
  oldest_accepted_at: timeView
    .describe('When the message was accepted whose delivery waits longest.')
    .exactOptional(),
  paused: pausedViewSchema.exactOptional(),
});

export type SubscriptionView = z.infer<typeof subscriptionViewSchema>;

/** `ofQueue`: its pause is shown as well. */
export function subscriptionView(
  subscription: Subscription,
  now: number,
  ofQueue?: Pausable,
): SubscriptionView {
  const { id, queue, name, destination, ttl, options, createdAt, disabled, failing, unconfirmed } =
    subscription;
  const auth = findAuth(destination);
  return {
    id,
    source: queue,
    ...(name !== undefined && { name }),
    subscriber: toSubscriber(destination),
    ttl: ttl ?? null,
    age: Math.max(0, Math.floor((now - createdAt) / 1000)),
    options: { ...redacted(options), ...(auth && { auth: auth.shown }) },
    ...(disabled && { disabled: { reason: disabled.reason, at: timeText(disabled.at) } }),
    ...(failing && { failing: { since: timeText(failing.since), failures: failing.failures } }),
    ...(auth?.notAfter !== undefined && { certificateExpiresAt: timeText(auth.notAfter) }),
    ...previousSecretView(subscription, now),
    ...backPressureView(subscription, now),
    ...pausedView(findPauseInForce({ queue: ofQueue, subscription }, now)),
    confirmed: unconfirmed === undefined,
    ...confirmationView(subscription),
  };
}

function previousSecretView(
  { secrets = [] }: Subscription,
  now: number,
): Pick<SubscriptionView, 'previousSecretExpiresAt'> {
  const ends = secretsInForce(secrets, now).flatMap(({ expiresAt }) => expiresAt ?? []);
  return ends.length === 0 ? {} : { previousSecretExpiresAt: timeText(Math.max(...ends)) };
}

export function pausedView(inForce: PauseInForce | undefined): Pick<SubscriptionView, 'paused'> {
  if (inForce === undefined) return {};
  const { pause, by } = inForce;
  const until = pause.until === undefined ? {} : { until: timeText(pause.until) };
  return { paused: { since: timeText(pause.from), ...until, by } };
}

function backPressureView(subscription: Subscription, now: number): Pick<SubscriptionView, 'backPressure'> {
  const pressure = pressureAt(subscription, now);
  if (pressure === undefined) return {};
  const { intervalMs = Infinity } = computePace(subscription, now) ?? {};
  return {
    backPressure: {
      reason: findPressureReason(pressure),
      since: timeText(pressure.since),
      ...(pressure.state !== 'held' && { perSecond: Math.round(100_000 / intervalMs) / 100 }),
    },
  };
}

export function confirmationView(subscription: Subscription): Pick<SubscriptionView, 'confirmation'> {
  return subscription.unconfirmed === undefined
    ? {}
    : { confirmation: owesConfirmationRequest(subscription) ? 'owed' : 'asked' };
}

/** One line of an export, in the form that an import takes: without id, secrets, health and credentials. */
export function toRedactedExportLine(subscription: Subscription): string {
  return toExportLine(
    { ...subscription, options: redacted(subscription.options) },
    findAuth(subscription.destination)?.shown,
  );
}

/** A signing secret in an export, the current one first. `expiresAt`: when a replaced one stops signing; RFC 3339. */
export type ExportedSecret = { secret: string; expiresAt?: string };

/** One line of an export, including credentials. `auth`: opened. */
export function toExportLine(
  { name, destination, ttl, options, disabled }: Subscription,
  auth: Auth | undefined,
  secrets: readonly ExportedSecret[] = [],
): string {
  return JSON.stringify({
    subscriber: toSubscriber(destination),
    ...(name !== undefined && { name }),
    ...(ttl !== undefined && { ttl }),
    options: { ...options, ...(auth && { auth }) },
    ...(disabled && { disabled: { reason: disabled.reason, at: timeText(disabled.at) } }),
    ...(secrets.length > 0 && { secrets }),
  });
}
