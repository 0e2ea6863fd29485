import { describe, expect, it } from 'vitest';
import { createApi, createSecretsApi } from '../../../functions/api/app.ts';
import type { Api } from '../../../functions/api/dependencies.ts';
import { secretRoutes } from '../../../shared/config/open-routes.ts';
import { apiUnderTest, CALLER, PUBLIC_URL } from './api-under-test.ts';

const { dependencies } = apiUnderTest();

const statusOf = async (api: Api, method: string, path: string): Promise<number> => {
  const bindings = { caller: CALLER, publicUrl: PUBLIC_URL };
  return (await api.fetch(new Request(`https://api.invalid${path}`, { method }), bindings)).status;
};

const PATHS = secretRoutes.map(({ path }) => path.replaceAll(/\{\w+\}/g, 'orders'));

describe('the routes that open secrets', () => {
  it.each(PATHS)('are only described by the administration, which cannot open any: %s', async (path) => {
    expect(await statusOf(createApi(dependencies), 'POST', path)).toBe(405);
  });

  it.each(PATHS)('are served by the function that can: %s', async (path) => {
    expect([401, 404]).toContain(await statusOf(createSecretsApi(dependencies), 'POST', path));
    expect(await statusOf(createSecretsApi(dependencies), 'GET', path)).toBe(405);
  });

  it.each(['/v2/queues', '/v2/queues/orders', '/v2/queues/orders/export', '/v2/pull/orders/id/ack'])(
    'are all that it serves, so it answers 404 for %s',
    async (path) => {
      expect(await statusOf(createSecretsApi(dependencies), 'GET', path)).toBe(404);
    },
  );
});
