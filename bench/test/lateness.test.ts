import { expect, it } from 'vitest';
import { planWakeUp } from '../../shared/domain/delivery/wake-up-plan.ts';
import { SOME_TIME } from '../../test/support/delivery-builders.ts';
import {
  cellsOf,
  faultsOf,
  figuresOf,
  thresholds,
  type By,
  type Cell,
  type Retry,
} from '../lateness/bare-retries.ts';

const delays = [1, 5, 30, 60, 300];

/** From the end of the failed attempt to the plan of the next. */
const RECORDING_MS = 20;

const cell: Cell = { by: 'sqs_delay', delaySeconds: 5 };

/** A retry that began so many milliseconds after it was due. */
function retry(late: number, received = late + 10, overrides: Partial<Retry> = {}): Retry {
  const [startedAt, arrivedAt] = [SOME_TIME + late, SOME_TIME + received];
  return { cell, by: 'sqs_delay', dueAt: SOME_TIME, startedAt, arrivedAt, ...overrides };
}

it.each(['sqs_delay', 'scheduler'] as const)('measures every delay that %s can wait for', (by: By) => {
  const possible = delays.filter((delaySeconds) => {
    const plan = planWakeUp(SOME_TIME + delaySeconds * 1000, SOME_TIME + RECORDING_MS, thresholds[by]);
    return plan.by === by;
  });
  expect(cellsOf(by, delays).map(({ delaySeconds }) => delaySeconds)).toEqual(possible);
});

it('reports the lateness of a cell, and retries that were early, missing or woken otherwise', () => {
  const others = [retry(900, 901, { cell: { ...cell, delaySeconds: 30 } })];
  const lates = Array.from({ length: 97 }, (_, index) => retry(index + 1));
  const early = [retry(-1), retry(5, -1), retry(1, 2, { by: 'reconcile' })];
  const figures = figuresOf(cell, 105, { retries: [...others, ...lates, ...early], bare: [retry(0, 7)] });
  expect(figures).toMatchObject({
    retries: 100,
    undelivered: 5,
    early: 2,
    byOthers: 1,
    late: { p50: 47, most: 97 },
    bare: { p50: 7, most: 7 },
  });
  expect(faultsOf({ cells: [figures] })).toEqual([
    '2 retries by sqs_delay after 5 s began before they were due.',
    '5 retries by sqs_delay after 5 s were not delivered.',
  ]);
});
