import type { TerminalStatus } from '../../shared/domain/vocabulary.ts';
import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { Reply } from './subscribers.ts';

/** One accepted message × one matching subscription: the record, and what the subscriber saw. */
export type Pair = { record: Delivery | undefined; replies: readonly Reply[] };

export type Books = Record<TerminalStatus, number> & {
  deliveries: number;
  /** Pairs without an end, or recorded as delivered though the subscriber gave no 2xx that could be heard. */
  lost: number;
  /** Requests beyond the attempts on record. */
  duplicates: number;
  /** Those that no lease that ran out, and no late result on record, accounts for. */
  unexplainedDuplicates: number;
};

/** Everything that was accepted, against everything that the subscribers saw. */
export const booksOf = (pairs: readonly Pair[]): Books => {
  const books: Books = {
    deliveries: pairs.length,
    delivered: 0,
    rejected: 0,
    exhausted: 0,
    cancelled: 0,
    lost: 0,
    duplicates: 0,
    unexplainedDuplicates: 0,
  };
  for (const pair of pairs) {
    const status = endOf(pair);
    if (status !== undefined) books[status] += 1;
    if (isLost(pair)) books.lost += 1;
    const duplicates = duplicatesOf(pair);
    books.duplicates += duplicates;
    books.unexplainedDuplicates += Math.max(0, duplicates - explainedBy(pair));
  }
  return books;
};

/** Undefined: it has not ended. */
export const endOf = ({ record }: Pair): TerminalStatus | undefined =>
  record === undefined || isOpen(record.status) ? undefined : record.status;

export const isLost = (pair: Pair): boolean => {
  const status = endOf(pair);
  return status === undefined || (status === 'delivered' && !isSuccessHeard(pair));
};

/** Milliseconds by which two clocks, or a timer and a clock, may differ in their rounding. */
const ROUNDING_MS = 2;

/** Whether an attempt that succeeded, by its record, lasted as long as a success of the subscriber's. */
const isSuccessHeard = ({ record, replies }: Pair): boolean => {
  const results = [...(record?.attempts ?? []), ...(record?.lateResults ?? [])];
  const successes = results.filter(({ outcome }) => outcome === 'delivered');
  return replies.some(
    ({ status = 0, delayMs }) =>
      status >= 200 &&
      status < 300 &&
      successes.some(({ durationMs }) => durationMs + ROUNDING_MS >= delayMs),
  );
};

export const duplicatesOf = ({ record, replies }: Pair): number =>
  Math.max(0, replies.length - (record?.attempts.length ?? 0));

/**
 * Each request whose result is not on record as an attempt leaves a lease that ran out; its result may come late as well.
 * So these are two views of the same requests, not to be added up.
 */
export const explainedBy = ({ record }: Pair): number => {
  if (record === undefined) return 0;
  const leases = record.attempts.reduce((sum, { lost = 0 }) => sum + lost, record.lost);
  return Math.max(leases, record.lateResults.length);
};
