import { describe, expect, it } from 'vitest';
import { planWakeUp } from '../../shared/domain/retry/wake-up-plan.ts';
import { SOME_TIME } from '../../test/support/delivery-builders.ts';
import { faultsOf, figuresOf, p95ByBare, type Retry } from '../lateness/figures.ts';
import { cellsOf, thresholds, type By, type Cell } from '../lateness/load.ts';

const delays = [1, 5, 30, 60, 300];

/** From the end of the failed attempt to the plan of the next. */
const RECORDING_MS = 20;

function plannedBy(by: By, delaySeconds: number): By {
  return planWakeUp(SOME_TIME + delaySeconds * 1000, SOME_TIME + RECORDING_MS, thresholds[by]).by;
}

describe('what is retried after which delay', () => {
  it.each(['sqs_delay', 'scheduler'] as const)(
    'is all that goes by the mechanism that it is counted for: %s',
    (by) => {
      const possible = delays.filter((delaySeconds) => plannedBy(by, delaySeconds) === by);
      expect(cellsOf(by, delays).map(({ delaySeconds }) => delaySeconds)).toEqual(possible);
    },
  );
});

const cell: Cell = { by: 'sqs_delay', delaySeconds: 5 };

/** Milliseconds after it was due. */
function retry(late: number, received = late + 10, overrides: Partial<Retry> = {}): Retry {
  return {
    cell,
    by: 'sqs_delay',
    dueAt: SOME_TIME,
    startedAt: SOME_TIME + late,
    arrivedAt: SOME_TIME + received,
    ...overrides,
  };
}

function bareRetry(received: number) {
  return { cell, dueAt: SOME_TIME, arrivedAt: SOME_TIME + received };
}

describe('the figures of retries', () => {
  it('say how late those of the cell began, and the bare function’s were received', () => {
    const others = [
      retry(900, 901, { cell: { ...cell, delaySeconds: 30 } }),
      retry(900, 901, { cell: { ...cell, by: 'scheduler' } }),
    ];
    const lates = Array.from({ length: 100 }, (_, index) => retry(index + 1));
    expect(figuresOf(cell, 100, { retries: [...others, ...lates], bare: [bareRetry(7)] })).toMatchObject({
      retries: 100,
      undelivered: 0,
      early: 0,
      byOthers: 0,
      late: { p50: 50, p95: 95, p99: 99, most: 100 },
      bare: { p50: 7, most: 7 },
    });
  });

  it('count what began early, and what came early whatever the record says', () => {
    const all = [retry(-1), retry(5, -1), retry(0, 0), retry(5)];
    expect(figuresOf(cell, 4, { retries: all, bare: [] }).early).toBe(2);
  });

  it('count what was due and is not on record, and what something else brought about', () => {
    const all = [retry(1, 2, { by: 'reconcile' }), retry(1, 2, { by: undefined }), retry(1)];
    expect(figuresOf(cell, 5, { retries: all, bare: [] })).toMatchObject({ undelivered: 2, byOthers: 2 });
  });

  it('compare what subscribers receive by a mechanism: ours by the bare function’s', () => {
    const other = retry(0, 9_000, { cell: { by: 'scheduler', delaySeconds: 5 } });
    const results = { retries: [retry(0, 300), retry(0, 100), other], bare: [bareRetry(200), bareRetry(20)] };
    expect(p95ByBare('sqs_delay', results)).toBe(1.5);
  });
});

describe('the result', () => {
  function figures(retries: readonly Retry[], expected: number) {
    return figuresOf(cell, expected, { retries, bare: [bareRetry(20)] });
  }

  it('has no fault where all retries came, however late', () => {
    expect(faultsOf({ cells: [figures([retry(60_000)], 1)] })).toEqual([]);
  });

  it('has one for each delay with retries that were early, and that were lost', () => {
    expect(faultsOf({ cells: [figures([retry(-1), retry(0)], 4)] })).toEqual([
      '1 retries by sqs_delay after 5 s began before they were due.',
      '2 retries by sqs_delay after 5 s were not delivered.',
    ]);
  });
});
