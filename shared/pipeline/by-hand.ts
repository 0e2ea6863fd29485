import { cancelOpen, cancelUnbegun, hasten, reopen } from '../domain/delivery-by-hand.ts';
import type { Moment } from '../domain/delivery-entry.ts';
import { isOpen, type Delivery, type DeliveryKey, type Lease, type Transition } from '../domain/delivery.ts';
import { absenceOf } from '../domain/subscription.ts';
import { scheduleName } from '../domain/wake-up-plan.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deliveries } from '../ports/deliveries.ts';
import type { DeliveryListings } from '../ports/delivery-listings.ts';
import type { Journal } from '../ports/journal.ts';
import type { MessageRecord, MessageRecords } from '../ports/message-records.ts';
import type { Payloads } from '../ports/payloads.ts';
import type { Subscriptions } from '../ports/subscriptions.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
import { keptUntil, keptForAnotherRound } from './message-keeping.ts';

export type ByHandContext = {
  ports: {
    clock: Pick<Clock, 'now'>;
    deliveries: Pick<Deliveries, 'find' | 'write'>;
    deliveryListings: Pick<DeliveryListings, 'tally'>;
    messageRecords: MessageRecords;
    payloads: Payloads;
    subscriptions: Pick<Subscriptions, 'find'>;
    wakeUps: Pick<WakeUps, 'sendDelayed' | 'unschedule'>;
    journal: Journal;
  };
  settings: { retentionMs: number; retryAfterCapMs: number };
};

export type RetryRefusal =
  | 'no_such_delivery'
  /** An attempt is being made right now. */
  | 'in_flight'
  /** Its first attempt is still to come: the job that brings it has not been received, or comes back by itself. */
  | 'not_begun'
  /** It is over, but what it owes is not done yet: a matter of seconds. */
  | 'being_closed'
  | 'body_gone'
  | 'message_expired'
  | 'subscription_absent'
  /** Under way; a recovery leaves it alone. */
  | 'open'
  /** A success meanwhile; a recovery leaves it alone. */
  | 'delivered'
  /** This very recovery has given it a round. */
  | 'recovered_already'
  /** It changed again and again while we looked. */
  | 'contended';

export type RetryResult =
  { kind: 'retried'; delivery: Delivery } | { kind: 'refused'; why: RetryRefusal; delivery?: Delivery };

export type CancelResult =
  | { kind: 'cancelled'; delivery: Delivery }
  | { kind: 'refused'; why: 'no_such_delivery' | 'over' | 'contended'; delivery?: Delivery };

/** How often a delivery may change under our hands before the caller is told so. */
const MOST_TRIES = 4;

/**
 * By hand: makes the pending attempt of a retrying delivery due now, and gives one that is over another round. An
 * automatic retry at the same time carries the same number, so only one of the two is made.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds it without one.
 */
export const retryDelivery = (context: ByHandContext, key: DeliveryKey): Promise<RetryResult> =>
  decided(context, key, (current) =>
    isOpen(current.status) ? hastened(context, current) : reopened(context, current, undefined),
  );

/** For a recovery: another round for a delivery that is over, once for each recovery. */
export const reopenDelivery = (
  context: ByHandContext,
  key: DeliveryKey,
  recoveryId: string,
): Promise<RetryResult> =>
  decided(context, key, async (current) => {
    if (current.recoveries.includes(recoveryId)) return recoveredAlready(context, current);
    if (isOpen(current.status)) return refused('open', current);
    if (current.status === 'delivered') return refused('delivered', current);
    return reopened(context, current, recoveryId);
  });

/** A decision on the record as read; `again`: it changed meanwhile. */
type Decision = RetryResult | { kind: 'again' };

const decided = async (
  { ports }: ByHandContext,
  key: DeliveryKey,
  decide: (current: Delivery) => Promise<Decision>,
): Promise<RetryResult> => {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const current = await ports.deliveries.find(key);
    if (current === undefined) return { kind: 'refused', why: 'no_such_delivery' };
    const decision = await decide(current);
    if (decision.kind !== 'again') return decision;
  }
  return { kind: 'refused', why: 'contended' };
};

const refused = (why: RetryRefusal, delivery: Delivery): RetryResult => ({ kind: 'refused', why, delivery });

const hastened = async (context: ByHandContext, current: Delivery): Promise<Decision> => {
  const { ports } = context;
  const { lease } = current;
  if (lease !== undefined && lease.until > ports.clock.now()) return refused('in_flight', current);
  // Nothing but its job carries the message of a first attempt, until somebody has taken it over.
  if (current.next === undefined && current.overdueAt === undefined) return refused('not_begun', current);
  if (await isAbsent(context, current)) return refused('subscription_absent', current);
  // A holder that died has left an attempt that is due: it only wants waking.
  if (lease !== undefined) return woken(context, current);
  return written(context, hasten(current, momentOf(context)), current);
};

