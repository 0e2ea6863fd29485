import { describe, expect } from 'vitest';
import { addDuration, type Counters, noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { type Api, apiWithOrders, itWithOrders as it, NOON, QUEUE } from './api-test.ts';

const MINUTE = 60_000;

const delivered = (ms: number): Counters => {
  const counters = noCounters();
  counters.counts.messages = 1;
  counters.counts.delivered = 1;
  addDuration(counters.timeToDelivery, ms);
  return counters;
};

const PATH = `${QUEUE}/statistics`;

const add = ({ statistics }: Api, at: number, counters: Counters, queue = 'orders') =>
  statistics.add({ queue, at, counters, expiresAt: NOON + MINUTE });

describe('statistics of a queue', () => {
  it('sum the minutes of each step and of the window, without empty steps', async ({ api }) => {
    await add(api, NOON - 11 * MINUTE, delivered(10));
    await add(api, NOON - 10 * MINUTE, delivered(100));
    await add(api, NOON - 6 * MINUTE, delivered(4000));
    await add(api, NOON - MINUTE, noCounters(), 'other');
    const near = (ms: number): unknown => expect.closeTo(ms, -Math.log10(0.24 * ms));
    const counted = (count: number, p50: number, high: number) => ({
      ...noCounters().counts,
      messages: count,
      delivered: count,
      timeToDelivery: { count, p50: near(p50), p95: near(high), p99: near(high) },
    });
    const window = 'since=2026-11-21T11:40:00Z&until=2026-11-21T12:00:00Z';
    expect(await api.get(`${PATH}?${window}&step=300`)).toEqual({
      queue: 'orders',
      enabled: true,
      since: '2026-11-21T11:40:00.000Z',
      until: '2026-11-21T12:00:00.000Z',
      stepSeconds: 300,
      points: [
        { at: '2026-11-21T11:45:00.000Z', ...counted(1, 10, 10) },
        { at: '2026-11-21T11:50:00.000Z', ...counted(2, 100, 4000) },
      ],
      total: counted(3, 100, 4000),
    });
  });

  it('cover the last 24 hours in whole steps of five minutes by default', async ({ get, time }) => {
    time.now = NOON + 61_000;
    expect(await get(PATH)).toMatchObject({
      since: '2026-11-20T12:00:00.000Z',
      until: '2026-11-21T12:05:00.000Z',
      stepSeconds: 300,
      points: [],
      total: { messages: 0 },
    });
  });

  it.for([
    ['2026-11-21T05:20:00Z', 60],
    ['2026-11-21T05:19:00Z', 300],
    ['2026-11-13T12:00:00Z', 3_600],
  ] as const)(
    'use the smallest step that fits into 400 points: since %s, %i s',
    async ([since, step], { get }) => {
      const shown = await get(`${PATH}?since=${since}&until=2026-11-21T12:00:00Z`);
      expect(shown).toMatchObject({ stepSeconds: step });
    },
  );

  it.for([60, 3_600, 86_400])(
    'of a queue that was made again do not count the earlier queue: steps of %i s',
    async (step, { api, call, get, time }) => {
      await add(api, NOON - MINUTE, delivered(10));
      await call('DELETE', `${QUEUE}?now=true`);
      time.now = NOON + 90_000;
      await call('PUT', QUEUE);
      await add(api, NOON + MINUTE, delivered(10));
      const until = '2026-11-21T12:02:00Z';
      const asked = `${PATH}?since=2026-11-21T11:00:00Z&until=${until}&step=${step}`;
      expect(await get(asked)).toMatchObject({ points: [{ messages: 1 }], total: { messages: 1 } });
      const before = `${PATH}?since=2026-11-21T11:00:00Z&until=2026-11-21T12:00:00Z&step=60`;
      expect(await get(before)).toMatchObject({ points: [], total: { messages: 0 } });
    },
  );

  it('say so where the setting is off, and show no earlier counts', async ({ dependencies }) => {
    const api = await apiWithOrders({ settings: { ...dependencies.settings, queueStatistics: false } });
    await add(api, NOON - MINUTE, delivered(10));
    expect(await api.get(PATH)).toMatchObject({ enabled: false, points: [], total: { messages: 0 } });
  });
});
