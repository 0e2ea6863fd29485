/**
 * How long an attempt may take, and everything that has to outlast it: its lease, deliver's invocation and with it the time for
 * which SQS hides its message (receives.ts), the grace of reconcile, and the second pass of a cancellation. A change here changes
 * all of them.
 */

/** The setting `attemptTimeoutSeconds`: what a single request may take. */
export const ATTEMPT_TIMEOUT_SECONDS = { least: 1, most: 30, default: 15 };

/** Between the claim and the request: reading the message, opening secrets, taking a slot; in a chunk, the subscriptions too. */
const PREPARING_MS = 3_000;

/** After the request: keeping the body, recording the attempt and scheduling its wake-up. */
const RECORDING_MS = 5_000;

/** What an invocation has beyond one lease: to receive the batch, and to send back what it has no time for. */
const INVOCATION_SPARE_MS = 7_000;

/** Milliseconds for which an attempt holds its delivery. */
export function leaseMs(attemptTimeoutMs: number): number {
  return PREPARING_MS + attemptTimeoutMs + RECORDING_MS;
}

/** Milliseconds that a request and its recording may still take once everything is at hand. */
export function requestMs(attemptTimeoutMs: number): number {
  return attemptTimeoutMs + RECORDING_MS;
}

/** Timeout of the deliver function, in milliseconds. */
export function invocationMs(attemptTimeoutMs: number): number {
  return leaseMs(attemptTimeoutMs) + INVOCATION_SPARE_MS;
}

/** Longer than any invocation of deliver: what one began before that is over, or will never be. */
export const ANY_INVOCATION_MS = wholeMinutes(invocationMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/** Longer than any lease, and than the listing of deliveries is behind: then a cancellation finds what was in flight before. */
export const ANY_LEASE_MS = wholeMinutes(leaseMs(ATTEMPT_TIMEOUT_SECONDS.most * 1000));

/** Default of the setting `overdueAfterSeconds`: reconcile wakes nothing that a usual invocation may still be at. */
export const OVERDUE_AFTER_SECONDS = invocationMs(ATTEMPT_TIMEOUT_SECONDS.default * 1000) / 1000;

function wholeMinutes(milliseconds: number): number {
  return Math.ceil(milliseconds / 60_000) * 60_000;
}
