import { type Status, TERMINAL_STATUSES, type TerminalStatus } from './vocabulary.ts';

/** Number of deliveries in each status. */
export type StatusCounts = Readonly<Record<Status, number>>;

export const NO_DELIVERIES: StatusCounts = {
  pending: 0,
  retrying: 0,
  delivered: 0,
  rejected: 0,
  exhausted: 0,
  cancelled: 0,
};

export function sumOfStatusCounts(one: StatusCounts, other: StatusCounts): StatusCounts {
  return {
    pending: one.pending + other.pending,
    retrying: one.retrying + other.retrying,
    delivered: one.delivered + other.delivered,
    rejected: one.rejected + other.rejected,
    exhausted: one.exhausted + other.exhausted,
    cancelled: one.cancelled + other.cancelled,
  };
}

/** Number of deliveries in all states. */
export function sumOfCounts(counts: StatusCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/**
 * The reconciliation report: accepted messages and the results of their deliveries. Every figure is counted from
 * records; none is a difference of others.
 */
export type Books = Readonly<Record<TerminalStatus, number>> & {
  /** Accepted messages. */
  accepted: number;
  /** Repeated sends of accepted messages. */
  duplicates: number;
  /** Subscriptions that matched at the acceptance, or got the message by hand, summed over the messages. */
  matched: number;
  /** Messages without a matching subscription. */
  unmatched: number;
  /** Messages not yet sent to all of their many subscriptions: more deliveries may follow. */
  unfinished: number;
  /** Subscriptions excluded by their options, summed over the messages. */
  filtered: number;
  /** Recorded deliveries that have not ended. */
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

/** `lastSubscriptionId`: set until the message was sent to all subscriptions. */
type MessageFigures = { matched: number; filtered: number; duplicates: number; lastSubscriptionId?: string };

/** The reconciliation report of one message. */
export function booksOfMessage(
  { matched, filtered, duplicates, lastSubscriptionId }: MessageFigures,
  { pending, retrying, ...ends }: StatusCounts,
): Books {
  return {
    accepted: 1,
    duplicates,
    matched,
    unmatched: matched === 0 && lastSubscriptionId === undefined ? 1 : 0,
    unfinished: lastSubscriptionId === undefined ? 0 : 1,
    filtered,
    ...ends,
    pending: pending + retrying,
  };
}

/**
 * What a message is to one subscription: the status of its delivery, or why it has none. `unfinished`: a delivery may
 * follow, or was lost. `filtered`: the options of the subscription excluded the message. `unmatched`: it was not
 * subscribed.
 */
export type SubscriptionMatch = Status | 'unfinished' | 'filtered' | 'unmatched';

/** The reconciliation report of one message for one subscription. */
export function booksOfMatch({ duplicates }: { duplicates: number }, match: SubscriptionMatch): Books {
  const books = { ...EMPTY_BOOKS, accepted: 1, duplicates };
  switch (match) {
    case 'unfinished':
      return { ...books, unfinished: 1 };
    case 'filtered':
      return { ...books, filtered: 1, unmatched: 1 };
    case 'unmatched':
      return { ...books, unmatched: 1 };
    case 'pending':
    case 'retrying':
      return { ...books, matched: 1, pending: 1 };
    case 'delivered':
    case 'rejected':
    case 'exhausted':
    case 'cancelled':
      return { ...books, matched: 1, [match]: 1 };
  }
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
 * Whether every expected delivery is recorded. False for a moment after a message is accepted, while its jobs wait
 * in the delivery queue.
 */
export function isBalanced(books: Books): boolean {
  const ended = TERMINAL_STATUSES.reduce((sum, status) => sum + books[status], 0);
  return books.unfinished === 0 && books.matched === ended + books.pending;
}
