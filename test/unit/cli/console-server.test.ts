import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CredentialsProblem } from '../../../cli/api/api-access.ts';
import { refusalFromFailure } from '../../../cli/loopback/signed-request.ts';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { consoleInfoSchema } from '../../../shared/wire/views/console.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import {
  closeConsoles,
  apiThatAnswers,
  asPage,
  consoleOf,
  deploymentAt,
  jsonOf,
  MARKUP,
  tokenOf,
  type StubbedApi,
} from './console-under-test.ts';
import { requestLoopback, type LoopbackRequest } from './loopback-request.ts';

afterAll(closeConsoles);

let api: StubbedApi;
let served: LoopbackServer;

beforeAll(async () => {
  api = await apiThatAnswers({});
  served = await consoleOf(deploymentAt(api.url));
});

describe('the API behind the console', () => {
  it('receives the request of the page, signed and without the page’s token', async () => {
    api.answers({
      status: 201,
      headers: { 'content-type': 'application/json', 'set-cookie': 'a=b' },
      body: '{"a":1}',
    });
    const before = api.requests.length;
    const body = '{ "b": 1.0 }';
    const taken = await asPage(served, { method: 'PUT', path: '/api/v2/queues/new?x=%20y', body });
    expect(taken).toMatchObject({ status: 201, body: '{"a":1}' });
    expect(taken.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    expect(taken.headers['set-cookie']).toBeUndefined();
    expect(api.requests[before]).toMatchObject({ method: 'PUT', path: '/v2/queues/new?x=%20y', body });
    expect(api.requests[before]?.headers).toMatchObject({ authorization: 'signed' });
    expect(api.requests[before]?.headers.origin).toBeUndefined();
  });

  it.each<[string, LoopbackRequest, number, string]>([
    ['a request without the token', { headers: { authorization: '' } }, 401, 'token_refused'],
    [
      'a request with another token',
      { headers: { authorization: `Bearer ${'A'.repeat(43)}` } },
      401,
      'token_refused',
    ],
    ['a request for another host name', { headers: { host: 'evil.example' } }, 403, 'forbidden'],
    ['a request of another origin', { headers: { origin: 'https://evil.example' } }, 403, 'forbidden'],
    ['a request of a page without an origin', { headers: { origin: 'null' } }, 403, 'forbidden'],
    ['an image request of another page', { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'forbidden'],
    ['a request of a page on another port', { headers: { 'sec-fetch-site': 'same-site' } }, 403, 'forbidden'],
    [
      'a preflight request',
      { method: 'OPTIONS', headers: { origin: 'https://evil.example' } },
      403,
      'forbidden',
    ],
    ['a path that URL parsing would change', { path: '/api/v2/a/../b' }, 400, 'invalid_request'],
    ['a path outside the API', { path: '/api/../b' }, 400, 'invalid_request'],
  ])('does not receive %s, even if the rest of the request is valid', async (_, asked, status, code) => {
    api.answers({});
    const before = api.requests.length;
    const refused = await asPage(served, { path: '/api/v2/queues', ...asked });
    expect({ status: refused.status, said: jsonOf(refused) }).toMatchObject({
      status,
      said: { error: { code } },
    });
    expect(api.requests).toHaveLength(before);
  });

  it('does not receive a request that changes data but has no Origin header', async () => {
    const before = api.requests.length;
    const refused = await requestLoopback(served.port, {
      method: 'POST',
      path: '/api/v2/queues/q/messages',
      headers: { authorization: `Bearer ${tokenOf(served)}` },
      body: '{}',
    });
    expect({ status: refused.status, said: jsonOf(refused) }).toMatchObject({
      status: 403,
      said: { error: { code: 'forbidden' } },
    });
    expect(api.requests).toHaveLength(before);
  });

  it('is protected by a 256-bit token per run, which is only in the fragment of the address', async () => {
    const other = await consoleOf(deploymentAt(api.url));
    expect(Buffer.from(tokenOf(served), 'base64url')).toHaveLength(32);
    expect(tokenOf(other)).not.toBe(tokenOf(served));
    expect(new URL(served.url)).toMatchObject({ hostname: '127.0.0.1', pathname: '/', search: '' });
  });

  it('returns its errors and a failing health report to the page unchanged', async () => {
    for (const body of ['{"error":{"code":"conflict","message":"m"}}', '{"status":"failing"}']) {
      api.answers({ status: 503, headers: { 'content-type': 'application/json', 'retry-after': '1' }, body });
      expect(await asPage(served, { path: '/api/v2/health' })).toMatchObject({
        status: 503,
        body,
        headers: { 'retry-after': '1', 'content-type': 'application/json' },
      });
    }
  });

  it.each<[string, StubAnswer, number, string]>([
    ['a missing permission', { status: 403, body: '{"message":"Forbidden"}' }, 403, 'forbidden'],
    [
      'an expired session',
      { status: 403, body: '{"message":"The security token included in the request is expired"}' },
      403,
      'credentials_expired',
    ],
    [
      'an expired token',
      {
        status: 401,
        headers: {
          'www-authenticate': 'Bearer error="invalid_token" error_description="the token has expired"',
        },
        body: '{"message":"Unauthorized"}',
      },
      401,
      'credentials_expired',
    ],
    ['a missing token', { status: 401, body: '{"message":"Unauthorized"}' }, 401, 'unauthorized'],
    ['throttling', { status: 429, body: '{"message":"Too Many Requests"}' }, 429, 'too_many_requests'],
    [
      'a failure of the function',
      { status: 500, body: '{"message":"Internal Server Error"}' },
      500,
      'unavailable',
    ],
    ['an error page of an intermediary', { status: 502, body: MARKUP }, 502, 'unavailable'],
    ['no response', 'hang_up', 502, 'unreachable'],
  ])('reports %s in the error format of the API', async (_, given, status, code) => {
    api.answers(given);
    const refused = await asPage(served, { path: '/api/v2/queues' });
    expect({ status: refused.status, said: jsonOf(refused) }).toMatchObject({
      status,
      said: { error: { code } },
    });
    expect(refused.headers['content-type']).toBe('application/json');
  });

  it('reports a timeout with status 504', () => {
    const over = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    expect(refusalFromFailure(over)).toMatchObject({ status: 504, code: 'timeout' });
  });

  it('is reported as unreachable if a response breaks off, so that no partial response is passed on', async () => {
    api.answers('cut_off');
    const refused = await asPage(served, { path: '/api/v2/queues' });
    expect({ status: refused.status, said: jsonOf(refused) }).toMatchObject({
      status: 502,
      said: { error: { code: 'unreachable' } },
    });
  });

  it('receives nothing if credentials are missing or expired, and the page gets the reason', async () => {
    for (const code of ['no_credentials', 'credentials_expired'] as const) {
      const failing = () => Promise.reject(new CredentialsProblem(code, 'renew them'));
      const without = await consoleOf(deploymentAt(api.url, failing));
      const before = api.requests.length;
      expect(jsonOf(await asPage(without, { path: '/api/v2/queues' }))).toEqual({
        error: { code, message: 'renew them' },
      });
      expect(api.requests).toHaveLength(before);
    }
  });
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
