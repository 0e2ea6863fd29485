import { ADDRESS_FORBIDDEN, PAYLOAD_FAILED, type Sent } from '../retry/outcome.ts';
import type { ConnectionFault, Outcome, Phase } from '../retry/vocabulary.ts';
import type { AttemptTrigger, PullFault, WaitReason } from './vocabulary.ts';

/** How long an attempt waited for one reason, in milliseconds. */
export type Wait = { reason: WaitReason; ms: number };

/** One recorded attempt of a delivery: a request, or a receive by pull. Times are milliseconds since the epoch. */
export type Attempt = {
  number: number;
  round: number;
  phase: Phase;
  by?: AttemptTrigger;
  /** Of a retry: due time from the policy. Of a first attempt: when the delay of its message ended. */
  dueAt?: number;
  /** Its waits on record, which end with `dueAt`, or with the start of a receive; one for each reason. */
  waited?: readonly Wait[];
  startedAt: number;
  durationMs: number;
  outcome: Outcome;
  result: AttemptResult;
  /** Leases that expired on this attempt: requests that may have reached the subscriber unrecorded. */
  lost?: number;
};

/** What came of an attempt. The last three are of a receive by pull, the others of a request. */
export type AttemptResult =
  | Answered
  | { kind: 'unanswered'; error: ConnectionFault; detail?: string }
  /** The address guard refused to connect. */
  | { kind: 'forbidden' }
  /** The payload could not be rendered; also by pull. */
  | { kind: 'unrendered'; detail?: string }
  | { kind: 'acknowledged' }
  /** `detail`: the subscriber's words. */
  | { kind: 'refused'; detail?: string }
  /** Its lease ended without an answer. */
  | { kind: 'lapsed' };

/** `snippet`: start of the response body, kept only if it differs from the previous attempt's. */
export type Answered = { kind: 'answered'; statusCode: number; snippet?: string };

/** What an attempt records of a reply. */
export function toAttemptResult(reply: Sent): AttemptResult {
  if (reply.kind !== 'answered') return reply;
  const { kind, statusCode, snippet } = reply;
  return { kind, statusCode, ...(snippet === undefined ? {} : { snippet }) };
}

/** A result as records, views and log lines show it. `error`: the fault, and after a colon its detail. */
export type ShownResult = { statusCode?: number; error?: string; snippet?: string };

export function shownResult(result: AttemptResult): ShownResult {
  switch (result.kind) {
    case 'answered': {
      const { kind: _, ...answer } = result;
      return answer;
    }
    case 'unanswered':
      return { error: errorText(result.error, result.detail) };
    case 'forbidden':
      return { error: ADDRESS_FORBIDDEN };
    case 'unrendered':
      return { error: errorText(PAYLOAD_FAILED, result.detail) };
    case 'acknowledged':
      return {};
    case 'refused':
      return { error: errorText('nacked' satisfies PullFault, result.detail) };
    case 'lapsed':
      return { error: 'lease_expired' satisfies PullFault };
  }
}

function errorText(fault: string, detail: string | undefined): string {
  return detail === undefined ? fault : `${fault}: ${detail}`;
}

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

/** Bounds the text of a result: drops a repeated or oversized snippet, and an oversized detail of a fault. */
export function withBoundedText(result: AttemptResult, before: readonly Attempt[]): AttemptResult {
  switch (result.kind) {
    case 'answered':
      return result.snippet !== lastSnippet(before) && hasRoom(result, before)
        ? result
        : { kind: 'answered', statusCode: result.statusCode };
    case 'unanswered':
      return hasRoom(result, before) ? result : { kind: 'unanswered', error: result.error };
    case 'unrendered':
    case 'refused':
      return hasRoom(result, before) ? result : { kind: result.kind };
    case 'forbidden':
    case 'acknowledged':
    case 'lapsed':
      return result;
  }
}

function hasRoom(result: AttemptResult, before: readonly Attempt[]): boolean {
  const results = [...before.map((attempt) => attempt.result), result];
  return results.reduce((sum, one) => sum + textBytes(one), 0) <= MAX_TEXT_BYTES;
}

function textBytes(result: AttemptResult): number {
  const { error = '', snippet = '' } = shownResult(result);
  return Buffer.byteLength(error) + Buffer.byteLength(snippet);
}

function lastSnippet(attempts: readonly Attempt[]): string | undefined {
  const snippets = attempts.map(({ result }) => (result.kind === 'answered' ? result.snippet : undefined));
  return snippets.findLast((snippet) => snippet !== undefined);
}
