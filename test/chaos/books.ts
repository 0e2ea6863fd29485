import type { TerminalStatus } from '../../shared/domain/delivery/vocabulary.ts';
import { isOpen } from '../../shared/domain/delivery/delivery.ts';
import { duplicatesOf, type Pair, ROUNDING_MS, unexplainedDuplicatesOf } from './duplicates.ts';
import type { FaultLog } from './fault-log.ts';

export type Books = Record<TerminalStatus, number> & {
  deliveries: number;
  /** Deliveries that did not finish, or are recorded as delivered although no attempt can have received a 2xx. */
  lost: number;
  /** Requests without a recorded attempt. */
  duplicates: number;
  /** Duplicates explained neither by a kill of the process that sent them nor by a failed call about their message. */
  unexplainedDuplicates: number;
};

/** Compares the records of the accepted messages with the requests that the subscribers logged. */
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

/** The terminal status; undefined for a delivery that has not finished. */
export const endOf = ({ record }: Pair): TerminalStatus | undefined =>
  record === undefined || isOpen(record) ? undefined : record.status;

export const isLost = (pair: Pair): boolean => {
  const status = endOf(pair);
  return status === undefined || (status === 'delivered' && !isSuccessHeard(pair));
};

/** Whether a recorded success lasted at least as long as the subscriber took for one of its 2xx responses. */
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
