/**
 * A field of an input that cannot be taken as it is, and why. Answered to callers and printed, so a message states the
 * rule and never quotes what may be a secret.
 */
export type FieldError = { field: string; message: string };
