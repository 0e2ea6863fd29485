import { once } from 'node:events';
import jsonPatch from 'fast-json-patch';
import type { Operation } from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { firstWithin } from '../../../console/src/api/listed.ts';
import {
  byUrgency,
  computeFigures,
  listWarnings,
  type QueueReading,
  sumFigures,
  waitingIn,
  readQueue,
} from '../../../console/src/pages/overview/queue-table.tsx';
import { queueDraft, queueFaults, queuePatch } from '../../../console/src/pages/queue/edit-queue.tsx';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { answeringApi } from './answering-api.ts';
import { quantile, responseTimes } from '../../../console/src/delivery/response-times.tsx';
import { loneIn, timeRange } from '../../../console/src/parts/chart.tsx';
import {
  buildSeries,
  CHART_KINDS,
  percentText,
  readStatistics,
  successRate,
  sumOfStatistics,
  type Counts,
  type Statistics,
} from '../../../console/src/statistics/statistics-charts.tsx';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const reading = (more: Partial<QueueReading> = {}): QueueReading => ({
  since: NOW - 3_600_000,
  at: NOW,
  subscriptions: { items: [], more: false },
  statistics: statisticsOf(),
  retrying: { items: [], more: false },
  undelivered: { items: [], more: false },
  ...more,
});

const iso = (at: number) => new Date(at).toISOString();

type Listed = QueueReading['retrying']['items'][number];
const retrying = (more: Partial<Listed> = {}): Listed => ({
  queue: 'orders',
  messageId: 'm',
  subscriptionId: 's',
  status: 'retrying',
  acceptedAt: iso(NOW),
  attemptCount: 1,
  ...more,
});
const due = (inMs: number, more: Partial<Listed> = {}) =>
  retrying({ nextAttemptAt: iso(NOW + inMs), ...more });

/** A delivery that failed, accepted and attempted this long ago. */
const undelivered = (acceptedAgo: number, attemptedAgo?: number): Listed =>
  retrying({
    status: 'exhausted',
    acceptedAt: iso(NOW - acceptedAgo),
    ...(attemptedAgo !== undefined && {
      lastAttempt: { number: 3, startedAt: iso(NOW - attemptedAgo), outcome: 'failed' },
    }),
  });

it.each([
  [42, { queues: { ingress: 2, delivery: 40, retry: 9, ingressDeadLetters: 5 } }],
  [0, { queues: {} }],
  [undefined, {}],
])('waitingIn counts the ingress and delivery queues, not retries nor dead letters: %s', (count, health) => {
  expect(waitingIn(health)).toBe(count);
});

