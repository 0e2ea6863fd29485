import { describe, expect, it } from 'vitest';
import { ApiRefusal } from '../../../cli/api/api-refusal.ts';
import type { ApiClient } from '../../../cli/api/api-request.ts';
import { parsedAnswer } from '../../../cli/api/parsed-answer.ts';
import { readStatistics } from '../../../console/src/statistics/read-statistics.ts';
import { statisticsOf } from './statistics-of.ts';

/** Reads from an API that answers with the text, or refuses with the status. */
const read = (answer: object | number) => {
  const send: ApiClient['send'] = ({ method, path }) =>
    typeof answer === 'number'
      ? Promise.reject(new ApiRefusal(`${method} ${path}`, answer, ''))
      : Promise.resolve({ status: 200, text: JSON.stringify(answer), headers: new Headers() });
  const api: ApiClient = {
    name: 'the API',
    send,
    call: async (request, schema) => parsedAnswer(await send(request), request, schema),
  };
  const { signal } = new AbortController();
  return readStatistics(api, 'orders', { window: 'hour', now: Date.UTC(2026, 10, 21), signal });
};

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
