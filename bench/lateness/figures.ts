import type { AttemptTrigger } from '../../shared/domain/vocabulary.ts';
import { quantile } from '../harness/figures.ts';
import type { By, Cell } from './load.ts';

/** Milliseconds. */
type Quantiles = { p50: number; p95: number; p99: number; most: number };

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

/** Ours that were delivered, and the bare function's that came. */
export type Results = { retries: readonly Retry[]; bare: readonly BareRetried[] };

export type CellFigures = Cell & {
  retries: number;
  /** Of those that were due, how many were not recorded as delivered by a second attempt. */
  undelivered: number;
  /** How many began, or came to the subscriber, before they were due. */
  early: number;
  /** How many something else than the cell's mechanism brought about, by the record. */
  byOthers: number;
  /** From due to begun, by the record. */
  late: Quantiles;
  /** The bare function's: from due to received. */
  bare: Quantiles;
};

/** `expected`: retries that were due in the cell. */
export function figuresOf(cell: Cell, expected: number, all: Results): CellFigures {
  const isOfCell = ({ cell: own }: Pick<Retry, 'cell'>): boolean =>
    own.by === cell.by && own.delaySeconds === cell.delaySeconds;
  const retries = all.retries.filter(isOfCell);
  const isEarly = ({ dueAt, startedAt, arrivedAt }: Retry): boolean => startedAt < dueAt || arrivedAt < dueAt;
  return {
    ...cell,
    retries: retries.length,
    undelivered: expected - retries.length,
    early: retries.filter(isEarly).length,
    byOthers: retries.filter(({ by }) => by !== cell.by).length,
    late: quantilesOf(retries.map(({ startedAt, dueAt }) => startedAt - dueAt)),
    bare: quantilesOf(all.bare.filter(isOfCell).map(receivedLate)),
  };
}

function quantilesOf(values: readonly number[]): Quantiles {
  return {
    p50: quantile(values, 0.5),
    p95: quantile(values, 0.95),
    p99: quantile(values, 0.99),
    most: quantile(values, 1),
  };
}

function receivedLate({ arrivedAt, dueAt }: BareRetried): number {
  return arrivedAt - dueAt;
}

/** Of retries as subscribers receive them, over all delays of a mechanism: ours by the bare function's. */
export function p95ByBare(by: By, { retries, bare }: Results): number {
  const p95 = (all: readonly BareRetried[]): number =>
    quantile(all.filter(({ cell }) => cell.by === by).map(receivedLate), 0.95);
  return p95(retries) / p95(bare);
}

/** The promise of docs/concepts.md#guarantees, and that nothing is lost. */
export function faultsOf({ cells }: { cells: readonly CellFigures[] }): readonly string[] {
  return cells.flatMap(({ by, delaySeconds, early, undelivered }) => [
    ...(early > 0 ? [`${early} retries by ${by} after ${delaySeconds} s began before they were due.`] : []),
    ...(undelivered > 0
      ? [`${undelivered} retries by ${by} after ${delaySeconds} s were not delivered.`]
      : []),
  ]);
}
