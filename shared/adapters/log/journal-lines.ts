import { hash } from 'node:crypto';
import { type Attempt, shownResult } from '../../domain/delivery/attempt.ts';
import { pickIds } from '../../domain/delivery/delivery.ts';
import type { MessageKey } from '../../domain/message/message.ts';
import type { OperatorEvent } from '../../domain/delivery/operator-event.ts';
import type { Fact } from '../../ports/journal.ts';
import { toErrorLine } from './error-line.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error';

/**
 * A warning is something an operator should look at. An error means that an exception was caught and the step
 * continued without the failed part.
 */
const LEVELS: Record<Fact['fact'], Level> = {
  message_accepted: 'info',
  message_refused: 'warn',
  page_sent: 'info',
  message_unfinished: 'info',
  filter_too_costly: 'warn',
  attempt_made: 'info',
  late_result: 'warn',
  slot_awaited: 'info',
  moved_up: 'info',
  delivery_cancelled: 'info',
  retried_manually: 'info',
  lease_lost: 'warn',
  // The attempt's line shows when the next attempt is due, and by which mechanism.
  wake_up_set: 'debug',
  wake_up_dropped: 'info',
  schedule_refused: 'warn',
  sent_again: 'info',
  dead_lettered: 'warn',
  reconciled: 'warn',
  // Runs every minute. Its findings have separate lines.
  reconcile_ran: 'debug',
  operation_continued: 'info',
  operation_dropped: 'warn',
  operation_failed_for: 'error',
  cancellation_given_up: 'warn',
  recovery_completed: 'info',
  policy_adjusted: 'warn',
  operator_event_sent: 'info',
  health_not_recorded: 'error',
  slot_not_reserved: 'error',
  confirmation_not_sent: 'error',
  statistics_not_written: 'warn',
  attempt_events_lost: 'warn',
  aws_call_failed: 'info',
  polled: 'debug',
};

export function chooseLevel(fact: Fact): Level {
  if (fact.fact === 'aws_call_failed' && fact.throttled) return 'warn';
  // The producer believes that it published a different message.
  if (fact.fact === 'message_accepted' && isDropped(fact)) return 'warn';
  return LEVELS[fact.fact];
}

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

/** A duplicate that is not sent. Its producer may not expect this. */
function isDropped({ differs, late }: { differs?: true; late?: true }): boolean {
  return differs === true || late === true;
}