describe('the figures of a queue', () => {
  const warningsIn = (more: Partial<QueueReading>) => listWarnings(computeFigures(reading(more)));

  it.each([
    [false, '2 deliveries rejected or exhausted'],
    [true, '2+ deliveries rejected or exhausted'],
  ])(
    'warn of deliveries that ended without success in the window and are still undelivered',
    (more, text) => {
      const before = 3_600_001;
      const items = [undelivered(before, 60_000), undelivered(0), undelivered(before)];
      expect(warningsIn({ undelivered: { items, more } })).toEqual([{ weight: 1, text }]);
    },
  );

  it.each([
    [['its newest messages found no subscription'], [{ messages: 1, matched: 1 }, { messages: 1 }]],
    [['its subscriptions filtered all messages'], [{ messages: 2, filtered: 2 }]],
    [
      [],
      [
        { messages: 1, matched: 1 },
        { messages: 1, filtered: 1 },
      ],
    ],
    [[], []],
  ])('warn of messages that match nothing: %j', (texts, steps) => {
    const points = steps.map((step) => ({ at: iso(NOW), ...countsOf(step) }));
    const warnings = warningsIn({ statistics: statisticsOf({}, points) });
    expect(warnings).toEqual(texts.map((text) => ({ weight: 1, text })));
  });

  it('warn of nothing once a recovery delivered what was rejected or exhausted', () => {
    expect(warningsIn({ statistics: statisticsOf({ rejected: 3, exhausted: 2 }) })).toEqual([]);
  });

  it('have no counts where the deployment keeps no statistics', () => {
    const figures = computeFigures(reading({ statistics: null }));
    expect(figures.statistics).toBeUndefined();
    expect(sumFigures([figures]).summary).toBeUndefined();
    expect(listWarnings(figures)).toEqual([]);
  });

  it.each([
    [30_000, [due(5000), due(-30_000), retrying(), due(-9000), due(-99_000, { waiting: 'pull' })]],
    [0, [due(5000), due(-99_000, { waiting: 'paused' })]],
    [9000, [due(-9000), due(-99_000, { inFlight: { since: iso(NOW - 50_000), until: iso(NOW + 9000) } })]],
    [99_000, [due(-99_000, { inFlight: { since: iso(NOW - 90_000), until: iso(NOW) } })]],
  ])('take the lateness of the most overdue retry: %i ms', (latenessMs, items) => {
    expect(computeFigures(reading({ retrying: { items, more: false } }))).toMatchObject({ latenessMs });
  });

  it('report failing subscriptions, but not those that an operator disabled', () => {
    const failing = { since: NOW, failures: 3 };
    const items = [
      aSubscription(),
      aSubscription({ failing }),
      aSubscription({ disabled: { reason: 'gone', at: NOW }, failing }),
      aSubscription({ disabled: { reason: 'manual', at: NOW } }),
    ].map((subscription) => subscriptionView(subscription, NOW));
    const figures = computeFigures(reading({ subscriptions: { items, more: false } }));
    expect(figures.subscriptions).toEqual({ count: 4, more: false, failing: 1, off: 1 });
    expect(listWarnings(figures).map(({ text }) => text)).toEqual([
      '1 subscription disabled after failures',
      '1 subscription is failing',
    ]);
  });

  it('sort queues by the worst problem, then by name', () => {
    const row = (name: string, ...weights: number[]) => ({
      name,
      warnings: weights.map((weight) => ({ weight, text: '' })),
    });
    const rows = [row('b'), row('a'), row('z', 1), row('y', 4), row('x', 1)];
    expect(byUrgency(rows).map(({ name }) => name)).toEqual(['y', 'x', 'z', 'a', 'b']);
  });

  it('add up over queues', () => {
    const late = { items: [due(-7000)], more: true };
    const all = [
      reading({ statistics: statisticsOf({ messages: 5 }) }),
      reading({ statistics: statisticsOf({ messages: 7 }), retrying: late }),
    ];
    expect(sumFigures(all.map(computeFigures))).toMatchObject({
      summary: { total: { messages: 12 } },
      retrying: { count: 1, more: true },
      latenessMs: 7000,
    });
  });
});

const metadata = {
  _retry_policy: { maximum_delay: 60 },
  _retain_messages: 'all',
  _default_message_ttl: 3600,
  team: 'checkout',
  'a/b~c': [1],
};
const draft = queueDraft(metadata);

/** The metadata after the patch of an edit. */
const edited = (changed: Partial<typeof draft>): unknown =>
  jsonPatch.applyPatch(
    structuredClone({ metadata }),
    queuePatch(draft, { ...draft, ...changed }) as Operation[],
    true,
  ).newDocument.metadata;

