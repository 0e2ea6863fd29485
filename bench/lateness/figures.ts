import type { AttemptTrigger } from '../../shared/domain/delivery/vocabulary.ts';
import { type Quantiles, quantile, quantilesOf } from '../harness/figures.ts';

/** The mechanism of a wake-up. */
export type By = 'sqs_delay' | 'scheduler';

/** Retries by one mechanism after one delay. */
export type Cell = { by: By; delaySeconds: number };

/** `schedulerThreshold` in seconds: the greatest one sends nearly every retry by SQS, the least one by Scheduler. */
export const thresholds: Readonly<Record<By, number>> = { sqs_delay: 900, scheduler: 0 };

/** Seconds. Shorter delays use SQS at any threshold (docs/retry-policy.md#from-delay-to-wake-up). */
const NEAREST_BY_SCHEDULER = 5;

export function cellsOf(by: By, delays: readonly number[]): readonly Cell[] {
  return delays
    .filter((delaySeconds) => by === 'sqs_delay' || delaySeconds > NEAREST_BY_SCHEDULER)
    .map((delaySeconds) => ({ by, delaySeconds }));
}

/** Its queue, its path at the subscriber, and the prefix of its messages' ids. */
export function nameOf({ by, delaySeconds }: Cell): string {
  return `${by}-${delaySeconds}`;
}

/** A retry on record and at the subscriber. Times in ms since the epoch. */
export type Retry = {
  cell: Cell;
  by: AttemptTrigger | undefined;
  dueAt: number;
  startedAt: number;
  arrivedAt: number;
};

/** A retry of the bare function. */
export type BareRetry = Pick<Retry, 'cell' | 'dueAt' | 'arrivedAt'>;

/** Delivered retries of the system, and requests of the bare function. */
export type Results = { retries: readonly Retry[]; bare: readonly BareRetry[] };

export type CellFigures = Cell & {
  retries: number;
  /** Due, but not on record as delivered by a second attempt. */
  undelivered: number;
  /** Began, or arrived, before they were due. */
  early: number;
  /** Woken by another mechanism, by the record. */
  byOthers: number;
  /** In ms from due to begun, by the record. */
  late: Quantiles;
  /** Of the bare function, in ms from due to arrived. */
  bare: Quantiles;
};

/** `expected`: retries that were due in the cell. */
export function figuresOf(cell: Cell, expected: number, all: Results): CellFigures {
  const isOfCell = (retry: BareRetry): boolean => nameOf(retry.cell) === nameOf(cell);
  const retries = all.retries.filter(isOfCell);
  return {
    ...cell,
    retries: retries.length,
    undelivered: expected - retries.length,
    early: retries.filter(({ dueAt, startedAt, arrivedAt }) => Math.min(startedAt, arrivedAt) < dueAt).length,
    byOthers: retries.filter(({ by }) => by !== cell.by).length,
    late: quantilesOf(retries.map(({ startedAt, dueAt }) => startedAt - dueAt)),
    bare: quantilesOf(all.bare.filter(isOfCell).map(latenessOf)),
  };
}

function latenessOf({ arrivedAt, dueAt }: BareRetry): number {
  return arrivedAt - dueAt;
}

/** The p95 of lateness at the subscriber over all delays of a mechanism, by that of the bare function. */
export function p95ByBare(by: By, { retries, bare }: Results): number {
  const p95 = (all: readonly BareRetry[]): number =>
    quantile(all.filter(({ cell }) => cell.by === by).map(latenessOf), 0.95);
  return p95(retries) / p95(bare);
}

/** Retries that were early or lost (docs/concepts.md#guarantees). */
export function faultsOf({ cells }: { cells: readonly CellFigures[] }): readonly string[] {
  return cells.flatMap(({ by, delaySeconds, early, undelivered }) => [
    ...(early > 0 ? [`${early} retries by ${by} after ${delaySeconds} s began before they were due.`] : []),
    ...(undelivered > 0
      ? [`${undelivered} retries by ${by} after ${delaySeconds} s were not delivered.`]
      : []),
  ]);
}
