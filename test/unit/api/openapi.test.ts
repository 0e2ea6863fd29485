import { Validator } from '@seriousme/openapi-schema-validator';
import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { wholeApi } from '../../support/whole-api.ts';
import { openRoutes } from '../../../shared/config/open-routes.ts';
import { apiUnderTest, faultsByDescription, PUBLIC_URL } from './api-under-test.ts';

const operation = z.looseObject({ operationId: z.string(), security: z.array(z.unknown()).optional() });

const schema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ version: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
});

const served = async () => {
  const { status, body } = await apiUnderTest().call('GET', '/v2/openapi.json');
  expect(status).toBe(200);
  return schema.parse(body);
};

const operationsOf = ({ paths }: z.infer<typeof schema>) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      ...described,
    })),
  );

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const document = await served();
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
  });

  it('describes exactly the routes of the API', async () => {
    const { routes } = wholeApi(apiUnderTest().dependencies);
    const names = routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(
      operationsOf(await served())
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
  });

  it('gives each operation a unique id', async () => {
    const ids = operationsOf(await served()).map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('marks exactly the open routes as open', async () => {
    const open = operationsOf(await served()).filter(
      ({ security }) => security?.every((scheme) => JSON.stringify(scheme) === '{"pullToken":[]}') === true,
    );
    const names = openRoutes.flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`));
    expect(open.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  it('contains the URL and version of the API', async () => {
    const { servers, info } = await served();
    expect(servers).toEqual([{ url: PUBLIC_URL }]);
    expect(info.version).toBe('1.2.3');
  });

  it('contains the public URL of each request', async () => {
    const api = wholeApi(apiUnderTest().dependencies);
    const ask = async (publicUrl: string) => {
      const response = await api.request('/v2/openapi.json', {}, { ...BINDINGS, publicUrl });
      return schema.parse(await response.json()).servers[0]?.url;
    };
    expect([await ask('https://a.example'), await ask('https://b.example'), await ask('https://a.example')]) //
      .toEqual(['https://a.example', 'https://b.example', 'https://a.example']);
  });
});

const BINDINGS = { caller: { principal: 'anonymous', requestId: 'request-1' } };

const faultsOf = await faultsByDescription();

describe('validation against the OpenAPI document', () => {
  const answered = (path: string, status: number, body: unknown, headers: Record<string, string> = {}) => {
    const text = JSON.stringify(body);
    const response = new Response(text, {
      status,
      headers: { 'content-type': 'application/json', ...headers },
    });
    return faultsOf({ method: 'GET', path, response, text });
  };

  it('reports an undescribed status, media type or field', () => {
    expect(answered('/v2/queues', 200, { queues: [], links: [] })).toEqual([]);
    expect(answered('/v2/queues?limit=1', 418, {})).toHaveLength(1);
    expect(answered('/v2/queues', 200, { queues: [], links: [], more: 1 })).toHaveLength(1);
    expect(answered('/v2/queues', 200, { queues: [] })).toHaveLength(1);
    expect(answered('/v2/queues', 200, {}, { 'content-type': 'text/plain' })).toHaveLength(1);
    expect(answered('/v2/ping', 200, {})).toHaveLength(1);
  });
});
