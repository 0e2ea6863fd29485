import { ABSENCE_REASONS, WAITING_REASONS } from '../subscription/vocabulary.ts';

/**
 * The closed lists of words about deliveries (retry/vocabulary.ts says how they are used); those of counters are in
 * statistics.ts.
 */

/** Statuses of an unfinished delivery. `retrying`: after its first failure. */
export const OPEN_STATUSES = ['pending', 'retrying'] as const;
export type OpenStatus = (typeof OPEN_STATUSES)[number];

/** Ended without a success: a recovery can reopen such a delivery for another round. */
export const RECOVERABLE_STATUSES = ['rejected', 'exhausted', 'cancelled'] as const;
export type RecoverableStatus = (typeof RECOVERABLE_STATUSES)[number];

/** Statuses of a finished delivery. */
export const TERMINAL_STATUSES = ['delivered', ...RECOVERABLE_STATUSES] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export const STATUSES = [...OPEN_STATUSES, ...TERMINAL_STATUSES] as const;
export type Status = (typeof STATUSES)[number];

/** An object with a value for each of the words. */
export function toRecord<Word extends string, Value>(
  words: readonly Word[],
  valueOf: (word: Word) => Value,
): Record<Word, Value>;
export function toRecord(words: readonly string[], valueOf: (word: string) => unknown): object {
  return Object.fromEntries(words.map((word) => [word, valueOf(word)]));
}

/** The words of a record, in its order. */
export function wordsIn<Word extends string>(record: Readonly<Record<Word, unknown>>): Word[];
export function wordsIn(record: object): string[] {
  return Object.keys(record);
}

export function isOpenStatus(status: Status): status is OpenStatus {
  return OPEN_STATUSES.some((open) => open === status);
}

/** A queue's listings omit delivered deliveries, which are found through their message. */
export const LISTED_STATUSES = [...OPEN_STATUSES, ...RECOVERABLE_STATUSES] as const;

/** Names of the conditional writes to a delivery's record. */
export type TransitionName =
  | 'open'
  | 'claim'
  | 'take_over'
  | 'record'
  | 'record_late'
  | 'release'
  | 'await_slot'
  | 'await_pull'
  | 'await_resume'
  | 'end_wait'
  | 'move_up'
  | 'cancel'
  | 'settle'
  | 'postpone'
  | 'retry_now'
  | 'reopen'
  | 'send';

/** Why a due delivery waits. `pull`: until its subscriber receives it. `paused`: until it is resumed. */
export const WAITINGS = [...WAITING_REASONS, 'pull', 'paused'] as const;
export type Waiting = (typeof WAITINGS)[number];

/** Why an attempt did not start when it could. `lag`: nothing held it, but Posthaste or AWS was late. */
export const WAIT_REASONS = [...WAITINGS, 'lag'] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/**
 * How the next attempt is started; `pull`: its subscriber receives it. During a pause of the subscription or of its queue it
 * waits for the end of the pause.
 */
export const MECHANISMS = [
  'same_invocation',
  'sqs_delay',
  'scheduler',
  'pull',
  'subscription_pause',
  'queue_pause',
] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** How an attempt was started; absent on a first attempt, which its message started, and on a received one. */
export const ATTEMPT_TRIGGERS = ['same_invocation', 'sqs_delay', 'scheduler', 'reconcile'] as const;
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/** Why a received delivery failed: its subscriber said so, or did not answer until its lease ended. */
export type PullFault = 'nacked' | 'lease_expired';

/** Why a delivery is cancelled. `manual`: by an operator. `not_received`: it waited too long for its subscriber. `paused_too_long`: for the end of a pause. */
export const CANCEL_REASONS = [
  ...ABSENCE_REASONS,
  'body_erased',
  'body_missing',
  'manual',
  'queue_deleted',
  'message_expired',
  'not_received',
  'paused_too_long',
] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** Read in place of a reason that a later version stored, which counts after a return to this one. */
export type UnknownReason = 'unknown';

/** Why a manual retry, or another round for a recovery, is refused. */
export type RetryRefusal =
  | 'no_such_delivery'
  /** An attempt is in flight. */
  | 'in_flight'
  /** The first attempt has not started: its job has not been received, or will be redelivered by SQS. */
  | 'not_begun'
  /** It has ended, but has pending steps, which take a few seconds. */
  | 'being_closed'
  | 'body_gone'
  /** Another round would make its record too large. */
  | 'too_many_attempts'
  | 'message_expired'
  | 'subscription_absent'
  /** A delivery waits until queue and subscription are resumed. */
  | 'paused'
  /** Not ended; a recovery skips it. */
  | 'open'
  /** It succeeded in the meantime; a recovery skips it. */
  | 'delivered'
  /** The same recovery has already reopened it. */
  | 'recovered_already'
  /** Concurrent writes kept changing it. */
  | 'contended';

/** Why a message is not sent to a subscription by hand. */
export type SendRefusal =
  | RetryRefusal
  | 'no_such_message'
  /** First attempts are still to come, and one of them may be for this subscription. */
  | 'unfinished';

/**
 * Why a delivery cannot be cancelled manually. `over`: it has ended. `not_begun`: it has no record yet, and filters
 * may exclude the message from this subscription. `contended`: concurrent writes kept changing it.
 */
export type CancelRefusal = 'no_such_delivery' | 'over' | 'not_begun' | 'contended';

/**
 * Why deliver ignores a job or wake-up. `no_record`: it was deleted after its retention. `stale`: it is for a later attempt
 * than the record's next one. `paused`: it waits for the end of a pause, which only its operation ends.
 */
export type DroppedReason = 'no_record' | 'finished' | 'stale' | 'in_flight' | 'paused';

/**
 * What became of a message for one subscription. `unconfirmed`, `disabled`, `expired` and `deleted` are said of the
 * subscription; `not_sent_yet`: it matches, and its first attempt has not begun.
 */
export const EXPLAIN_VERDICTS = [
  ...STATUSES,
  ...WAITING_REASONS,
  'paused',
  'filtered',
  'unconfirmed',
  'disabled',
  'expired',
  'added_later',
  'not_sent_yet',
  'deleted',
] as const;
export type ExplainVerdict = (typeof EXPLAIN_VERDICTS)[number];
