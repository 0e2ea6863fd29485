import { hash } from 'node:crypto';
import { type Attempt, shownResult } from '../../domain/delivery/attempt.ts';
import { pickIds } from '../../domain/delivery/delivery.ts';
import type { MessageKey } from '../../domain/message/message.ts';
import type { OperatorEvent } from '../../domain/delivery/operator-event.ts';
import type { Fact } from '../../ports/journal.ts';
import { toErrorLine } from './error-line.ts';
import { isDropped } from './journal-measures.ts';

/**
 * The message whose first-try success this fact reports, so that it can be sampled. Undefined: the fact is always
 * logged. A success after a failure is always logged, because it completes the history of the failure.
 */
export function findSuccess(fact: Fact): MessageKey | undefined {
  if (fact.fact === 'message_accepted') return isDropped(fact) ? undefined : fact.message;
  if (fact.fact === 'slot_awaited') return fact.attempt === 1 ? fact.key : undefined;
  return fact.fact === 'attempt_made' && isPlainSuccess(fact.attempt) ? fact.key : undefined;
}

function isPlainSuccess({ outcome, number, lost = 0 }: Attempt): boolean {
  return outcome === 'delivered' && number === 1 && lost === 0;
}

/**
 * Whether a message is in the sample (`rate` 0 to 1). Derived from its key, so that every function decides alike.
 */
export function isSampled({ queue, messageId }: MessageKey, rate: number): boolean {
  return rate >= 1 || hash('sha256', `${queue}/${messageId}`, 'buffer').readUInt32BE() < rate * 2 ** 32;
}

/**
 * A fact as the keys of a log line, ids at the top level. Response snippets are left out: a subscriber may echo
 * what it was sent.
 */
export function toLine(fact: Fact): Record<string, unknown> {
  if (fact.fact === 'operator_event_sent') return { fact: fact.fact, ...toEventFields(fact.event) };
  if (fact.fact === 'attempt_made' || fact.fact === 'late_result') {
    const { key, attempt, acceptedAt: _, ...rest } = fact;
    return { ...pickIds(key), ...toAttemptFields(attempt), ...rest };
  }
  const { key, message, error, ...rest } = { key: undefined, message: undefined, error: undefined, ...fact };
  return {
    ...rest,
    ...(message && { queue: message.queue, messageId: message.messageId }),
    ...(key && pickIds(key)),
    ...(error && { error: toErrorLine(error) }),
  };
}

function toEventFields(event: OperatorEvent): Record<string, unknown> {
  const { type, key, ...rest } = { key: undefined, ...event };
  return { event: type, ...(key && pickIds(key)), ...rest };
}

function toAttemptFields({ number, result, ...attempt }: Attempt) {
  return { ...attempt, attempt: number, ...shownResult(result), snippet: undefined };
}
