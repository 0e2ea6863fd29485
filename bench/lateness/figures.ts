import type { AttemptTrigger } from '../../shared/domain/vocabulary.ts';
import { quantile } from '../measured/figures.ts';
import type { Cell } from './cells.ts';

/** Milliseconds. */
export type Quantiles = { p50: number; p95: number; p99: number; most: number };

/** A retry as it was recorded, and as the subscriber saw it. Times in ms since the epoch. */
export type Retry = {
  cell: Cell;
  by: AttemptTrigger | undefined;
  dueAt: number;
  startedAt: number;
  arrivedAt: number;
};

/** A retry of the bare function's. */
export type BareRetried = Pick<Retry, 'cell' | 'dueAt' | 'arrivedAt'>;

export type CellFigures = Cell & {
  retries: number;
  /** Of those that were due, how many were not recorded as delivered by a second attempt. */
  undelivered: number;
  /** How many began, or came to the subscriber, before they were due. */
  early: number;
  /** By what they came about, as recorded. */
  broughtBy: Partial<Record<AttemptTrigger | 'unknown', number>>;
  /** From due to begun, by the record. */
  late: Quantiles;
  /** From due to the subscriber's receipt. */
  received: Quantiles;
  bare: { retries: number; received: Quantiles };
};

export const quantilesOf = (values: readonly number[]): Quantiles => ({
  p50: quantile(values, 0.5),
  p95: quantile(values, 0.95),
  p99: quantile(values, 0.99),
  most: quantile(values, 1),
});

export const isEarly = ({ dueAt, startedAt, arrivedAt }: Omit<Retry, 'cell' | 'by'>): boolean =>
  startedAt < dueAt || arrivedAt < dueAt;

const receivedLate = ({ arrivedAt, dueAt }: BareRetried): number => arrivedAt - dueAt;

const isOf =
  ({ by, delaySeconds }: Cell) =>
  ({ cell }: Pick<Retry, 'cell'>): boolean =>
    cell.by === by && cell.delaySeconds === delaySeconds;

/** `expected`: retries that were due in the cell. */
export const figuresOf = (
  cell: Cell,
  expected: number,
  all: { retries: readonly Retry[]; bare: readonly BareRetried[] },
): CellFigures => {
  const retries = all.retries.filter(isOf(cell));
  const bare = all.bare.filter(isOf(cell));
  return {
    ...cell,
    retries: retries.length,
    undelivered: expected - retries.length,
    early: retries.filter(isEarly).length,
    broughtBy: countsOf(retries.map(({ by = 'unknown' }) => by)),
    late: quantilesOf(retries.map(({ startedAt, dueAt }) => startedAt - dueAt)),
    received: quantilesOf(retries.map(receivedLate)),
    bare: { retries: bare.length, received: quantilesOf(bare.map(receivedLate)) },
  };
};

const countsOf = <Word extends string>(words: readonly Word[]): Partial<Record<Word, number>> => {
  const counts: Partial<Record<Word, number>> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
};

/** Of retries as subscribers receive them, over all delays of a mechanism: ours by the bare function's. */
export const p95ByBare = (retries: readonly BareRetried[], bare: readonly BareRetried[]): number =>
  quantile(retries.map(receivedLate), 0.95) / quantile(bare.map(receivedLate), 0.95);
