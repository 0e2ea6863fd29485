/**
 * The part of Lambda's context that the steps use: an id that no other invocation has, and the time left in it. A worker
 * has one for each receive of a message.
 */
export type InvocationContext = { awsRequestId: string; getRemainingTimeInMillis: () => number };

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
 * Receives before SQS dead-letters a message. Every crash, throttle, timeout and internal fault uses one: at half a
 * minute each, an outage may last about half an hour.
 */
export const MAX_RECEIVES = 50;

/** Longest redelivery delay after an internal fault, in seconds. */
const MAX_RETURN_DELAY_SECONDS = 50;

/**
 * Seconds until a message is redelivered after an internal fault: 1 or 2 at first, doubling to 25 to 50. All
 * messages therefore recover within a minute after an outage. `random` is uniform in [0, 1) and spreads the
 * retries.
 */
export function returnDelaySeconds(receiveCount: number, random: () => number): number {
  const limit = Math.min(MAX_RETURN_DELAY_SECONDS, 2 ** receiveCount);
  return Math.round((limit / 2) * (1 + random()));
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
