/**
 * Duration of an attempt, and of everything that must outlast it: its lease, the deliver invocation and therefore
 * the visibility timeout (receives.ts), reconcile's grace period and the second pass of a cancellation. A change
 * here changes all of them.
 */

/** Bounds of the setting `attemptTimeoutSeconds`: the duration of a single request. */
export const ATTEMPT_TIMEOUT_SECONDS = { least: 1, most: 30, default: 15 };

/**
 * From the claim to the request: reading the message, opening secrets, reserving a slot. A chunk reads the first two
 * before its claim.
 */
const PREPARING_MS = 3_000;

/** After the request: keeping the body, recording the attempt, scheduling its wake-up. */
const RECORDING_MS = 5_000;

/** Invocation time beyond one lease: to receive the batch, read before the claim, and return work without time left. */
const INVOCATION_SPARE_MS = 7_000;

/** Lease of one attempt, in milliseconds. */
export function leaseMs(attemptTimeoutMs: number): number {
  return PREPARING_MS + attemptTimeoutMs + RECORDING_MS;
}

/** Milliseconds for a request and its recording, once it is prepared. */
export function requestAndRecordingMs(attemptTimeoutMs: number): number {
  return attemptTimeoutMs + RECORDING_MS;
}

/** Timeout of the deliver function, in milliseconds. */
export function invocationMs(attemptTimeoutMs: number): number {
  return leaseMs(attemptTimeoutMs) + INVOCATION_SPARE_MS;
}

/** From the start of a deliver invocation to that of its last request: a later one might not be recorded in time. */
export const LATEST_REQUEST_MS = PREPARING_MS + INVOCATION_SPARE_MS;

/** Longer than any deliver invocation, in milliseconds: work that began this long ago has ended. */
export const MAX_INVOCATION_MS = wholeMinutes(invocationMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/**
 * Longer than any lease of deliver plus the lag of the delivery listings: after it, a cancellation finds all earlier
 * attempts. What waits to be received is listed from the start.
 */
export const MAX_LEASE_MS = wholeMinutes(leaseMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/** Default of the setting `overdueAfterSeconds`: an invocation with the default timeout has ended by then. */
export const OVERDUE_AFTER_SECONDS = invocationMs(ATTEMPT_TIMEOUT_SECONDS.default * 1000) / 1000;

function wholeMinutes(milliseconds: number): number {
  return Math.ceil(milliseconds / 60_000) * 60_000;
}
