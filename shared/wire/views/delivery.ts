import * as z from 'zod';
import { PHASES, OUTCOMES } from '../../domain/retry/vocabulary.ts';
import { type WaitingReason, WAITING_REASONS } from '../../domain/subscription/vocabulary.ts';
import {
  STATUSES,
  type AttemptTrigger,
  ATTEMPT_TRIGGERS,
  type Mechanism,
  MECHANISMS,
} from '../../domain/delivery/vocabulary.ts';
import { type Attempt, shownResult } from '../../domain/delivery/attempt.ts';
import { completePolicySchema } from '../../domain/retry/policy.ts';
import { startOf, type Delivery, type NextAttempt } from '../../domain/delivery/delivery.ts';
import { isReceivable } from '../../domain/delivery/pull.ts';
import { waitingReasonOf } from '../../domain/subscription/rate-limit.ts';
import { timeText, timeView } from '../fields.ts';

export const attemptView = z.object({
  number: z.int().positive(),
  round: z.int().positive(),
  phase: z.enum(PHASES),
  /** How a retry was started, and when it was due. */
  by: z.enum(ATTEMPT_TRIGGERS).exactOptional(),
  dueAt: timeView.exactOptional(),
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
const nextAttemptView = z.object({
  number: z.int().positive(),
  phase: attemptView.shape.phase,
  dueAt: timeView,
  by: z.enum(MECHANISMS),
  /** Why it waits besides its due time. `pull`: until its subscriber receives it. */
  waiting: z.enum([...WAITING_REASONS, 'pull']).exactOptional(),
});

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
  attempts: z.array(attemptView),
  nextAttemptAt: timeView.exactOptional(),
  nextAttempt: nextAttemptView.exactOptional(),
  /** Results that arrived after their lease was lost; not among the numbered attempts. */
  lateResults: z.array(attemptView).exactOptional(),
  /** Null before the first failure. */
  policy: completePolicySchema.nullable(),
});

export type DeliveryView = z.infer<typeof deliveryViewSchema>;

export type Waiting = WaitingReason | 'pull';

/** Why a due delivery waits, in the words of the command and the console. */
export const WAITS: Readonly<Record<Waiting, string>> = {
  rate_limited: 'for the rate limit of the subscription',
  receiver_throttled: 'because the subscriber throttles',
  circuit_open: 'because the subscriber is or was down',
  pull: 'until it is received',
};

/** What starts an attempt, in the words of the command and the console. */
export const STARTED_BY: Readonly<Record<AttemptTrigger | Mechanism, string>> = {
  same_invocation: 'same invocation',
  sqs_delay: 'SQS delay',
  scheduler: 'Scheduler',
  reconcile: 'reconcile',
  pull: 'pull',
};

export function deliveryView(delivery: Delivery): DeliveryView {
  const { key, status, reason, next, policy, attempts, lateResults } = delivery;
  return {
    queue: key.queue,
    messageId: key.messageId,
    subscriptionId: key.subscriptionId,
    status,
    ...(reason === undefined ? {} : { reason }),
    attempts: attempts.map(viewOfAttempt),
    ...(next === undefined ? {} : nextFieldsOf(delivery, next)),
    ...(lateResults.length === 0 ? {} : { lateResults: lateResults.map(viewOfAttempt) }),
    policy: policy ?? null,
  };
}

function nextFieldsOf(
  delivery: Delivery,
  next: NextAttempt,
): Pick<DeliveryView, 'nextAttemptAt' | 'nextAttempt'> {
  const dueAt = timeText(startOf(delivery, next));
  return {
    nextAttemptAt: dueAt,
    nextAttempt: { ...next, dueAt, ...waitOf(delivery) },
  };
}

/** Why a delivery waits besides its due time. */
export function waitOf(delivery: Delivery): { waiting?: Waiting } {
  if (isReceivable(delivery)) return { waiting: 'pull' };
  return delivery.slot === undefined ? {} : { waiting: waitingReasonOf(delivery.slot) };
}

function viewOfAttempt(attempt: Attempt): DeliveryView['attempts'][number] {
  const { startedAt, dueAt, result, ...shown } = attempt;
  return {
    ...shown,
    ...shownResult(result),
    ...(dueAt === undefined ? {} : { dueAt: timeText(dueAt) }),
    startedAt: timeText(startedAt),
  };
}
