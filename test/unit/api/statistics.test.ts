import { describe, expect, it } from 'vitest';
import { addDuration, type Counters, noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { apiUnderTest, NOON } from './api-under-test.ts';

const MINUTE = 60_000;

const delivered = (ms: number): Counters => {
  const counters = noCounters();
  counters.counts.messages = 1;
  counters.counts.delivered = 1;
  addDuration(counters.timeToDelivery, ms);
  return counters;
};

const withQueue = async (...given: Parameters<typeof apiUnderTest>) => {
  const api = apiUnderTest(...given);
  await api.call('PUT', '/v2/queues/orders', {});
  return {
    ...api,
    add: (at: number, counters: Counters, queue = 'orders') =>
      api.statistics.add({ queue, at, counters, expiresAt: NOON + MINUTE }),
    read: (query = '', queue = 'orders') => api.call('GET', `/v2/queues/${queue}/statistics${query}`),
  };
};

describe('statistics of a queue', () => {
  it('sum the minutes of each step and of the window, without empty steps', async () => {
    const { add, read } = await withQueue();
    await add(NOON - 11 * MINUTE, delivered(10));
    await add(NOON - 10 * MINUTE, delivered(100));
    await add(NOON - 6 * MINUTE, delivered(4000));
    await add(NOON - MINUTE, noCounters(), 'other');
    const { status, body } = await read('?since=2026-11-21T11:40:00Z&until=2026-11-21T12:00:00Z&step=300');
    expect(status).toBe(200);
    const counts = noCounters().counts;
    const near = (ms: number): unknown => expect.closeTo(ms, -Math.log10(0.24 * ms));
    const percentiles = (count: number, p50: number, high: number) => ({
      count,
      p50: near(p50),
      p95: near(high),
      p99: near(high),
    });
    expect(body).toEqual({
      queue: 'orders',
      enabled: true,
      since: '2026-11-21T11:40:00.000Z',
      until: '2026-11-21T12:00:00.000Z',
      stepSeconds: 300,
      points: [
        {
          at: '2026-11-21T11:45:00.000Z',
          ...counts,
          messages: 1,
          delivered: 1,
          timeToDelivery: percentiles(1, 10, 10),
        },
        {
          at: '2026-11-21T11:50:00.000Z',
          ...counts,
          messages: 2,
          delivered: 2,
          timeToDelivery: percentiles(2, 100, 4000),
        },
      ],
      total: {
        ...counts,
        messages: 3,
        delivered: 3,
        timeToDelivery: percentiles(3, 100, 4000),
      },
    });
  });

  it('cover the last 24 hours in steps of five minutes by default, widened to whole steps', async () => {
    const { time, read } = await withQueue();
    time.now = NOON + 61_000;
    expect((await read()).body).toMatchObject({
      since: '2026-11-20T12:00:00.000Z',
      until: '2026-11-21T12:05:00.000Z',
      stepSeconds: 300,
      points: [],
      total: { messages: 0 },
    });
  });

  it('use the smallest step that fits into 400 points', async () => {
    const { read } = await withQueue();
    const stepOf = async (since: string) => (await read(`?since=${since}&until=2026-11-21T12:00:00Z`)).body;
    expect(await stepOf('2026-11-21T05:20:00Z')).toMatchObject({ stepSeconds: 60 });
    expect(await stepOf('2026-11-21T05:19:00Z')).toMatchObject({ stepSeconds: 300 });
    expect(await stepOf('2026-11-13T12:00:00Z')).toMatchObject({ stepSeconds: 3_600 });
  });

  it('say so where the setting is off, and show no earlier counts', async () => {
    const { settings } = apiUnderTest().dependencies;
    const { add, read } = await withQueue({ settings: { ...settings, queueStatistics: false } });
    await add(NOON - MINUTE, delivered(10));
    expect((await read()).body).toMatchObject({ enabled: false, points: [], total: { messages: 0 } });
  });
});
