import { type Status, STATUSES, TERMINAL_STATUSES, toRecord } from './vocabulary.ts';

/** Number of deliveries in each status. */
export type StatusCounts = Readonly<Record<Status, number>>;

export const NO_DELIVERIES: StatusCounts = toRecord(STATUSES, () => 0);

export function sumOfStatusCounts(one: StatusCounts, other: StatusCounts): StatusCounts {
  return toRecord(STATUSES, (status) => one[status] + other[status]);
}

/** The total of counts, such as those of deliveries by status. */
export function sumOfCounts(counts: Readonly<Record<string, number>> = {}): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export const BOOKS_FIGURES = [
  /** Accepted messages. */
  'accepted',
  /** Repeated sends of accepted messages. */
  'duplicates',
  /** Subscriptions that matched at the acceptance, or got the message by hand, summed over the messages. */
  'matched',
  /** Messages without a matching subscription. */
  'unmatched',
  /** Messages not yet sent to all of their many subscriptions: more deliveries may follow. */
  'unfinished',
  /** Subscriptions excluded by their options, summed over the messages. */
  'filtered',
  ...TERMINAL_STATUSES,
  /** Recorded deliveries that have not ended. */
  'pending',
] as const;

/**
 * The reconciliation report: accepted messages and the results of their deliveries. Every figure is counted from
 * records; none is a difference of others.
 */
export type Books = Readonly<Record<(typeof BOOKS_FIGURES)[number], number>>;

export const EMPTY_BOOKS: Books = toRecord(BOOKS_FIGURES, () => 0);

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
  return toRecord(BOOKS_FIGURES, (figure) => one[figure] + other[figure]);
}

/**
 * Whether every expected delivery is recorded. False for a moment after a message is accepted, while its jobs wait
 * in the delivery queue.
 */
export function isBalanced(books: Books): boolean {
  const ended = TERMINAL_STATUSES.reduce((sum, status) => sum + books[status], 0);
  return books.unfinished === 0 && books.matched === ended + books.pending;
}
