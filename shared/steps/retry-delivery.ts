import { isExpired } from '../domain/message/message.ts';
import { withRetriedWrites } from '../domain/contention.ts';
import { hasRoomForRound, reopen, retryNow } from '../domain/delivery/interventions.ts';
import {
  isOpen,
  type Delivery,
  type DeliveryKey,
  type OpenDelivery,
  type Transition,
} from '../domain/delivery/delivery.ts';
import type { WakeUp } from '../domain/delivery/job.ts';
import { findPauseInForce } from '../domain/subscription/pause.ts';
import { findAbsence } from '../domain/subscription/subscription.ts';
import { scheduleName, wakeUpTime } from '../domain/delivery/wake-up-plan.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deliveries, DeliveryListings } from '../ports/deliveries.ts';
import type { Journal } from '../ports/journal.ts';
import type { MessageRecords } from '../ports/messages.ts';
import type { Payloads } from '../ports/bodies.ts';
import type { RateLimits } from '../ports/pace.ts';
import type { Subscriptions } from '../ports/subscriptions.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
import type { RetryRefusal } from '../domain/delivery/vocabulary.ts';
import { keepForNextRound } from './keep-message.ts';
import { type BodyRetention, writeTime } from './retention.ts';

export type InterventionContext = {
  ports: {
    clock: Pick<Clock, 'now'>;
    deliveries: Pick<Deliveries, 'find' | 'write'>;
    deliveryListings: Pick<DeliveryListings, 'newest' | 'records' | 'tally'>;
    messageRecords: MessageRecords;
    payloads: Payloads;
    subscriptions: Pick<Subscriptions, 'find'>;
    rateLimits: RateLimits;
    wakeUps: Pick<WakeUps, 'sendDelayed' | 'unschedule'>;
    journal: Journal;
  };
  settings: BodyRetention;
};

export type RetryResult =
  | { kind: 'retried'; delivery: Delivery }
  | { kind: 'refused'; why: RetryRefusal; delivery?: Delivery };

/**
 * Manual retry: makes the pending attempt of a retrying delivery due now, or reopens an ended delivery. A
 * concurrent automatic retry has the same attempt number, so only one of the two is made.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds a
 * delivery whose wake-up is missing.
 */
export function retryDelivery(context: InterventionContext, key: DeliveryKey): Promise<RetryResult> {
  return decide(context, key, (current) =>
    isOpen(current) ? retryPending(context, current) : openRound(context, current, undefined),
  );
}

/** Reopens an ended delivery for a recovery, at most once per recovery. */
export function reopenDelivery(
  context: InterventionContext,
  key: DeliveryKey,
  recoveryId: string,
): Promise<RetryResult> {
  return decide(context, key, async (current) => {
    if (current.recoveries.includes(recoveryId)) return wakeAgain(context, current);
    if (isOpen(current)) return refused('open', current);
    if (current.status === 'delivered') return refused('delivered', current);
    return openRound(context, current, recoveryId);
  });
}

/** A decision based on the read record; `again`: it changed in the meantime. */
export type RetryDecision = RetryResult | 'again';

function decide(
  { ports }: InterventionContext,
  key: DeliveryKey,
  decision: (current: Delivery) => Promise<RetryDecision>,
): Promise<RetryResult> {
  const attempt = async (): Promise<RetryDecision> => {
    const current = await ports.deliveries.find(key);
    return current === undefined ? { kind: 'refused', why: 'no_such_delivery' } : decision(current);
  };
  return withRetriedWrites(attempt, () => ({ kind: 'refused', why: 'contended' }));
}

function refused(why: RetryRefusal, delivery: Delivery): RetryResult {
  return { kind: 'refused', why, delivery };
}

async function retryPending(context: InterventionContext, current: OpenDelivery): Promise<RetryDecision> {
  const { lease } = current;
  if (isLeased(context, current)) return refused('in_flight', current);
  // Until then, only its job contains the message of a first attempt.
  if (current.next === undefined && current.overdueAt === undefined) return refused('not_begun', current);
  const why = await findRefusal(context, current);
  if (why !== undefined) return refused(why, current);
  // The lease has expired and the attempt is due: a wake-up is enough.
  if (lease !== undefined) return wake(context, current, URGENT);
  return writeAndWake(context, retryNow(current, writeTime(context, current)), current, URGENT);
}

