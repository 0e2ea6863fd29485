import { describe, expect, it } from 'vitest';
import { answeringApi } from './answering-api.ts';
import { countsOf, statisticsOf } from './statistics-of.ts';
import { readQueue } from '../../../console/src/pages/overview/queue-table.tsx';
import { quantile, responseTimes } from '../../../console/src/pages/subscription/response-times.tsx';
import { loneIn, timeRange } from '../../../console/src/parts/chart.tsx';
import {
  buildSeries,
  CHART_KINDS,
  percentText,
  readStatistics,
  successRate,
  sumOfStatistics,
} from '../../../console/src/statistics/statistics-charts.tsx';

const [NOON, ONE_PAST] = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:01:00.000Z'];

const times = (p99: number, count = 1) => ({ count, p50: 1, p95: 2, p99 });

it('buildSeries has every step of the window, also those in which nothing happened', () => {
  const point = { at: ONE_PAST, ...countsOf({ messages: 4 }) };
  const noon = Date.parse(NOON) / 1000;
  expect(buildSeries(statisticsOf({}, [point]))).toEqual({
    times: [noon, noon + 60, noon + 120],
    steps: [undefined, point, undefined],
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
  it('is the share of attempts that neither failed nor were rejected, if there were any', () => {
    expect(successRate(countsOf({ attempts: 8, attemptsFailed: 1, attemptsRejected: 1 }))).toBe(75);
    expect(successRate(countsOf({ messages: 5 }))).toBeNull();
    expect(successRate(undefined)).toBeNull();
  });

  it('reads 100% only when every attempt succeeded', () => {
    expect(percentText(100)).toBe('100%');
    expect(percentText(99.99)).toBe('99.9%');
  });
});

describe('the charts', () => {
  const NONE = [null, null, null];
  const total = countsOf({
    ...{ messages: 1200, attempts: 10, attemptsFailed: 1, delivered: 9, exhausted: 2, rejected: 3 },
    timeToDelivery: times(4000),
  });
  it.each([
    [
      'counts as zero, and rates and percentiles as gaps, of nothing',
      undefined,
      [[0], [0, 0, 0], [null], NONE, NONE],
    ],
    ['each figure of a step', total, [[1200], [9, 1, 5], [90], [1, 2, 4000], NONE]],
  ])('draw %s', (_, counts, figures) => {
    expect(CHART_KINDS.map(({ lines }) => lines.map(({ value }) => value(counts)))).toEqual(figures);
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
    expect(CHART_KINDS.map(({ title, lines }) => [title, ...lines.map((line) => line.total(total))])).toEqual(
      [
        ['Messages', '1,200'],
        ['Outcomes', '9', '1', '5'],
        ['Successful attempts', '90%'],
        ['Time to delivery', '1 ms', '2 ms', '4 s'],
        ['Response times', undefined, undefined, undefined],
      ],
    );
  });
});

/** An API that answers requests for statistics so, or refuses them with this status; its lists are empty. */
const apiWith = (statistics: object | number) =>
  answeringApi((path) => (path.endsWith('/statistics') ? statistics : { subscriptions: [], deliveries: [] }));

const HOUR = { window: 'hour', now: Date.UTC(2026, 10, 21), signal: new AbortController().signal } as const;

describe('readStatistics', () => {
  const read = (answer: object | number) => readStatistics(apiWith(answer).api, 'orders', HOUR);

  it.each([
    ['what the deployment counts', statisticsOf(), statisticsOf()],
    ['nothing where the setting is off', { ...statisticsOf(), enabled: false }, null],
    ['nothing where an earlier version has no such route', 404, null],
  ])('reads %s', async (_, answer, statistics) => {
    expect(await read(answer)).toEqual(statistics);
  });

  it('fails where it may not read them', async () => {
    await expect(read(403)).rejects.toMatchObject({ status: 403 });
  });
});

it.each([
  ['nothing is counted', 404, 2],
  ['deliveries failed', statisticsOf({ exhausted: 1 }), 2],
  ['none failed', statisticsOf(), 0],
])('readQueue lists failed deliveries only where there may be some: %s', async (_, statistics, lists) => {
  const { api, asked } = apiWith(statistics);
  await readQueue(api, 'orders', HOUR);
  expect(asked.filter((path) => /status=(rejected|exhausted)/.test(path))).toHaveLength(lists);
});

describe('the response times of deliveries', () => {
  it('are those of the last attempts, in order of time', () => {
    const ended = (second: number, durationMs: number, outcome: 'delivered' | 'failed') => ({
      lastAttempt: { number: 3, startedAt: `2026-11-21T12:00:0${second}.000Z`, outcome },
      durationMs,
    });
    const at = (second: number) => Date.UTC(2026, 10, 21, 12, 0, second);
    expect(responseTimes([ended(2, 20, 'delivered'), ended(1, 10, 'failed'), {}])).toEqual([
      { at: at(1), durationMs: 10, succeeded: false },
      { at: at(2), durationMs: 20, succeeded: true },
    ]);
  });

  it.each([
    [[5, 1, 3], 0.5, 3],
    [[1, 2, 3, 4], 0.5, 2],
    [Array.from({ length: 100 }, (_, index) => index + 1), 0.95, 95],
    [[7], 0.95, 7],
    [[], 0.5, 0],
  ])('of %j have the expected quantile %f', (values, share, value) => {
    expect(quantile(values, share)).toBe(value);
  });
});
