import { createHash } from 'node:crypto';
import type { Slot } from '../subscription/rate-limit.ts';
import type { DeliveryKey, Lease, NextAttempt } from '../delivery/delivery.ts';

/** SQS's longest DelaySeconds (Amazon SQS message quotas). */
export const MAX_DELAY_SECONDS = 900;

/**
 * EventBridge Scheduler invokes within the minute after the time it is given ("60-second precision", EventBridge
 * Scheduler user guide, schedule types), so a schedule is set this far ahead and SQS brings the rest to the second.
 */
const SCHEDULER_LEAD_MS = 65_000;

/** A schedule nearer than this could be in the past by the time it is created. */
const SCHEDULER_NEAREST_MS = 5_000;

export type WakeUpPlan = { by: 'sqs_delay'; delaySeconds: number } | { by: 'scheduler'; at: number };

/** By which mechanism the attempt due at `dueAt` is brought about (docs/design.md#6-wake-ups). Times in ms, the threshold in seconds. */
export function planWakeUp(dueAt: number, now: number, thresholdSeconds: number): WakeUpPlan {
  const remainingMs = dueAt - now;
  if (remainingMs < thresholdSeconds * 1000 || remainingMs <= SCHEDULER_NEAREST_MS)
    return planSqsDelay(dueAt, now);
  return { by: 'scheduler', at: Math.max(dueAt - SCHEDULER_LEAD_MS, now + SCHEDULER_NEAREST_MS) };
}

/**
 * Seconds. The least threshold for what waits for a slot: a schedule for anything nearer may fire when the slot is over, and
 * for each slot after it again, whatever an operator prefers for retries.
 */
const LEAST_FOR_SLOTS = (SCHEDULER_LEAD_MS + SCHEDULER_NEAREST_MS) / 1000;

export function thresholdFor(slot: Slot | undefined, thresholdSeconds: number): number {
  return slot === undefined ? thresholdSeconds : Math.max(thresholdSeconds, LEAST_FOR_SLOTS);
}

/**
 * A step of the way by SQS: the whole remainder, or as much as SQS takes. An early wake-up always goes on like this,
 * so that no second schedule is made for one due time. SQS takes whole seconds: rounded to the nearest, a wake-up comes at
 * most half a second late, or as much too early, which deliver waits for. Always rounded up, it would be a second late.
 */
export function planSqsDelay(dueAt: number, now: number): { by: 'sqs_delay'; delaySeconds: number } {
  return {
    by: 'sqs_delay',
    delaySeconds: Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.round((dueAt - now) / 1000))),
  };
}

/** A lease on the record is a holder that died or is still at it: nobody else can take over before it runs out. */
export function wakeUpTime({ dueAt }: Pick<NextAttempt, 'dueAt'>, lease: Lease | undefined): number {
  return Math.max(dueAt, lease?.until ?? 0);
}

/**
 * One name for one due time of one attempt, so that arming it twice makes one schedule, while an attempt whose due time
 * was moved gets another. At most 64 of `[0-9a-zA-Z-_.]` (EventBridge Scheduler API, CreateSchedule).
 */
export function scheduleName(key: DeliveryKey, attempt: number, dueAt: number): string {
  const delivery = createHash('sha256')
    .update(JSON.stringify([key.queue, key.messageId, key.subscriptionId]))
    .digest('base64url')
    .slice(0, 32);
  return `${delivery}-${attempt}-${dueAt}`;
}
