/**
 * Duration of an attempt, and of everything that must outlast it: its lease, the deliver invocation and therefore
 * the visibility timeout (receives.ts), reconcile's grace period and the second pass of a cancellation. A change
 * here changes all of them.
 */

/** Bounds of the setting `attemptTimeoutSeconds`: the duration of a single request. */
export const ATTEMPT_TIMEOUT_SECONDS = { least: 1, most: 30, default: 15 };

/**
 * From the claim to the request: reading the message, opening secrets, reserving a slot; in a chunk, also reading
 * the subscriptions.
 */
const PREPARING_MS = 3_000;

/** After the request: keeping the body, recording the attempt, scheduling its wake-up. */
const RECORDING_MS = 5_000;

/** Invocation time beyond one lease: to receive the batch, and to return messages for which no time is left. */
const INVOCATION_SPARE_MS = 7_000;

/** Lease of one attempt, in milliseconds. */
export function leaseMs(attemptTimeoutMs: number): number {
  return PREPARING_MS + attemptTimeoutMs + RECORDING_MS;
}

/** Milliseconds for a request and its recording, once it is prepared. */
export function requestMs(attemptTimeoutMs: number): number {
  return attemptTimeoutMs + RECORDING_MS;
}

/** Timeout of the deliver function, in milliseconds. */
export function invocationMs(attemptTimeoutMs: number): number {
  return leaseMs(attemptTimeoutMs) + INVOCATION_SPARE_MS;
}

/** Upper bound of a deliver invocation, in milliseconds: work that began earlier has ended. */
export const ANY_INVOCATION_MS = wholeMinutes(invocationMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/** Exceeds any lease and the lag of the delivery listing: after it, a cancellation finds all earlier attempts. */
export const ANY_LEASE_MS = wholeMinutes(leaseMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/** Default of the setting `overdueAfterSeconds`: an invocation with the default timeout has ended by then. */
export const OVERDUE_AFTER_SECONDS = invocationMs(ATTEMPT_TIMEOUT_SECONDS.default * 1000) / 1000;

function wholeMinutes(milliseconds: number): number {
  return Math.ceil(milliseconds / 60_000) * 60_000;
}
