import type { TerminalStatus } from '../../shared/domain/vocabulary.ts';
import { isOpen } from '../../shared/domain/delivery/delivery.ts';
import { duplicatesOf, type Pair, ROUNDING_MS, unexplainedDuplicatesOf } from './duplicates.ts';
import type { FaultLog } from './fault-log.ts';

export type Books = Record<TerminalStatus, number> & {
  deliveries: number;
  /** Pairs without an end, or recorded as delivered though the subscriber gave no 2xx that could be heard. */
  lost: number;
  /** Requests beyond the attempts on record. */
  duplicates: number;
  /** Those that neither a kill of who made them nor a failed call about their message accounts for. */
  unexplainedDuplicates: number;
};

/** Everything that was accepted, against everything that the subscribers saw. */
export const booksOf = (pairs: readonly Pair[], faults: FaultLog): Books => {
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
    books.duplicates += duplicatesOf(pair).length;
    books.unexplainedDuplicates += unexplainedDuplicatesOf(pair, faults).length;
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
