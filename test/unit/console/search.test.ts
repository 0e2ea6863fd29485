import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../api-client/api-client.ts';
import {
  axisTime,
  clockText,
  durationText,
  relativeText,
  utcText,
} from '../../../console/src/parts/time-text.ts';
import { subscriptionView } from '../../../shared/wire/views/subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { messageView } from '../cli/delivery-views.ts';
import { answeringApi } from './answering-api.ts';
import { type Found, search, soughtTime } from '../../../console/src/shell/search.tsx';

/** The API with these queues; `answers` by path, 404 for any other. */
const apiWith = (queues: readonly string[], answers: Readonly<Record<string, object | number>>) =>
  answeringApi((path) => {
    if (path === '/v2/queues') return { queues: queues.map((name) => ({ name, metadata: {} })) };
    return answers[path] ?? (path.endsWith('/subscriptions') ? { subscriptions: [] } : 404);
  });

/** Everything that a search reports, the result last. */
const found = async (api: ApiClient, text: string, first?: string): Promise<Found | undefined> => {
  const reports: Found[] = [];
  const onFound = (report: Found): void => void reports.push(report);
  await search(api, text, { first, signal: new AbortController().signal, onFound });
  return reports.at(-1);
};

describe('search', () => {
  it('finds a message by its id in every queue that has it, and queues by a part of their name', async () => {
    const { api } = apiWith(['billing', 'orders', 'order-archive'], {
      '/v2/queues/orders/messages/order': { ...messageView, id: 'order' },
      '/v2/queues/billing/messages/order': { ...messageView, id: 'order', queue: 'billing' },
    });
    expect(await found(api, 'order')).toMatchObject({
      messages: ['billing', 'orders'],
      queues: ['orders', 'order-archive'],
      subscriptions: [],
      isDone: true,
      failed: { count: 0 },
    });
  });

  it('lets the API match subscriptions', async () => {
    const view = subscriptionView(aSubscription(), 0);
    const { api, asked } = apiWith(['orders'], {
      '/v2/queues/orders/subscriptions': { subscriptions: [view] },
    });
    expect((await found(api, 'a b'))?.subscriptions).toEqual([view]);
    expect(asked).toContain('/v2/queues/orders/subscriptions?match=a+b&limit=10');
  });

  it('names the queues with more subscriptions than it shows', async () => {
    const subscriptions = Array.from({ length: 10 }, () => subscriptionView(aSubscription(), 0));
    const { api } = apiWith(['orders', 'few'], {
      '/v2/queues/orders/subscriptions': { subscriptions, links: [{ rel: 'next', href: '/x?marker=1' }] },
      '/v2/queues/few/subscriptions': { subscriptions },
    });
    expect((await found(api, 'a'))?.cutIn).toEqual(['orders']);
  });

  it('counts the queues that it could not look in, and keeps the first reason', async () => {
    const { api } = apiWith(['mine', 'theirs'], { '/v2/queues/theirs/messages/x': 403 });
    const result = await found(api, 'x');
    expect(result).toMatchObject({ lookedIn: 2, messages: [], failed: { count: 1 } });
    expect(result?.failed.failure).toMatchObject({ code: 'forbidden' });
  });

  it('begins with the queue of the page, and leaves room for the polling of the page', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `queue-${index}`);
    const { api, asked, mostAtOnce } = apiWith(names, {});
    expect(await found(api, 'x', 'queue-20')).toMatchObject({ lookedIn: 30, more: false });
    expect(asked[1]).toMatch(/^\/v2\/queues\/queue-20\//);
    expect(mostAtOnce()).toBeLessThanOrEqual(8);
  });

  it('stops when its results are closed', async () => {
    const { api, asked } = apiWith(['one', 'two'], {});
    const closed = AbortSignal.abort();
    const reports: Found[] = [];
    await search(api, 'x', { first: undefined, signal: closed, onFound: (report) => reports.push(report) });
    expect(reports).toEqual([]);
    expect(asked).toEqual(['/v2/queues?detailed=true&limit=100']);
  });

  it('ends all its requests when its results are closed', async () => {
    const { api, asked, signals } = apiWith(['one'], {});
    const { signal } = new AbortController();
    await search(api, 'x', { first: undefined, signal, onFound: () => undefined });
    expect(asked.filter((_, at) => signals[at] !== signal)).toEqual([]);
  });
});

