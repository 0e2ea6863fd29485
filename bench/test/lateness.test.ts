import { describe, expect, it } from 'vitest';
import { asideOf } from '../lateness/bare-retries.ts';
import { cellsOf, thresholds, type By, type Cell } from '../lateness/load.ts';
import { figuresOf, p95ByBare, quantilesOf, type Retry, retryOf } from '../lateness/figures.ts';
import { faultsOf, resultText } from '../lateness/measure.ts';
import { planWakeUp } from '../../shared/domain/retry/wake-up-plan.ts';
import { aDelivery, anAttempt, SOME_TIME } from '../../test/support/delivery-builders.ts';

const delays = [1, 5, 30, 60, 300];

/** From the end of the failed attempt to the plan of the next. */
const RECORDING_MS = 20;

const plannedBy = (by: By, delaySeconds: number): By =>
  planWakeUp(SOME_TIME + delaySeconds * 1000, SOME_TIME + RECORDING_MS, thresholds[by]).by;

describe('what is retried after which delay', () => {
  it('goes by the mechanism that it is counted for', () => {
    for (const by of ['sqs_delay', 'scheduler'] as const)
      for (const { delaySeconds } of cellsOf(by, delays)) expect(plannedBy(by, delaySeconds)).toBe(by);
  });

  it('is all that can go so', () => {
    for (const by of ['sqs_delay', 'scheduler'] as const) {
      const possible = delays.filter((delaySeconds) => plannedBy(by, delaySeconds) === by);
      expect(cellsOf(by, delays).map(({ delaySeconds }) => delaySeconds)).toEqual(possible);
    }
  });
});

const cell: Cell = { by: 'sqs_delay', delaySeconds: 5 };

/** Milliseconds after it was due. */
const retry = (late: number, received = late + 10, overrides: Partial<Retry> = {}): Retry => ({
  cell,
  by: 'sqs_delay',
  dueAt: SOME_TIME,
  startedAt: SOME_TIME + late,
  arrivedAt: SOME_TIME + received,
  ...overrides,
});

const bareRetry = (received: number) => ({ cell, dueAt: SOME_TIME, arrivedAt: SOME_TIME + received });

describe('the figures of retries', () => {
  it('say how late they began and were received, and how the bare function’s were', () => {
    const lates = Array.from({ length: 100 }, (_, index) => retry(index + 1));
    const figures = figuresOf(cell, 100, { retries: lates, bare: [bareRetry(7)] });
    expect(figures).toMatchObject({
      retries: 100,
      undelivered: 0,
      early: 0,
      broughtBy: { sqs_delay: 100 },
      late: { p50: 50, p95: 95, p99: 99, most: 100 },
      received: { p50: 60, p95: 105, p99: 109, most: 110 },
      bare: { retries: 1, received: { p50: 7, most: 7 } },
    });
  });

  it('leave out what belongs to another delay or another mechanism', () => {
    const others = [
      retry(1, 2, { cell: { ...cell, delaySeconds: 30 } }),
      retry(1, 2, { cell: { ...cell, by: 'scheduler' } }),
    ];
    const figures = figuresOf(cell, 1, { retries: [...others, retry(3)], bare: [] });
    expect(figures).toMatchObject({ retries: 1, late: { most: 3 }, bare: { retries: 0 } });
  });

  it('count what began early, and what came early whatever the record says', () => {
    const all = [retry(-1), retry(5, -1), retry(0, 0), retry(5)];
    expect(figuresOf(cell, 4, { retries: all, bare: [] }).early).toBe(2);
  });

  it('count what was due and is not on record, and by what the others came about', () => {
    const all = [retry(1, 2, { by: 'reconcile' }), retry(1, 2, { by: undefined }), retry(1)];
    expect(figuresOf(cell, 5, { retries: all, bare: [] })).toMatchObject({
      undelivered: 2,
      broughtBy: { reconcile: 1, unknown: 1, sqs_delay: 1 },
    });
  });

  it('are no numbers where nothing was measured', () => {
    expect(quantilesOf([])).toEqual({ p50: Number.NaN, p95: Number.NaN, p99: Number.NaN, most: Number.NaN });
  });

  it('compare what subscribers receive: ours by the bare function’s', () => {
    expect(p95ByBare([retry(0, 300), retry(0, 100)], [bareRetry(200), bareRetry(20)])).toBe(1.5);
  });
});

describe('a retry on record', () => {
  const failed = anAttempt();
  const made = anAttempt({ number: 2, outcome: 'delivered', by: 'sqs_delay', dueAt: SOME_TIME });

  it('is the second attempt of a delivery that it ended', () => {
    expect(retryOf(aDelivery({ status: 'delivered', attempts: [failed, made] }))).toEqual(made);
  });

  it('is none where it took other than one failure and one success', () => {
    for (const delivery of [
      aDelivery({ status: 'retrying', attempts: [failed, failed] }),
      aDelivery({ status: 'delivered', attempts: [made] }),
      aDelivery({ status: 'delivered', attempts: [failed, failed, made] }),
    ])
      expect(retryOf(delivery)).toBeUndefined();
  });
});

describe('the bare function’s retries', () => {
  it('are due in whole seconds by SQS', () => {
    expect([0, 1, 2].map((number) => asideOf(cell, number))).toEqual([0, 0, 0]);
  });

  it('are due anywhere within half a second of them by Scheduler', () => {
    const asides = Array.from({ length: 200 }, (_, number) => asideOf({ ...cell, by: 'scheduler' }, number));
    const tenths = Array.from(
      { length: 10 },
      (_, tenth) => asides.filter((aside) => Math.floor((aside + 0.5) * 10) === tenth).length,
    );
    expect(Math.min(...tenths)).toBeGreaterThanOrEqual(18);
    expect(tenths.reduce((total, count) => total + count, 0)).toBe(200);
    expect(asides).not.toEqual(asides.toSorted((one, other) => one - other));
  });
});

describe('the result', () => {
  const figures = (retries: readonly Retry[], expected: number) =>
    figuresOf(cell, expected, { retries, bare: [bareRetry(20)] });

  it('has no fault where all retries came, however late', () => {
    expect(faultsOf({ cells: [figures([retry(60_000)], 1)] })).toEqual([]);
  });

  it('has one for each delay with retries that were early, and that were lost', () => {
    expect(faultsOf({ cells: [figures([retry(-1), retry(0)], 4)] })).toEqual([
      '1 retries by sqs_delay after 5 s began before they were due.',
      '2 retries by sqs_delay after 5 s were not delivered.',
    ]);
  });

  it('is shown with a line for each mechanism and delay, and its ratios', () => {
    const text = resultText({
      name: 'lateness',
      measuredAt: '2026-11-21T00:00:00.000Z',
      machine: { cpus: 2, model: 'some', node: 'v24', memoryGigabytes: 8 },
      seconds: 500,
      thresholds,
      busy: 0.5,
      ratios: [{ name: 'lateness by bare', ratio: 1.25, tolerance: 0.5 }],
      cells: [figures([retry(70)], 1)],
    });
    expect(text).toContain('processors 50 % in use');
    expect(text).toMatch(/^SQS +5 +1 +0 +70 +70 +70 +70 +80 +20 +20 +20 +sqs_delay 1$/m);
    expect(text).toContain('lateness by bare: 1.25');
  });
});
