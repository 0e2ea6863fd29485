/**
 * An invalid input field and why it is invalid. Callers see the message, so it states the rule and never quotes a
 * value that may be secret.
 */
export type FieldError = { field: string; message: string };

/** The thrown value as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