describe('soughtTime', () => {
  const MINUTE = 60_000;
  /** In the time zone of this process, of November 2026. */
  const local = (day: number, hours = 0, minutes = 0, seconds = 0) =>
    new Date(2026, 10, day, hours, minutes, seconds).getTime();
  const around = (time: number) => ({ since: time - 5 * MINUTE, until: time + 5 * MINUTE });
  const NOON = local(21, 12);

  it.each([
    ['11:30', 'of today', around(local(21, 11, 30))],
    ['9:05:10', 'of today', around(local(21, 9, 5, 10))],
    ['23:59', 'still to come, so yesterday’s', around(local(20, 23, 59))],
    ['2026-11-03 14:03', 'in the local zone', around(local(3, 14, 3))],
    ['2026-11-03T14:03:20.5Z', 'in UTC', around(Date.parse('2026-11-03T14:03:20.500Z'))],
    ['2026-11-03T14:03:20+02:00', 'in the zone given', around(Date.parse('2026-11-03T12:03:20Z'))],
    ['2026-11-03', 'a whole local day', { since: local(3), until: local(4) }],
  ])('takes %j as a time %s, five minutes before and after it', (text, _, span) => {
    expect(soughtTime(text, NOON)).toEqual(span);
  });

  it.each([
    'order-4711',
    '25:00',
    '12:60',
    '2026-13-01',
    '2026-11-03 14',
    '14',
    'https://a.example/12:00',
    '',
  ])('takes %j for no time', (text) => {
    expect(soughtTime(text, NOON)).toBeUndefined();
  });
});

describe('times in the console', () => {
  const NOON = Date.UTC(2026, 10, 21, 12);

  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.each([
    [NOON + 1234, false, 'UTC', '12:00:01'],
    [NOON + 1234, true, 'UTC', '12:00:01.234'],
    [NOON, false, 'Asia/Kolkata', '17:30:00'],
    [NOON - 86_400_000, false, 'UTC', '20 Nov, 12:00:00'],
    [NOON + 14 * 3_600_000, false, 'UTC', '22 Nov, 02:00:00'],
    [NOON - 400 * 86_400_000, false, 'UTC', '17 Oct 2025, 12:00:00'],
  ])('are shown in the browser’s zone, with the date unless it is today', (time, exact, zone, text) => {
    vi.stubEnv('TZ', zone);
    expect(clockText(time, { now: NOON, exact })).toBe(text);
  });

  it('are shown in UTC in the tooltip', () => {
    expect(utcText('2026-11-21T12:00:00.000Z')).toBe('2026-11-21 12:00:00.000 UTC');
    expect(utcText('2026-11-21T13:00:00.000+01:00')).toBe('2026-11-21 12:00:00.000 UTC');
    expect(utcText('no time at all')).toBe('no time at all');
  });

  it('are shown on an axis to the minute, or to the second where its steps are shorter', () => {
    expect(axisTime(NOON + 7000, { now: NOON, seconds: false })).toMatch(/^\d\d:00$/);
    expect(axisTime(NOON + 7000, { now: NOON, seconds: true })).toMatch(/^\d\d:00:07$/);
  });

  it.each([
    [0, '0 s'],
    [48, '48 ms'],
    [999.4, '999 ms'],
    [1000, '1 s'],
    [3500, '3.5 s'],
    [59_940, '59.9 s'],
    [59_999, '1 min'],
    [90_000, '1 min 30 s'],
    [7_500_000, '2 h 5 min'],
    [15 * 86_400_000, '15 d'],
  ])('show a duration of %i milliseconds as %s', (milliseconds, text) => {
    expect(durationText(milliseconds)).toBe(text);
  });

  it.each([
    [NOON + 400, 'now'],
    [NOON + 3_400, 'in 3 s'],
    [NOON - 125_000, '2 min 5 s ago'],
  ])('are shown relative to now', (time, text) => {
    expect(relativeText(time, NOON)).toBe(text);
  });
});
