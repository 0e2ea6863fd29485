import type { AttemptTrigger, Outcome, Phase } from '../vocabulary.ts';

/** One HTTP request of a delivery, as kept on record. Times are milliseconds since the epoch. */
export type Attempt = {
  number: number;
  round: number;
  phase: Phase;
  by?: AttemptTrigger;
  /** Of a retry: when its policy said. */
  dueAt?: number;
  startedAt: number;
  durationMs: number;
  outcome: Outcome;
  statusCode?: number;
  error?: string;
  /** The first bytes of the answer's body, kept only where they differ from the attempt before. */
  snippet?: string;
  /** How often a lease ran out on this attempt: requests that may have reached the subscriber unrecorded. */
  lost?: number;
  /** Of a 410: the `changedAt` of the subscription that it went by, which is the one to disable. */
  subscriptionChangedAt?: number;
};

/** Bytes of errors and snippets that one delivery may hold in all, so that its record stays small whatever is answered. */
const MAX_TEXT_BYTES = 2048;

/**
 * Drops the snippet that says what the attempt before said, or that would make the record too large; then of the error what
 * comes after its one word.
 */
export function withBoundedText(attempt: Attempt, before: readonly Attempt[]): Attempt {
  const { snippet, ...rest } = withBoundedError(attempt, before);
  if (snippet === undefined || snippet === lastSnippet(before)) return rest;
  const room = MAX_TEXT_BYTES - textBytes([...before, rest]);
  return Buffer.byteLength(snippet) <= room ? { ...rest, snippet } : rest;
}

function withBoundedError(attempt: Attempt, before: readonly Attempt[]): Attempt {
  const { error } = attempt;
  const isTooMuch = textBytes([...before, { ...attempt, snippet: '' }]) > MAX_TEXT_BYTES;
  return error !== undefined && isTooMuch ? { ...attempt, error: error.replace(/:.*$/s, '') } : attempt;
}

function lastSnippet(attempts: readonly Attempt[]): string | undefined {
  return attempts.findLast((attempt) => attempt.snippet !== undefined)?.snippet;
}

function textBytes(attempts: readonly Attempt[]): number {
  return attempts.reduce(
    (sum, { error = '', snippet = '' }) => sum + Buffer.byteLength(error) + Buffer.byteLength(snippet),
    0,
  );
}
