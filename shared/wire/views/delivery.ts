import * as z from 'zod';
import {
  ATTEMPT_TRIGGERS,
  type AttemptTrigger,
  type Mechanism,
  MECHANISMS,
  STATUSES,
  WAIT_REASONS,
  type Waiting,
  WAITINGS,
} from '../../domain/delivery/vocabulary.ts';
import { completePolicySchema } from '../../domain/retry/policy.ts';
import { OUTCOMES, PHASES, POLICY_SOURCES } from '../../domain/retry/vocabulary.ts';
import { timeView } from '../fields.ts';

/** How long an attempt waited for one reason, in milliseconds. */
const waitView = z.object({ reason: z.enum(WAIT_REASONS), ms: z.number() });
export type WaitView = z.infer<typeof waitView>;

export const attemptView = z.object({
  number: z.int().positive(),
  round: z.int().positive(),
  phase: z.enum(PHASES),
  /** How a retry was started, and when it was due. */
  by: z.enum(ATTEMPT_TRIGGERS).exactOptional(),
  dueAt: timeView.exactOptional(),
  /** In order, until it started. Absent if it started less than a second after it could. */
  waited: z.array(waitView).exactOptional(),
  startedAt: timeView,
  durationMs: z.number(),
  outcome: z.enum(OUTCOMES),
  statusCode: z.int().exactOptional(),
  error: z.string().exactOptional(),
  snippet: z.string().exactOptional(),
  /** Leases that expired on this attempt: requests that may have reached the subscriber unrecorded. */
  lost: z.int().positive().exactOptional(),
});

/** The next attempt and its mechanism. */
export const nextAttemptView = z.object({
  number: z.int().positive(),
  phase: attemptView.shape.phase,
  dueAt: timeView,
  by: z.enum(MECHANISMS),
  /** Why it waits besides its due time. `pull`: until its subscriber receives it. `paused`: until it is resumed. */
  waiting: z.enum(WAITINGS).exactOptional(),
  waitingSince: timeView.exactOptional(),
  /** Its waits that ended. */
  waited: z.array(waitView).exactOptional(),
});

/** The attempt that is being made, since about when, and when its lease ends: then another instance may make it again. */
const inFlightView = z.object({ since: timeView, until: timeView });
export type InFlightView = z.infer<typeof inFlightView>;

/**
 * A delivery in the API and in undeliverable notices (docs/api.md#what-became-of-a-message). Times are RFC 3339 in
 * UTC with milliseconds.
 */
export const deliveryViewSchema = z.object({
  queue: z.string(),
  messageId: z.string(),
  subscriptionId: z.string(),
  status: z.enum(STATUSES),
  reason: z.string().exactOptional(),
  /** When its message was accepted. */
  acceptedAt: timeView.exactOptional(), // absent from earlier notices
  attempts: z.array(attemptView),
  nextAttemptAt: timeView.exactOptional(),
  nextAttempt: nextAttemptView.exactOptional(),
  inFlight: inFlightView.exactOptional(),
  /** Results that arrived after their lease was lost; not among the numbered attempts. */
  lateResults: z.array(attemptView).exactOptional(),
  /** Null before the first failure. */
  policy: completePolicySchema.nullable(),
});

export type DeliveryView = z.infer<typeof deliveryViewSchema>;

/** Why a due delivery waits, in the words of the command and the console. */
export const WAITS: Readonly<Record<Waiting, string>> = {
  rate_limited: 'for the rate limit of the subscription',
  receiver_throttled: 'because the subscriber throttles',
  circuit_open: 'because the subscriber is or was down',
  pull: 'until it is received',
  paused: 'until after the pause',
};

/** What starts an attempt, in the words of the command and the console. */
export const STARTED_BY: Readonly<Record<AttemptTrigger | Mechanism, string>> = {
  same_invocation: 'same invocation',
  sqs_delay: 'SQS delay',
  scheduler: 'Scheduler',
  reconcile: 'reconcile',
  pull: 'pull',
  subscription_pause: 'end of the pause',
  queue_pause: 'end of the pause of the queue',
};

/** A delivery in a listing: its status and its last attempt. */
export const deliverySummarySchema = z.object({
  queue: z.string(),
  messageId: z.string(),
  subscriptionId: z.string(),
  status: deliveryViewSchema.shape.status,
  reason: z.string().exactOptional(),
  acceptedAt: timeView,
  /** In all rounds. */
  attemptCount: z.int().min(0),
  lastAttempt: attemptView
    .pick({ number: true, startedAt: true, outcome: true, statusCode: true, error: true })
    .exactOptional(),
  nextAttemptAt: timeView.exactOptional(),
  inFlight: inFlightView.exactOptional(),
  waiting: nextAttemptView.shape.waiting,
  waitingSince: timeView.exactOptional(),
  /** Its waits that ended, of all attempts, one for each reason. */
  waited: z.array(waitView).exactOptional(),
});

export type DeliverySummary = z.infer<typeof deliverySummarySchema>;

/** A delivery with its policy and its planned attempts. */
export const deliveryDetailSchema = deliveryViewSchema.extend({
  /** The policy in force; before the first failure, the one that would apply. */
  policy: completePolicySchema,
  /** Source of the policy; `delivery`: stored at the round's first failure. */
  policySource: z.enum(['delivery', ...POLICY_SOURCES]),
  /** Remaining attempts of the round, if each failed at its due time. */
  planned: z.array(z.object({ number: z.int().positive(), phase: attemptView.shape.phase, dueAt: timeView })),
});

export type DeliveryDetailView = z.infer<typeof deliveryDetailSchema>;

/** A delivery in the listing of its subscription, which contains delivered ones too. */
export const subscriptionDeliverySchema = deliverySummarySchema.extend({
  messageType: z.string().exactOptional(),
  /** Of the last attempt, in milliseconds. */
  durationMs: z.number().exactOptional(),
  /** From the acceptance of the message to the answer of the first successful attempt, in milliseconds. */
  deliveredAfterMs: z.number().exactOptional(),
});

export type SubscriptionDeliveryView = z.infer<typeof subscriptionDeliverySchema>;
