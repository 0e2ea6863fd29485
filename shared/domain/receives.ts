/** The part of Lambda's context that the steps use. A worker has one for each receive of a message. */
export type InvocationContext = { getRemainingTimeInMillis: () => number };

/** How soon SQS redelivers a message that was not deleted, and after how many receives it dead-letters it. */

/**
 * Seconds beyond the function timeout, for Lambda to hand over the batch. Lambda requires a visibility timeout of
 * at least the function timeout and recommends six times as much, to repeat throttled invocations (Lambda developer
 * guide, "Creating and configuring an Amazon SQS event source mapping"). A short timeout brings messages back half
 * a minute after a crash instead of three minutes; `MAX_RECEIVES` allows for the extra receives.
 */
const HANDOVER_SECONDS = 5;

/** With a batching window, Lambda may hold messages of a quiet queue for up to 20 seconds (same page). */
const MIN_WINDOW_SECONDS = 20;

/** Visibility timeout of a queue. `window`: the batching window. All in seconds. */
export function visibilityTimeout(functionTimeout: number, window = 0): number {
  return functionTimeout + HANDOVER_SECONDS + (window === 0 ? 0 : Math.max(MIN_WINDOW_SECONDS, window));
}

/**
 * Receives before SQS dead-letters a message. A message whose invocation crashes comes back after the visibility timeout
 * and uses them up within the hour; one that an outage returns lasts for over ten hours.
 */
export const MAX_RECEIVES = 100;

/** Receives from which on a message is handled after and apart from the others of its batch: it may crash them. */
export const SUSPECT_RECEIVES = 10;

/** Longest redelivery delay after an internal fault, in seconds. */
const MAX_RETURN_DELAY_SECONDS = 480;

/** Shortest delay as a share of the longest of the same receive. */
const SHORTEST_SHARE = 0.85;

/**
 * Seconds until a message is redelivered after an internal fault: about 2 at first, doubling to 408 to 480. A message
 * waits about as long as the outage has lasted, at most eight minutes. In three hours it is received 8 times in the
 * first 7 minutes and then every 444 s on average, 33 times in all. `random` is uniform in [0, 1) and spreads the
 * retries.
 */
export function returnDelaySeconds(receiveCount: number, random: () => number): number {
  const limit = Math.min(MAX_RETURN_DELAY_SECONDS, 2 ** receiveCount);
  return Math.round(limit * (SHORTEST_SHARE + (1 - SHORTEST_SHARE) * random()));
}

/** Failures after which a message is poison, if others of its queue succeed. */
const POISON_FAILURES = 5;

/** In milliseconds; longer than the delay between two failures, so that a busy queue has a success in between. */
const SUCCESS_COUNTS_MS = 10 * 60_000;

/**
 * Whether a message that failed without a fault of AWS is poison. While all of its queue fail, after a faulty release for
 * example, none is. `otherSucceededAt`: when another message of the queue last succeeded, as far as this instance saw.
 */
export function isPoison(receiveCount: number, otherSucceededAt: number | undefined, now: number): boolean {
  return (
    receiveCount >= POISON_FAILURES &&
    otherSucceededAt !== undefined &&
    now - otherSucceededAt < SUCCESS_COUNTS_MS
  );
}

/**
 * The invocation had no time for the rest of a message; finished work is recorded and SQS redelivers the message at
 * once. Not a fault, but it counts as a receive, so that the work on a message is bounded.
 */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError';

  constructor() {
    super('The rest of the message is processed when SQS redelivers it.');
  }
}
