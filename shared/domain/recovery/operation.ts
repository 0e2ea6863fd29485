import { MAX_DELAY_SECONDS } from '../retry/wake-up-plan.ts';

/** Timeout of operate. The rest of a long order goes on in a new message; short, because after a crash its message is hidden for as long. */
export const OPERATE_TIMEOUT_SECONDS = 40;

/** An order to `operate`: long work, done page by page. Each can be repeated without harm. Times are milliseconds since the epoch. */
export type Operation = RecoveryOperation | CancellationOperation | MovingUpOperation;

/** Replays what a recovery's record says, from where its cursor stands. Sent before the record is written. */
export type RecoveryOperation = { kind: 'recovery'; queue: string; recoveryId: string; orderedAt: number };

/**
 * Cancels what is pending for a subscription that is marked for deletion, and removes it then. Without a
 * `subscriptionId`: for a queue that was deleted at `deletedAt`.
 */
export type CancellationOperation = {
  kind: 'cancellation';
  queue: string;
  subscriptionId?: string;
  deletedAt: number;
  /** Where the next page begins; absent before the first. */
  cursor?: string;
  /** This pass began when every attempt that was under way at the deletion had been recorded. */
  settled?: true;
  /** Deliveries that could not be cancelled in this pass so far. */
  failed?: number;
  /** Passes made for what had failed in those before. */
  looks?: number;
};

/** Moves up what waits in the line of a subscription by a lower limit than it has now. */
export type MovingUpOperation = {
  kind: 'moving_up';
  queue: string;
  subscriptionId: string;
  /** Where the next page begins; absent before the first. */
  cursor?: string;
  /** This pass began when every attempt that was under way at the change had been recorded. */
  settled?: true;
};

/** How often operate looks again at a delivery that it could not deal with, before it leaves it alone. */
export const MOST_LOOKS = 5;

const FIRST_SECONDS = 60;

/**
 * Until the next look after so many: a minute, then twice as long each time, so half an hour in all. Reconcile, which makes up
 * for a crash, comes by in less than five minutes, and an outage of half an hour is what everything else outlasts as well.
 */
export function secondsToNextLook(looks: number): number {
  return Math.min(MAX_DELAY_SECONDS, FIRST_SECONDS * 2 ** looks);
}
