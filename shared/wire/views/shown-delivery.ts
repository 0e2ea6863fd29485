import { type Attempt, endOfAttempt, shownResult, type Wait } from '../../domain/delivery/attempt.ts';
import {
  computeStart,
  type Delivery,
  isOpen,
  type NextAttempt,
  pickIds,
} from '../../domain/delivery/delivery.ts';
import type { DeliveryDetail } from '../../domain/delivery/explain.ts';
import { isPaused } from '../../domain/delivery/paused.ts';
import { isReceivable } from '../../domain/delivery/pull.ts';
import type { Waiting } from '../../domain/delivery/vocabulary.ts';
import { findWait, listWaits, totalWaits } from '../../domain/delivery/waits.ts';
import { toWaitingReason } from '../../domain/subscription/rate-limit.ts';
import { timeText } from '../fields.ts';
import type {
  DeliveryDetailView,
  DeliverySummary,
  DeliveryView,
  InFlightView,
  SubscriptionDeliveryView,
  WaitView,
} from './delivery.ts';

// Apart from the schemas: deliver writes notices, and needs no schema for that at its start.

export function deliveryView(delivery: Delivery): DeliveryView {
  const { key, status, reason, acceptedAt, next, policy, attempts, lateResults } = delivery;
  const viewOf = (attempt: Attempt) => viewOfAttempt(attempt, acceptedAt);
  return {
    ...pickIds(key),
    status,
    ...(reason === undefined ? {} : { reason }),
    acceptedAt: timeText(acceptedAt),
    attempts: attempts.map(viewOf),
    ...(next === undefined ? {} : toNextFields(delivery, next)),
    ...toInFlight(delivery),
    ...(lateResults.length === 0 ? {} : { lateResults: lateResults.map(viewOf) }),
    policy: policy ?? null,
  };
}

function toNextFields(delivery: Delivery, next: NextAttempt) {
  const dueAt = timeText(computeStart(delivery, next));
  const { waited = [], waitingSince: _, ...planned } = next;
  const nextAttempt = { ...planned, dueAt, ...toWaiting(delivery), ...toWaited(waited) };
  return { nextAttemptAt: dueAt, nextAttempt };
}

/** The claim of an attempt is the last write to an open delivery with a lease. */
function toInFlight(delivery: Delivery): { inFlight?: InFlightView } {
  const { lease, updatedAt } = delivery;
  if (lease === undefined || !isOpen(delivery)) return {};
  return { inFlight: { since: timeText(lease.receivedAt ?? updatedAt), until: timeText(lease.until) } };
}

function toWaited(waits: readonly Wait[]): { waited?: WaitView[] } {
  return waits.length === 0 ? {} : { waited: [...waits] };
}

/** Why a delivery waits besides its due time. */
function toWaiting(delivery: Delivery): { waiting?: Waiting; waitingSince?: string } {
  const wait = findWait(delivery);
  const since = wait && { waitingSince: timeText(wait.since) };
  if (isReceivable(delivery)) return { waiting: 'pull', ...since };
  if (isPaused(delivery)) return { waiting: 'paused', ...since };
  return delivery.slot === undefined ? {} : { waiting: toWaitingReason(delivery.slot), ...since };
}

function viewOfAttempt(attempt: Attempt, acceptedAt: number): DeliveryView['attempts'][number] {
  const { startedAt, dueAt, result, waited: _, ...shown } = attempt;
  return {
    ...shown,
    ...shownResult(result),
    ...(dueAt === undefined ? {} : { dueAt: timeText(dueAt) }),
    ...toWaited(listWaits(attempt, acceptedAt)),
    startedAt: timeText(startedAt),
  };
}

export function deliverySummary(delivery: Delivery): DeliverySummary {
  const { key, status, reason, acceptedAt, attempts, next } = delivery;
  const last = attempts.at(-1);
  return {
    ...pickIds(key),
    status,
    ...(reason === undefined ? {} : { reason }),
    acceptedAt: timeText(acceptedAt),
    attemptCount: attempts.length,
    ...(last === undefined ? {} : { lastAttempt: toLastAttempt(last) }),
    ...(next === undefined
      ? {}
      : { nextAttemptAt: timeText(computeStart(delivery, next)), ...toWaiting(delivery) }),
    ...toInFlight(delivery),
    ...toWaited(totalWaits(delivery)),
  };
}

function toLastAttempt(attempt: Attempt): NonNullable<DeliverySummary['lastAttempt']> {
  const { number, startedAt, outcome, result } = attempt;
  const { snippet: _, ...shown } = shownResult(result);
  return { number, startedAt: timeText(startedAt), outcome, ...shown };
}

export function deliveryDetailView({ delivery, planned, ...policy }: DeliveryDetail): DeliveryDetailView {
  return {
    ...deliveryView(delivery),
    ...policy,
    planned: planned.map((attempt) => ({ ...attempt, dueAt: timeText(attempt.dueAt) })),
  };
}

export function subscriptionDeliveryView(
  delivery: Delivery,
  messageType: string | undefined,
): SubscriptionDeliveryView {
  const { attempts, lateResults, acceptedAt } = delivery;
  const last = attempts.at(-1);
  const success = [...attempts, ...lateResults].find(({ outcome }) => outcome === 'delivered');
  return {
    ...deliverySummary(delivery),
    ...(messageType !== undefined && { messageType }),
    ...(last !== undefined && { durationMs: last.durationMs }),
    ...(success !== undefined && {
      deliveredAfterMs: Math.max(0, endOfAttempt(success) - acceptedAt),
    }),
  };
}
