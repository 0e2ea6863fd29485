/** How soon SQS brings a message back that was received and not deleted, and how often before it is a dead letter. */

/**
 * Beyond the timeout of the function, in seconds: for Lambda to hand the batch over. Lambda demands a visibility timeout of no
 * less than the function's timeout, and recommends six times as much, to repeat an invocation that was throttled in that time
 * (Lambda developer guide, "Creating and configuring an Amazon SQS event source mapping"). Here what was throttled for longer is
 * received again, which `MOST_RECEIVES` makes up for: in return a crash holds its messages back for half a minute, not for three.
 */
const HANDING_OVER_SECONDS = 5;

/** With any window, Lambda may hold what it received from a quiet queue for so long (the same page). */
const LEAST_WINDOW_SECONDS = 20;

/** How long SQS hides a message once a function has received it. `window`: how long Lambda gathers a batch. All in seconds. */
export function visibilityTimeout(functionTimeout: number, window = 0): number {
  return functionTimeout + HANDING_OVER_SECONDS + (window === 0 ? 0 : Math.max(LEAST_WINDOW_SECONDS, window));
}

/**
 * How often a message is received before it is a dead letter. A receive is lost to every crash, throttle, timeout and fault of
 * ours: at half a minute each, an outage may last for about half an hour.
 */
export const MOST_RECEIVES = 50;

/** The longest delay of a message that a function failed, in seconds. */
const MOST_DELAY_SECONDS = 50;

/**
 * Seconds until a message is visible again that a function failed because of a fault of ours: 1 or 2 at first, twice as many
 * each time, 25 to 50 in the end. So an outage that is over is over for every message within a minute. `random` is uniform in
 * [0, 1): what failed together does not come back together.
 */
export function returnDelaySeconds(receiveCount: number, random: () => number): number {
  const most = Math.min(MOST_DELAY_SECONDS, 2 ** receiveCount);
  return Math.round((most / 2) * (1 + random()));
}

/**
 * The function had no time for all that a message asks of it, and what it did is on record. The message shall come again at once,
 * for the rest. No fault; but a receive like any other, so that the work of one message comes to an end.
 */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError';

  constructor() {
    super('The rest of the message is done when it comes again.');
  }
}
