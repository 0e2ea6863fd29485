import { describe, expect, it } from 'vitest';
import { type ApiClient, clientBy } from '../../../api-client/api-client.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { readQueue } from '../../../console/src/pages/overview/queue-figures.ts';
import { readStatistics } from '../../../console/src/statistics/series.ts';
import { statisticsOf } from './statistics-of.ts';

/** An API that answers requests for statistics with the value, or refuses them with the status; its lists are empty. */
const apiWith = (statistics: object | number) => {
  const asked: string[] = [];
  const send: ApiClient['send'] = ({ method, path, search }) => {
    asked.push(path + search);
    const answer = path.endsWith('/statistics') ? statistics : { subscriptions: [], deliveries: [] };
    return typeof answer === 'number'
      ? Promise.reject(new ApiRefusal(`${method} ${path}`, answer, ''))
      : Promise.resolve({ status: 200, text: JSON.stringify(answer), headers: new Headers() });
  };
  return { asked, api: clientBy('the API', send) };
};

const HOUR = { window: 'hour', now: Date.UTC(2026, 10, 21), signal: new AbortController().signal } as const;
const read = (answer: object | number) => readStatistics(apiWith(answer).api, 'orders', HOUR);

describe('readStatistics', () => {
  it('reads what the deployment counts', async () => {
    expect(await read(statisticsOf())).toEqual(statisticsOf());
  });

  it.each([
    ['the setting is off', { ...statisticsOf(), enabled: false }],
    ['an earlier version has no such route', 404],
  ])('has none where %s', async (_, answer) => {
    expect(await read(answer)).toBeNull();
  });

  it('fails where it may not read them', async () => {
    await expect(read(403)).rejects.toMatchObject({ status: 403 });
  });
});

describe('readQueue', () => {
  it.each([
    ['nothing is counted', 404, 2],
    ['deliveries failed', statisticsOf({ exhausted: 1 }), 2],
    ['none failed', statisticsOf(), 0],
  ])('lists failed deliveries only where there may be some: %s', async (_, statistics, lists) => {
    const { api, asked } = apiWith(statistics);
    await readQueue(api, 'orders', HOUR);
    expect(asked.filter((path) => /status=(rejected|exhausted)/.test(path))).toHaveLength(lists);
  });
});