const reopened = async (
  context: ByHandContext,
  current: Delivery,
  recovery: string | undefined,
): Promise<Decision> => {
  const { ports, settings } = context;
  const { status } = current;
  if (isOpen(status)) return { kind: 'again' };
  if (current.owed.length > 0) return refused('being_closed', current);
  if (await isAbsent(context, current)) return refused('subscription_absent', current);
  const now = ports.clock.now();
  const message = await keptForAnotherRound(ports, current.key, keptUntil(now, settings));
  if (message === undefined) return refused('body_gone', current);
  if (message.expiresAt !== undefined && message.expiresAt <= now) return refused('message_expired', current);
  return written(context, reopen(current, status, recovery, momentOf(context)), current);
};

/** The wake-up may be what a crash left out: without it the delivery waits for reconcile, so it is sent again while that helps. */
const recoveredAlready = async (context: ByHandContext, current: Delivery): Promise<Decision> => {
  const isWaiting = current.next?.phase === 'manual' && current.lease === undefined;
  if (isWaiting) await woken(context, current);
  return refused('recovered_already', current);
};

const written = async (
  context: ByHandContext,
  transition: Transition,
  before: Delivery,
): Promise<Decision> => {
  const result = await context.ports.deliveries.write(transition);
  if (result.kind === 'refused') return { kind: 'again' };
  await removeSchedule(context, before);
  return woken(context, result.delivery);
};

const woken = async ({ ports }: ByHandContext, delivery: Delivery): Promise<RetryResult> => {
  const attempt = delivery.attempts.length + 1;
  const dueAt = delivery.next?.dueAt ?? ports.clock.now();
  await ports.wakeUps.sendDelayed({ kind: 'wake_up', key: delivery.key, attempt, dueAt }, 0);
  ports.journal.note({ fact: 'retried_by_hand', key: delivery.key, attempt, round: delivery.round });
  return { kind: 'retried', delivery };
};

/**
 * Ends an open delivery: nobody makes a request for it any more, but for one that may be under way already, whose success
 * would still count. One whose job was not received yet ends as well, where the message says that it has to come.
 * @throws when a service fails; safe to repeat.
 */
export const cancelDelivery = async (
  context: ByHandContext,
  key: DeliveryKey,
  reason: 'manual' | 'subscription_deleted' | 'queue_deleted',
): Promise<CancelResult> => {
  const { ports } = context;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const current = await ports.deliveries.find(key);
    const transition = await cancellationOf(context, key, current, reason);
    if (transition === undefined)
      return current === undefined
        ? { kind: 'refused', why: 'no_such_delivery' }
        : { kind: 'refused', why: 'over', delivery: current };
    const result = await ports.deliveries.write(transition);
    if (result.kind === 'refused') continue;
    if (current !== undefined) await removeSchedule(context, current);
    ports.journal.note({ fact: 'delivery_cancelled', key, reason });
    return { kind: 'cancelled', delivery: result.delivery };
  }
  return { kind: 'refused', why: 'contended' };
};

/** Undefined: there is nothing to cancel. */
const cancellationOf = async (
  context: ByHandContext,
  key: DeliveryKey,
  current: Delivery | undefined,
  reason: string,
): Promise<Transition | undefined> => {
  const { ports } = context;
  const at = momentOf(context);
  if (current !== undefined) return isOpen(current.status) ? cancelOpen(current, reason, at) : undefined;
  // A job works off what is on record; only a person names a delivery that is still to come.
  if (reason !== 'manual') return undefined;
  const record = await ports.messageRecords.find(key);
  const { subscription } = await ports.subscriptions.find(key.queue, key.subscriptionId, 'fresh');
  if (record === undefined || subscription === undefined || subscription.createdAt > record.listedAt)
    return undefined;
  return (await hasUnbegun(context, record))
    ? cancelUnbegun({ key, acceptedAt: record.acceptedAt }, reason, at)
    : undefined;
};

/** Where all that matched are on record, a further one is not waited for: its filter said no. */
const hasUnbegun = async (
  { ports }: ByHandContext,
  { key, buckets, matched }: MessageRecord,
): Promise<boolean> => {
  const counts = await ports.deliveryListings.tally(key, buckets);
  return Object.values(counts).reduce((sum, count) => sum + count, 0) < matched;
};

const isAbsent = async ({ ports }: ByHandContext, { key }: Delivery): Promise<boolean> => {
  const { subscription } = await ports.subscriptions.find(key.queue, key.subscriptionId, 'fresh');
  return absenceOf(subscription, ports.clock.now(), key.messageId) !== undefined;
};

/** Left alone it would fire in vain; one that cannot be removed now does just that. */
const removeSchedule = async ({ ports }: ByHandContext, { key, next, lease }: Delivery): Promise<void> => {
  if (next?.by !== 'scheduler') return;
  await ports.wakeUps.unschedule(scheduleName(key, next.number, armedFor(next.dueAt, lease)));
};

/** As armed: never before a lease on the record runs out. */
const armedFor = (dueAt: number, lease: Lease | undefined): number => Math.max(dueAt, lease?.until ?? 0);

const momentOf = ({ ports, settings }: ByHandContext): Moment => ({
  now: ports.clock.now(),
  retentionMs: settings.retentionMs,
});
