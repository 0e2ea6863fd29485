import { createHash } from 'node:crypto';
import type { Slot } from '../subscription/rate-limit.ts';
import type { DeliveryKey, Lease, NextAttempt } from './delivery.ts';
import type { Mechanism } from './vocabulary.ts';

/** SQS's longest DelaySeconds (Amazon SQS message quotas). */
export const MAX_DELAY_SECONDS = 900;

/**
 * EventBridge Scheduler invokes within the minute after the scheduled time ("60-second precision", EventBridge
 * Scheduler user guide, schedule types). Schedules are set this much earlier, and SQS delays the rest to the
 * second.
 */
const SCHEDULER_LEAD_MS = 65_000;

/** A schedule any nearer could be in the past when it is created. */
const SCHEDULER_MIN_AHEAD_MS = 5_000;

/** How deliver is started for a retry. */
export type RetryMechanism = 'same_invocation' | WakeUpPlan['by'];

type WakeUpPlan = { by: 'sqs_delay' } | { by: 'scheduler'; at: number };

/**
 * The mechanism that starts the attempt due at `dueAt` (docs/retry-policy.md#from-delay-to-wake-up). Times in ms, the threshold in
 * seconds. A `recorded` mechanism stays, unless SQS cannot delay for so long, or a schedule may fire too late.
 */
export function planWakeUp(
  dueAt: number,
  now: number,
  thresholdSeconds: number,
  recorded?: Mechanism,
): WakeUpPlan {
  const remainingMs = dueAt - now;
  const leastMs = 1000 * leastScheduled(thresholdSeconds, recorded);
  if (remainingMs < leastMs || remainingMs <= SCHEDULER_MIN_AHEAD_MS) return { by: 'sqs_delay' };
  return { by: 'scheduler', at: Math.max(dueAt - SCHEDULER_LEAD_MS, now + SCHEDULER_MIN_AHEAD_MS) };
}

function leastScheduled(thresholdSeconds: number, recorded: Mechanism | undefined): number {
  if (recorded === 'sqs_delay') return MAX_DELAY_SECONDS;
  return recorded === 'scheduler' ? Math.min(thresholdSeconds, MIN_SAFE_THRESHOLD) : thresholdSeconds;
}

/**
 * Seconds. A nearer schedule may fire too late. Deliveries that wait for a slot use none, for any setting: it may fire
 * after the slot has passed, and again for every later slot.
 */
const MIN_SAFE_THRESHOLD = (SCHEDULER_LEAD_MS + SCHEDULER_MIN_AHEAD_MS) / 1000;

export function thresholdFor(slot: Slot | undefined, thresholdSeconds: number): number {
  return slot === undefined ? thresholdSeconds : Math.max(thresholdSeconds, MIN_SAFE_THRESHOLD);
}

/**
 * One SQS delay in seconds: the whole remainder, or the SQS maximum. Early wake-ups continue this way, so that one due time
 * never gets a second schedule. SQS takes whole seconds; rounding to the nearest keeps the error within half a
 * second, and deliver waits out an early one.
 */
export function computeSqsDelay(dueAt: number, now: number): number {
  return Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.round((dueAt - now) / 1000)));
}

/** When to wake a delivery: a valid lease blocks other invocations until it expires. */
export function wakeUpTime({ dueAt }: Pick<NextAttempt, 'dueAt'>, lease: Lease | undefined): number {
  return Math.max(dueAt, lease?.until ?? 0);
}

/**
 * Schedule name of one due time of one attempt: scheduling it twice creates one schedule, and a moved due time gets
 * another. At most 64 of `[0-9a-zA-Z-_.]` (EventBridge Scheduler API, CreateSchedule).
 */
export function scheduleName(key: DeliveryKey, attempt: number, dueAt: number): string {
  const delivery = createHash('sha256')
    .update(JSON.stringify([key.queue, key.messageId, key.subscriptionId]))
    .digest('base64url')
    .slice(0, 32);
  return `${delivery}-${attempt}-${dueAt}`;
}
