import { describe, expect, it } from 'vitest';
import { loneIn, timeRange } from '../../../console/src/parts/time-chart.ts';
import { CHART_KINDS, percentText } from '../../../console/src/statistics/chart-kinds.ts';
import { seriesOf, successRate, sumOfStatistics } from '../../../console/src/statistics/series.ts';
import { countsOf, statisticsOf } from './statistics-of.ts';

const [NOON, ONE_PAST] = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:01:00.000Z'];

const times = (p99: number, count = 1) => ({ count, p50: 1, p95: 2, p99 });

describe('seriesOf', () => {
  it('has every step of the window, also those in which nothing happened', () => {
    const point = { at: ONE_PAST, ...countsOf({ messages: 4 }) };
    const noon = Date.parse(NOON) / 1000;
    expect(seriesOf(statisticsOf({}, [point]))).toEqual({
      times: [noon, noon + 60, noon + 120],
      steps: [undefined, point, undefined],
    });
  });
});

describe('sumOfStatistics', () => {
  it('adds up the counts of each step and of the window', () => {
    const one = statisticsOf({ messages: 3, delivered: 1 }, [{ at: NOON, ...countsOf({ messages: 3 }) }]);
    const other = statisticsOf({ messages: 4 }, [
      { at: NOON, ...countsOf({ messages: 2 }) },
      { at: ONE_PAST, ...countsOf({ messages: 2 }) },
    ]);
    const sum = sumOfStatistics([one, other]);
    expect(sum?.total).toMatchObject({ messages: 7, delivered: 1 });
    expect(sum?.points.map(({ at, messages }) => [at, messages])).toEqual([
      [NOON, 5],
      [ONE_PAST, 2],
    ]);
  });

  it('takes the percentiles of the slowest queue', () => {
    const queues = [times(90, 1000), times(800), undefined].map((response) =>
      statisticsOf(response && { response }),
    );
    expect(sumOfStatistics(queues)?.total.response).toEqual(times(800));
    expect(sumOfStatistics([statisticsOf()])?.total).not.toHaveProperty('response');
  });

  it('covers the window of all queues, though some were read after the next step began', () => {
    const later = { ...statisticsOf(), since: ONE_PAST, until: '2026-11-21T12:04:00.000Z' };
    expect(sumOfStatistics([later, statisticsOf()])).toMatchObject({ since: NOON, until: later.until });
  });

  it('is undefined without a queue', () => {
    expect(sumOfStatistics([])).toBeUndefined();
  });
});

describe('successRate', () => {
  it('is the share of attempts that neither failed nor were rejected', () => {
    expect(successRate(countsOf({ attempts: 8, attemptsFailed: 1, attemptsRejected: 1 }))).toBe(75);
  });

  it('is unknown without an attempt', () => {
    expect(successRate(countsOf({ messages: 5 }))).toBeNull();
    expect(successRate(undefined)).toBeNull();
  });

  it('reads 100% only when every attempt succeeded', () => {
    expect(percentText(100)).toBe('100%');
    expect(percentText(99.99)).toBe('99.9%');
  });
});

describe('the charts', () => {
  const total = countsOf({
    ...{ messages: 1200, attempts: 10, attemptsFailed: 1, delivered: 9, exhausted: 2, rejected: 3 },
    timeToDelivery: times(4000),
  });
  const linesOf = (of: typeof total | undefined) =>
    CHART_KINDS.map(({ title, lines }) => [title, lines.map(({ value }) => value(of))]);

  it('draw counts as zero, and rates and percentiles as gaps, where nothing happened', () => {
    expect(linesOf(undefined)).toEqual([
      ['Messages', [0]],
      ['Outcomes', [0, 0, 0]],
      ['Successful attempts', [null]],
      ['Time to delivery', [null, null, null]],
      ['Response times', [null, null, null]],
    ]);
  });

  it('draw each figure of a step', () => {
    expect(linesOf(total)).toEqual([
      ['Messages', [1200]],
      ['Outcomes', [9, 1, 5]],
      ['Successful attempts', [90]],
      ['Time to delivery', [1, 2, 4000]],
      ['Response times', [null, null, null]],
    ]);
  });

  it('mark a value without a neighbour, which no line would show', () => {
    expect(loneIn([5, null, 1, 2, null, undefined, 0])).toEqual([0, 6]);
    expect(loneIn([7])).toEqual([0]);
    expect(loneIn([null, 1, 2, null])).toEqual([]);
  });

  it('cover at least a minute, with the values in the middle', () => {
    expect(timeRange(100, 100)).toEqual([70, 130]);
    expect(timeRange(100, 150)).toEqual([95, 155]);
    expect(timeRange(100, 3700)).toEqual([100, 3700]);
  });

  it('sum up the window in words, without what did not happen', () => {
    expect(CHART_KINDS.flatMap(({ lines }) => lines.map((line) => line.total(total)))).toEqual([
      ...['1,200', '9', '1', '5', '90%'],
      ...['1 ms', '2 ms', '4 s', undefined, undefined, undefined],
    ]);
  });
});
