/**
 * A field of an input that cannot be taken as it is, and why. Answered to callers and printed, so a message states the
 * rule and never quotes what may be a secret.
 */
export type FieldError = { field: string; message: string };

/** What was thrown, as an error: anything can be. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
