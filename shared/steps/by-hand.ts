import { withRetriedWrites } from '../domain/contention.ts';
import { hasRoomForRound, reopen, retryNow } from '../domain/delivery/by-hand.ts';
import { isOpen, type Delivery, type DeliveryKey, type Transition } from '../domain/delivery/delivery.ts';
import { absenceOf } from '../domain/subscription/subscription.ts';
import { scheduleName, wakeUpTime } from '../domain/retry/wake-up-plan.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deliveries, DeliveryListings } from '../ports/deliveries.ts';
import type { Journal } from '../ports/journal.ts';
import type { MessageRecords } from '../ports/messages.ts';
import type { Payloads } from '../ports/bodies.ts';
import type { RateLimits, Subscriptions } from '../ports/subscriptions.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
import type { RetryRefusal } from '../domain/vocabulary.ts';
import { keptForAnotherRound } from './keep-message.ts';
import { keptUntil, writeTime } from './retention.ts';

export type ByHandContext = {
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
  settings: { retentionMs: number; retryAfterCapMs: number };
};

export type RetryResult =
  { kind: 'retried'; delivery: Delivery } | { kind: 'refused'; why: RetryRefusal; delivery?: Delivery };

/**
 * By hand: makes the pending attempt of a retrying delivery due now, and gives one that is over another round. An
 * automatic retry at the same time carries the same number, so only one of the two is made.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds it without one.
 */
export function retryDelivery(context: ByHandContext, key: DeliveryKey): Promise<RetryResult> {
  return decide(context, key, (current) =>
    isOpen(current.status) ? retryPending(context, current) : openRound(context, current, undefined),
  );
}

/** For a recovery: another round for a delivery that is over, once for each recovery. */
export function reopenDelivery(
  context: ByHandContext,
  key: DeliveryKey,
  recoveryId: string,
): Promise<RetryResult> {
  return decide(context, key, async (current) => {
    if (current.recoveries.includes(recoveryId)) return wakeAgain(context, current);
    if (isOpen(current.status)) return refused('open', current);
    if (current.status === 'delivered') return refused('delivered', current);
    return openRound(context, current, recoveryId);
  });
}

/** A decision on the record as read; `again`: it changed meanwhile. */
type Decision = RetryResult | 'again';

async function decide(
  { ports }: ByHandContext,
  key: DeliveryKey,
  decision: (current: Delivery) => Promise<Decision>,
): Promise<RetryResult> {
  const result = await withRetriedWrites<RetryResult>(async () => {
    const current = await ports.deliveries.find(key);
    return current === undefined ? { kind: 'refused', why: 'no_such_delivery' } : decision(current);
  });
  return result === 'again' ? { kind: 'refused', why: 'contended' } : result;
}

function refused(why: RetryRefusal, delivery: Delivery): RetryResult {
  return { kind: 'refused', why, delivery };
}

async function retryPending(context: ByHandContext, current: Delivery): Promise<Decision> {
  const { lease } = current;
  if (isHeld(context, current)) return refused('in_flight', current);
  // Only its job carries the message of a first attempt, until that is taken over.
  if (current.next === undefined && current.overdueAt === undefined) return refused('not_begun', current);
  if (await isAbsent(context, current)) return refused('subscription_absent', current);
  // A holder that died has left an attempt that is due: a wake-up is all it needs.
  if (lease !== undefined) return wake(context, current);
  return writeAndWake(context, retryNow(current, writeTime(context)), current);
}

/** A request may be in flight, also for a delivery that was ended in the middle of it. */
function isHeld({ ports }: ByHandContext, { lease }: Delivery): boolean {
  return lease !== undefined && lease.until > ports.clock.now();
}

function roundRefusal(context: ByHandContext, current: Delivery): RetryRefusal | undefined {
  if (isHeld(context, current)) return 'in_flight';
  if (current.owed.length > 0) return 'being_closed';
  return hasRoomForRound(current) ? undefined : 'too_many_attempts';
}

async function openRound(
  context: ByHandContext,
  current: Delivery,
  recovery: string | undefined,
): Promise<Decision> {
  const { ports, settings } = context;
  const { status } = current;
  if (isOpen(status)) return 'again';
  const why = roundRefusal(context, current);
  if (why !== undefined) return refused(why, current);
  if (await isAbsent(context, current)) return refused('subscription_absent', current);
  const now = ports.clock.now();
  const message = await keptForAnotherRound(ports, current, keptUntil(now, settings));
  if (message === undefined) return refused('body_gone', current);
  if (message.expiresAt !== undefined && message.expiresAt <= now) return refused('message_expired', current);
  return writeAndWake(context, reopen(current, status, recovery, writeTime(context)), current);
}

/** A crash may have left out the wake-up, and the delivery would wait for reconcile: so it is sent again while that helps. */
async function wakeAgain(context: ByHandContext, current: Delivery): Promise<Decision> {
  const isWaiting = current.next?.phase === 'manual' && current.lease === undefined;
  if (isWaiting) await wake(context, current);
  return refused('recovered_already', current);
}

async function writeAndWake(
  context: ByHandContext,
  transition: Transition,
  before: Delivery,
): Promise<Decision> {
  const result = await context.ports.deliveries.write(transition);
  if (result.kind === 'refused') return 'again';
  // A delivery that waits for a slot keeps its place and its schedule: a new schedule would have the same name.
  if (before.slot === undefined) await removeSchedule(context, before);
  return wake(context, result.delivery);
}

async function wake({ ports }: ByHandContext, delivery: Delivery): Promise<RetryResult> {
  const attempt = delivery.attempts.length + 1;
  const dueAt = delivery.next?.dueAt ?? ports.clock.now();
  await ports.wakeUps.sendDelayed({ kind: 'wake_up', key: delivery.key, attempt, dueAt }, 0);
  ports.journal.note({ fact: 'retried_by_hand', key: delivery.key, attempt, round: delivery.round });
  return { kind: 'retried', delivery };
}

async function isAbsent({ ports }: ByHandContext, { key }: Delivery): Promise<boolean> {
  const { subscription } = await ports.subscriptions.find(key.queue, key.subscriptionId, 'fresh');
  return absenceOf(subscription, ports.clock.now(), key.messageId) !== undefined;
}

/** Best effort: a schedule that is left fires in vain. */
export async function removeSchedule(
  { ports }: ByHandContext,
  { key, next, lease }: Delivery,
): Promise<void> {
  if (next?.by !== 'scheduler') return;
  await ports.wakeUps.unschedule(scheduleName(key, next.number, wakeUpTime(next, lease)));
}