/** Whether a request may be in flight, also for a delivery that ended during it. */
function isLeased({ ports }: InterventionContext, { lease }: Delivery): boolean {
  return lease !== undefined && lease.until > ports.clock.now();
}

function roundRefusal(context: InterventionContext, current: Delivery): RetryRefusal | undefined {
  if (isLeased(context, current)) return 'in_flight';
  if (current.pendingSteps.length > 0) return 'being_closed';
  return hasRoomForRound(current) ? undefined : 'too_many_attempts';
}

/** Another round of an ended delivery. `recovery`: the id of the recovery that asks for it. */
export async function openRound(
  context: InterventionContext,
  current: Delivery,
  recovery: string | undefined,
): Promise<RetryDecision> {
  if (isOpen(current)) return 'again';
  const why = roundRefusal(context, current) ?? (await findRefusal(context, current, recovery));
  if (why !== undefined) return refused(why, current);
  const message = await keepForNextRound(context, current);
  if (message === undefined) return refused('body_gone', current);
  const at = writeTime(context, current);
  if (isExpired(message, at.now)) return refused('message_expired', current);
  const transition = reopen(current, recovery, at);
  return writeAndWake(context, transition, current, recovery === undefined ? URGENT : {});
}

/** Resends the wake-up that a crash may have prevented; otherwise the delivery would wait for reconcile. */
async function wakeAgain(context: InterventionContext, current: Delivery): Promise<RetryDecision> {
  const isWaiting = current.next?.phase === 'manual' && current.lease === undefined;
  if (isWaiting) await wake(context, current, {});
  return refused('recovered_already', current);
}

async function writeAndWake(
  context: InterventionContext,
  transition: Transition,
  before: Delivery,
  urgency: Urgency,
): Promise<RetryDecision> {
  const result = await context.ports.deliveries.write(transition);
  if (result.kind === 'refused') return 'again';
  // A delivery that waits for a slot keeps its place and its schedule: a new schedule would have the same name.
  if (before.slot === undefined) await removeSchedule(context, before);
  return wake(context, result.delivery, urgency);
}

/** Deliveries that a recovery reopens wait for back-pressure: they are many. */
type Urgency = Pick<WakeUp, 'isUrgent'>;
export const URGENT: Urgency = { isUrgent: true };

/** Sends the wake-up of the recorded next attempt. */
export async function wake(
  { ports }: InterventionContext,
  delivery: Delivery,
  urgency: Urgency,
): Promise<RetryResult> {
  const attempt = delivery.attempts.length + 1;
  const dueAt = delivery.next?.dueAt ?? ports.clock.now();
  await ports.wakeUps.sendDelayed({ kind: 'wake_up', key: delivery.key, attempt, dueAt, ...urgency }, 0);
  ports.journal.note({ fact: 'retried_manually', key: delivery.key, attempt, round: delivery.round });
  return { kind: 'retried', delivery };
}

/** Why its subscription gets no requests now. What a recovery reopens waits for the end of a pause. */
async function findRefusal(
  { ports }: InterventionContext,
  { key }: Delivery,
  recovery?: string,
): Promise<'subscription_absent' | 'paused' | undefined> {
  const found = await ports.subscriptions.find(key.queue, key.subscriptionId, 'fresh');
  const now = ports.clock.now();
  if (findAbsence(found.subscription, now, key.messageId) !== undefined) return 'subscription_absent';
  return recovery === undefined && findPauseInForce(found, now) !== undefined ? 'paused' : undefined;
}

/** Best effort: a remaining schedule fires without effect. */
export async function removeSchedule(
  { ports }: InterventionContext,
  { key, next, lease }: Delivery,
): Promise<void> {
  if (next?.by !== 'scheduler') return;
  await ports.wakeUps.unschedule(scheduleName(key, next.number, wakeUpTime(next, lease)));
}
