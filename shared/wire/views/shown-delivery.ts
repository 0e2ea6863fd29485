import { type Attempt, endOfAttempt, shownResult } from '../../domain/delivery/attempt.ts';
import { computeStart, type Delivery, type NextAttempt, pickIds } from '../../domain/delivery/delivery.ts';
import type { DeliveryDetail } from '../../domain/delivery/explain.ts';
import { isReceivable } from '../../domain/delivery/pull.ts';
import { toWaitingReason } from '../../domain/subscription/rate-limit.ts';
import { timeText } from '../fields.ts';
import type {
  DeliveryDetailView,
  DeliverySummary,
  DeliveryView,
  SubscriptionDeliveryView,
  Waiting,
} from './delivery.ts';

// Apart from the schemas: deliver writes notices, and needs no schema for that at its start.

export function deliveryView(delivery: Delivery): DeliveryView {
  const { key, status, reason, next, policy, attempts, lateResults } = delivery;
  return {
    ...pickIds(key),
    status,
    ...(reason === undefined ? {} : { reason }),
    attempts: attempts.map(viewOfAttempt),
    ...(next === undefined ? {} : toNextFields(delivery, next)),
    ...(lateResults.length === 0 ? {} : { lateResults: lateResults.map(viewOfAttempt) }),
    policy: policy ?? null,
  };
}

function toNextFields(delivery: Delivery, next: NextAttempt) {
  const dueAt = timeText(computeStart(delivery, next));
  return { nextAttemptAt: dueAt, nextAttempt: { ...next, dueAt, ...toWaiting(delivery) } };
}

/** Why a delivery waits besides its due time. */
function toWaiting(delivery: Delivery): { waiting?: Waiting } {
  if (isReceivable(delivery)) return { waiting: 'pull' };
  return delivery.slot === undefined ? {} : { waiting: toWaitingReason(delivery.slot) };
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
