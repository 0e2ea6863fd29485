import * as z from 'zod';
import { MAX_DELAY_SECONDS } from '../delivery/wake-up-plan.ts';
import { storedMilliseconds, storedName } from '../stored-fields.ts';

/**
 * Timeout of operate. Short, because a crash hides the message for as long; a long operation continues in a new
 * message.
 */
export const OPERATE_TIMEOUT_SECONDS = 40;

/** Continues a recovery from the cursor in its record. Sent before the record is written. */
const recoveryOperation = z.object({
  kind: z.literal('recovery'),
  queue: storedName,
  recoveryId: storedName,
  orderedAt: storedMilliseconds,
});

const passFields = {
  /** Start of the next page; absent before the first. */
  cursor: z.string().min(1).exactOptional(),
  /** This pass began after all attempts in flight at the deletion or change were recorded. */
  settled: z.literal(true).exactOptional(),
};

const count = z.int().nonnegative();

/**
 * Cancels the pending deliveries of a subscription that is marked for deletion, then removes it. Without
 * `subscriptionId`: those of a queue deleted at `deletedAt`.
 */
const cancellationOperation = z.object({
  kind: z.literal('cancellation'),
  queue: storedName,
  subscriptionId: storedName.exactOptional(),
  deletedAt: storedMilliseconds,
  ...passFields,
  /** Deliveries of this pass that could not be cancelled so far. */
  failed: count.exactOptional(),
  /** Passes that repeated the failures of earlier passes. */
  looks: count.exactOptional(),
});

/** Moves deliveries that wait under a lower rate limit than the current one to earlier slots. */
const movingUpOperation = z.object({
  kind: z.literal('moving_up'),
  queue: storedName,
  subscriptionId: storedName,
  ...passFields,
});

/** Brings the subscriptions of a queue back whose restoration has begun. */
const restorationOperation = z.object({ kind: z.literal('restoration'), queue: storedName });

/**
 * Watches over what waits during a pause, and sends it after its end. Without `subscriptionId`: of a queue. Ends if the pause
 * has another `version`: a later operation does the rest.
 */
const pauseOperation = z.object({
  kind: z.literal('pause'),
  queue: storedName,
  subscriptionId: storedName.exactOptional(),
  version: storedMilliseconds,
  cursor: passFields.cursor,
  /** How often it was looked at again after nothing waited, or the change was not on record. */
  looks: count.exactOptional(),
  /** The time up to which deliveries have been made due. */
  sentUpTo: storedMilliseconds.exactOptional(),
  /** The operator knows that waiting deliveries are about to be cancelled. */
  warned: z.literal(true).exactOptional(),
});

/** A long task for `operate`, done page by page; safe to repeat. Times are milliseconds since the epoch. */
export const operationSchema = z.discriminatedUnion('kind', [
  recoveryOperation,
  cancellationOperation,
  movingUpOperation,
  restorationOperation,
  pauseOperation,
]);

export type Operation = z.infer<typeof operationSchema>;
export type RecoveryOperation = z.infer<typeof recoveryOperation>;
export type CancellationOperation = z.infer<typeof cancellationOperation>;
export type MovingUpOperation = z.infer<typeof movingUpOperation>;
export type RestorationOperation = z.infer<typeof restorationOperation>;
export type PauseOperation = z.infer<typeof pauseOperation>;

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
