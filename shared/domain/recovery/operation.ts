import { MAX_DELAY_SECONDS } from '../delivery/wake-up-plan.ts';

/**
 * Timeout of operate. Short, because a crash hides the message for as long; a long operation continues in a new
 * message.
 */
export const OPERATE_TIMEOUT_SECONDS = 40;

/** A long task for `operate`, done page by page; safe to repeat. Times are milliseconds since the epoch. */
export type Operation = RecoveryOperation | CancellationOperation | MovingUpOperation;

/** Continues a recovery from the cursor in its record. Sent before the record is written. */
export type RecoveryOperation = { kind: 'recovery'; queue: string; recoveryId: string; orderedAt: number };

/**
 * Cancels the pending deliveries of a subscription that is marked for deletion, then removes it. Without
 * `subscriptionId`: those of a queue deleted at `deletedAt`.
 */
export type CancellationOperation = {
  kind: 'cancellation';
  queue: string;
  subscriptionId?: string;
  deletedAt: number;
  /** Start of the next page; absent before the first. */
  cursor?: string;
  /** This pass began after all attempts in flight at the deletion were recorded. */
  settled?: true;
  /** Deliveries of this pass that could not be cancelled so far. */
  failed?: number;
  /** Passes that repeated the failures of earlier passes. */
  looks?: number;
};

/** Moves deliveries that wait under a lower rate limit than the current one to earlier slots. */
export type MovingUpOperation = {
  kind: 'moving_up';
  queue: string;
  subscriptionId: string;
  /** Start of the next page; absent before the first. */
  cursor?: string;
  /** This pass began after all attempts in flight at the change were recorded. */
  settled?: true;
};

/** How often operate retries a delivery that it could not process, before it skips it. */
export const MAX_RECHECKS = 5;

const FIRST_RECHECK_SECONDS = 60;

/**
 * Seconds until the next recheck: one minute, doubling each time, half an hour in total. Reconcile repairs a crash
 * within five minutes, and SQS redelivers through an outage (receives.ts).
 */
export function recheckDelaySeconds(looks: number): number {
  return Math.min(MAX_DELAY_SECONDS, FIRST_RECHECK_SECONDS * 2 ** looks);
}
