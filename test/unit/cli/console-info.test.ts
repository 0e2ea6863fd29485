import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { consoleInfoSchema } from '../../../shared/wire/views/console.ts';
import {
  closeConsoles,
  apiThatAnswers,
  asPage,
  consoleOf,
  deploymentAt,
  jsonOf,
  MARKUP,
  type StubbedApi,
} from './console-under-test.ts';
import { requestLoopback } from './loopback-request.ts';

afterAll(closeConsoles);

let api: StubbedApi;
let served: LoopbackServer;

beforeAll(async () => {
  api = await apiThatAnswers({});
  served = await consoleOf(deploymentAt(api.url));
});

describe('the console info for the page', () => {
  const infoOf = async (at = served) =>
    consoleInfoSchema.parse(jsonOf(await asPage(at, { path: '/api-local/info' })));

  it('names the deployment and its version, which may differ from that of the command', async () => {
    api.answers({ body: JSON.stringify({ openapi: '3.1.0', info: { version: '9.9.9' } }) });
    expect(await infoOf()).toEqual({
      deployment: MARKUP,
      region: 'us-east-1',
      version: '9.9.9',
      commandVersion: '0.1.0',
      command: 'npm run -s posthaste --',
      apiUrl: api.url,
      isLocal: true,
      pollInterval: { floorSeconds: 1, ceilingSeconds: 10, exponent: 2 },
    });
    expect(api.requests.at(-1)).toMatchObject({ method: 'GET', path: '/v2/openapi.json' });
  });

  it('is valid JSON even if the name of the deployment is markup', async () => {
    api.answers({ body: '{}' });
    const { headers, body } = await asPage(served, { path: '/api-local/info' });
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(body).toContain(JSON.stringify(MARKUP));
  });

  it('gives the reason for an unknown version if the API denies access', async () => {
    api.answers({ status: 403, body: '{"message":"Forbidden"}' });
    expect(await infoOf()).toMatchObject({ version: null, problem: { code: 'forbidden' } });
  });

  it('reports a missing deployment, and API requests are then refused with status 503', async () => {
    const none = await consoleOf({ kind: 'none', reason: 'no stack' });
    const problem = { code: 'no_deployment', message: 'no stack' };
    expect(await infoOf(none)).toMatchObject({ deployment: null, version: null, problem });
    const refused = await asPage(none, { path: '/api/v2/queues' });
    expect({ status: refused.status, said: jsonOf(refused) }).toEqual({
      status: 503,
      said: { error: problem },
    });
  });

  it('tells a page whether its token is valid, without a request to the API', async () => {
    const before = api.requests.length;
    const asked = { method: 'HEAD', path: '/api-local/info' };
    expect((await asPage(served, asked)).status).toBe(200);
    expect((await asPage(served, { ...asked, headers: { authorization: 'Bearer old' } })).status).toBe(401);
    expect(api.requests).toHaveLength(before);
  });

  it('is served only with the token and to the right host name', async () => {
    const { port } = served;
    expect((await requestLoopback(port, { path: '/api-local/info' })).status).toBe(401);
    expect(
      (await asPage(served, { path: '/api-local/info', headers: { host: 'evil.example' } })).status,
    ).toBe(403);
  });
});
