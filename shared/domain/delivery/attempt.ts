import type { Outcome, Phase } from '../retry/vocabulary.ts';
import type { AttemptTrigger } from './vocabulary.ts';

/** One recorded HTTP request of a delivery. Times are milliseconds since the epoch. */
export type Attempt = {
  number: number;
  round: number;
  phase: Phase;
  by?: AttemptTrigger;
  /** Of a retry: due time from the policy. */
  dueAt?: number;
  startedAt: number;
  durationMs: number;
  outcome: Outcome;
  statusCode?: number;
  error?: string;
  /** Start of the response body, kept only if it differs from the previous attempt's. */
  snippet?: string;
  /** Leases that expired on this attempt: requests that may have reached the subscriber unrecorded. */
  lost?: number;
  /** If the answer disables: `changedAt` of the subscription that was called; only that version is disabled. */
  subscriptionChangedAt?: number;
};

/** When the request ended. Milliseconds since the epoch. */
export function endOfAttempt({ startedAt, durationMs }: Pick<Attempt, 'startedAt' | 'durationMs'>): number {
  return startedAt + durationMs;
}

/** The number of attempts that the current round of a delivery has made. */
export function attemptsInRound(delivery: { attempts: readonly Attempt[]; round: number }): number {
  return delivery.attempts.filter(({ round }) => round === delivery.round).length;
}

/** Bytes of errors and snippets per delivery in all; bounds the size of its record. */
const MAX_TEXT_BYTES = 2048;

/**
 * Bounds the text of an attempt: drops a repeated or oversized snippet; shortens an oversized error to its code.
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
