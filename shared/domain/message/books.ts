import { type Status, TERMINAL_STATUSES, type TerminalStatus } from '../vocabulary.ts';

/** How many deliveries have which status. */
export type StatusCounts = Readonly<Record<Status, number>>;

export const NO_DELIVERIES: StatusCounts = {
  pending: 0,
  retrying: 0,
  delivered: 0,
  rejected: 0,
  exhausted: 0,
  cancelled: 0,
};

/** What was accepted against what became of it. Every figure is counted from records; none is what is left of others. */
export type Books = Readonly<Record<TerminalStatus, number>> & {
  /** Messages. */
  accepted: number;
  /** How often one of them came again. */
  duplicates: number;
  /** Deliveries that the messages asked for when they were accepted. */
  matched: number;
  /** Messages that no subscription matched. */
  unmatched: number;
  /** Messages to many subscriptions that were not sent to all of them yet: more deliveries may be asked for. */
  unfinished: number;
  /** Subscriptions that did not want a message, message by message. */
  filtered: number;
  /** On record, and not at an end. */
  pending: number;
};

export const EMPTY_BOOKS: Books = {
  accepted: 0,
  duplicates: 0,
  matched: 0,
  unmatched: 0,
  unfinished: 0,
  filtered: 0,
  delivered: 0,
  rejected: 0,
  exhausted: 0,
  cancelled: 0,
  pending: 0,
};

/** `until`: there while the message was not sent to all subscriptions. */
type MessageFigures = { matched: number; filtered: number; duplicates: number; until?: string };

/** The books of one message. */
export function booksOfMessage(
  { matched, filtered, duplicates, until }: MessageFigures,
  { pending, retrying, ...ends }: StatusCounts,
): Books {
  return {
    accepted: 1,
    duplicates,
    matched,
    unmatched: matched === 0 && until === undefined ? 1 : 0,
    unfinished: until === undefined ? 0 : 1,
    filtered,
    ...ends,
    pending: pending + retrying,
  };
}

export function sumOfBooks(one: Books, other: Books): Books {
  return {
    accepted: one.accepted + other.accepted,
    duplicates: one.duplicates + other.duplicates,
    matched: one.matched + other.matched,
    unmatched: one.unmatched + other.unmatched,
    unfinished: one.unfinished + other.unfinished,
    filtered: one.filtered + other.filtered,
    delivered: one.delivered + other.delivered,
    rejected: one.rejected + other.rejected,
    exhausted: one.exhausted + other.exhausted,
    cancelled: one.cancelled + other.cancelled,
    pending: one.pending + other.pending,
  };
}

/**
 * Whether every delivery that was and will be asked for is on record. For a moment after a message was accepted it is not: its jobs wait
 * in the delivery queue.
 */
export function isBalanced(books: Books): boolean {
  const ended = TERMINAL_STATUSES.reduce((sum, status) => sum + books[status], 0);
  return books.unfinished === 0 && books.matched === ended + books.pending;
}