describe('the patch of an edited queue', () => {
  it('names only what changed, so that changes of others stay', () => {
    expect(queuePatch(draft, draft)).toEqual([]);
    expect(queuePatch(draft, { ...draft, _default_message_delay: '5', _retain_messages: '' })).toEqual([
      { op: 'remove', path: '/metadata/_retain_messages' },
      { op: 'add', path: '/metadata/_default_message_delay', value: 5 },
    ]);
  });

  it('adds, changes and removes other metadata under any name', () => {
    const { team: _, ...others } = { ...metadata, 'a/b~c': [2], note: null };
    expect(edited({ others: '{"a/b~c": [2], "note": null}' })).toEqual(others);
  });

  it('removes the policy and everything else that is emptied', () => {
    const policy = { ...draft.policy, chosen: 'none' } as const;
    expect(edited({ _default_message_ttl: ' ', others: '', _retain_messages: '', policy })).toEqual({});
  });

  it.each(['{', '[]', 'null', '{"_default_message_ttl": 5}'])(
    'is refused with other metadata %s',
    (others) => {
      expect(queueFaults(draft).size).toBe(0);
      expect([...queueFaults({ ...draft, others }).keys()]).toEqual(['others']);
    },
  );
});

describe('firstWithin', () => {
  /** Reads a list of two items, which then waits until it is aborted. */
  const reading = (count: number, milliseconds: number, signal = new AbortController().signal) =>
    firstWithin(
      async function* (ended: AbortSignal): AsyncGenerator<number> {
        yield* [1, 2];
        await once(ended, 'abort');
        throw new Error('aborted');
      },
      count,
      { milliseconds, signal },
    );

  it('returns what it has read when the time is up, and says that there may be more', async () => {
    expect(await reading(5, 10)).toEqual({ items: [1, 2], more: true });
  });

  it('stops at the number of items asked for', async () => {
    expect(await reading(1, 60_000)).toEqual({ items: [1], more: true });
  });

  it('fails when the page is left', async () => {
    const left = new AbortController();
    const read = reading(5, 60_000, left.signal);
    setImmediate(() => {
      left.abort();
    });
    await expect(read).rejects.toThrow('aborted');
  });
});

/** Counts, zero where none are given. */
const countsOf = (more: Partial<Counts> = {}): Counts => ({ ...noCounters().counts, ...more });

/** The statistics of three minutes from 12:00, as the API answers. */
const statisticsOf = (total: Partial<Counts> = {}, points: Statistics['points'] = []): Statistics => ({
  queue: 'orders',
  enabled: true,
  since: '2026-11-21T12:00:00.000Z',
  until: '2026-11-21T12:03:00.000Z',
  stepSeconds: 60,
  points,
  total: countsOf(total),
});

const [NOON, ONE_PAST] = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:01:00.000Z'];

const times = (p99: number, count = 1) => ({ count, p50: 1, p95: 2, p99 });

it('buildSeries has every step of the window, also those in which nothing happened', () => {
  const point = { at: ONE_PAST, ...countsOf({ messages: 4 }) };
  const noon = Date.parse(NOON) / 1000;
  expect(buildSeries(statisticsOf({}, [point]))).toEqual({
    times: [noon, noon + 60, noon + 120],
    steps: [countsOf(), point, countsOf()],
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
      countsOf(),
      [[0], [0, 0, 0], [null], NONE, NONE],
    ],
    ['each figure of a step', total, [[1200], [9, 1, 5], [90], [1, 2, 4000], NONE]],
  ])('draw %s', (_, counts, figures) => {
    expect(CHART_KINDS.map(({ lines }) => lines.map(([, , , value]) => value(counts)))).toEqual(figures);
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
    const sums = CHART_KINDS.map(({ title, lines, totalText }) => [
      title,
      ...lines.map(([, , , value]) => value(total)).map((sum) => (sum === null ? undefined : totalText(sum))),
    ]);
    expect(sums).toEqual([
      ['Messages', '1,200'],
      ['Outcomes', '9', '1', '5'],
      ['Successful attempts', '90%'],
      ['Time to delivery', '1 ms', '2 ms', '4 s'],
      ['Response times', undefined, undefined, undefined],
    ]);
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
  const { api, asked, signals } = apiWith(statistics);
  await readQueue(api, 'orders', HOUR);
  expect(signals.every((signal) => signal === HOUR.signal)).toBe(true);
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
