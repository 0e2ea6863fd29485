import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { type ApiAccess, CredentialsProblem } from '../../../cli/api/api-access.ts';
import {
  type ConsoleTarget,
  deploymentTarget,
  startConsole,
} from '../../../cli/commands/console/console-server.ts';
import { readPage } from '../../../shared/adapters/page-files.ts';
import type { PageFiles } from '../../../shared/wire/page.ts';
import type { DeadLetterAccess } from '../../../cli/dead-letters/dead-letter-access.ts';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { refusalFromFailure } from '../../../cli/loopback/signed-request.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { DeadLetterQueue } from '../../../shared/ports/queues.ts';
import {
  consoleInfoSchema,
  deadLetterCountsSchema,
  deadLetterDetailSchema,
  deadLetterLookSchema,
  deadLetterResultSchema,
} from '../../../shared/wire/views/console.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';
import { inMemoryDeadLetterQueue, inMemoryWorkQueues } from '../../support/in-memory/in-memory-queues.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type LoopbackRequest, type LoopbackResponse, requestLoopback } from './loopback-request.ts';

const INFO = '/api-local/info';
const MARKUP = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

/** A deployment whose name is markup. */
const deploymentAt = (
  apiUrl: string,
  authorize: ApiAccess['authorize'] = () => Promise.resolve(new Headers({ authorization: 'signed' })),
): ConsoleTarget => ({
  kind: 'deployment',
  access: { name: MARKUP, apiUrl, region: 'us-east-1', isLocal: true, authorize },
  deadLetters: () => Promise.reject(new Error('no queue is expected')),
});

const aPage = async (): Promise<PageFiles> => {
  const folder = temporaryFolder();
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Posthaste</title>');
  await writeFile(join(folder, 'assets', 'index-AbCd1234.js'), 'export {};');
  return readPage(folder);
};

/** A running console with a page of two files. */
const consoleOf = async (target: ConsoleTarget): Promise<LoopbackServer> => {
  const started = await startConsole({ page: await aPage(), target });
  onTestFinished(started.close);
  return started;
};

const tokenOf = ({ url }: LoopbackServer): string => new URL(url).hash.replace('#token=', '');

/** Sends a request as the page does: with the token and the headers that a browser adds, unless one is empty. */
const asPage = (at: LoopbackServer, { headers, ...asked }: LoopbackRequest): Promise<LoopbackResponse> => {
  const all = Object.entries({
    authorization: `Bearer ${tokenOf(at)}`,
    'sec-fetch-site': 'same-origin',
    origin: `http://127.0.0.1:${at.port}`,
    host: `127.0.0.1:${at.port}`,
    ...headers,
  });
  const given = Object.fromEntries(all.filter(([, value]) => value !== ''));
  return requestLoopback(at.port, { ...asked, headers: given });
};

const jsonOf = ({ body }: LoopbackResponse): unknown => JSON.parse(body);

const refusal = z.object({ error: z.object({ code: z.string() }) });

/** The status and the code of an answer in the error format of the API. */
const refusedBy = async (answer: Promise<LoopbackResponse>): Promise<[number | undefined, string]> => {
  const response = await answer;
  return [response.status, refusal.parse(jsonOf(response)).error.code];
};

describe('the console', () => {
  let api: { url: string; requests: readonly StubRequest[] };
  /** The answer of the API to every request. */
  let answer: StubAnswer;
  let served: LoopbackServer;

  beforeEach(async () => {
    answer = {};
    const { config, requests, close } = await awsStub(() => answer);
    onTestFinished(close);
    api = { url: config.endpoint, requests };
    served = await consoleOf(deploymentAt(api.url));
  });

  describe('the page of the console', () => {
    const get = (path = '/', headers: Record<string, string> = {}) =>
      requestLoopback(served.port, { path, headers });

    it.each(['none', 'cross-site'])(
      'is served without a token to who types its address or follows a link: %s',
      async (site) => {
        const { status, headers, body } = await get('/', { 'sec-fetch-site': site });
        expect({ status, body }).toEqual({ status: 200, body: '<!doctype html><title>Posthaste</title>' });
        const type = 'text/html; charset=utf-8';
        expect(headers).toMatchObject({ 'content-type': type, 'cache-control': 'no-cache' });
      },
    );

    it('has security headers that allow only files from and calls to the same server', async () => {
      const { headers } = await get();
      expect(String(headers['content-security-policy']).split('; ')).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ]);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
    });

    it('lets browsers cache files with a hash in their names, and no others', async () => {
      const { status, headers } = await get('/assets/index-AbCd1234.js');
      expect({ status, ...headers }).toMatchObject({
        status: 200,
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'private, max-age=31536000, immutable',
      });
    });

    it.each([
      '/../package.json',
      '/..%2fpackage.json',
      '/index.html/',
      '/assets',
      '/favicon.ico',
      '//evil.example',
    ])('answers 404 for %s', async (path) => {
      expect((await get(path)).status).toBe(404);
    });

    it.each(['evil.example', 'evil.example:PORT', '127.0.0.1:1', '127.0.0.1'])(
      'is refused for a host name that was rebound to this machine, and for another port: %s',
      async (name) => {
        const asked = get('/', { host: name.replace('PORT', String(served.port)) });
        expect(await refusedBy(asked)).toEqual([403, 'forbidden']);
        expect((await asked).headers['content-security-policy']).toContain("default-src 'none'");
      },
    );

    it('is served at the name of this machine in any case', async () => {
      expect((await get('/', { host: `LOCALHOST:${served.port}` })).status).toBe(200);
    });

    it('refuses methods other than GET and HEAD', async () => {
      const refused = await requestLoopback(served.port, { method: 'POST', body: '{}' });
      expect(refused).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
    });
  });

  describe('the API behind the console', () => {
    const JSON_TYPE = { 'content-type': 'application/json' };

    it('receives the request of the page, signed and without the page’s token', async () => {
      answer = { status: 201, headers: { ...JSON_TYPE, 'set-cookie': 'a=b' }, body: '{"a":1}' };
      const body = '{ "b": 1.0 }';
      const taken = await asPage(served, { method: 'PUT', path: '/api/v2/queues/new?x=%20y', body });
      const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
      expect(taken).toMatchObject({ status: 201, body: '{"a":1}', headers });
      expect(taken.headers['set-cookie']).toBeUndefined();
      const [received] = api.requests;
      expect(received).toMatchObject({ method: 'PUT', path: '/v2/queues/new?x=%20y', body });
      expect(received?.headers.authorization).toBe('signed');
      expect(received?.headers.origin).toBeUndefined();
    });

    const TOKENLESS = { authorization: '' };
    const ORIGINLESS = { origin: '', 'sec-fetch-site': '' };
    const FOREIGN = { authorization: `Bearer ${'A'.repeat(43)}` };
    const evil = 'https://evil.example';

    it.each<[string, LoopbackRequest, number, string]>([
      ['a request without the token', { headers: TOKENLESS }, 401, 'token_refused'],
      ['a request with another token', { headers: FOREIGN }, 401, 'token_refused'],
      ['a request for another host name', { headers: { host: 'evil.example' } }, 403, 'forbidden'],
      ['a request of another origin', { headers: { origin: evil } }, 403, 'forbidden'],
      ['a request of a page without an origin', { headers: { origin: 'null' } }, 403, 'forbidden'],
      ['an image of another page', { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'forbidden'],
      ['a page on another port', { headers: { 'sec-fetch-site': 'same-site' } }, 403, 'forbidden'],
      ['a preflight request', { method: 'OPTIONS', headers: { origin: evil } }, 403, 'forbidden'],
      ['a change without an origin', { method: 'POST', headers: ORIGINLESS }, 403, 'forbidden'],
      ['a path that URL parsing would change', { path: '/api/v2/a/../b' }, 400, 'invalid_request'],
      ['a path outside the API', { path: '/api/../b' }, 400, 'invalid_request'],
      ['one for the console info without it', { path: INFO, headers: TOKENLESS }, 401, 'token_refused'],
      ['one for that at another host', { path: INFO, headers: { host: 'evil.example' } }, 403, 'forbidden'],
    ])('does not receive %s, even if the rest of the request is valid', async (_, asked, status, code) => {
      expect(await refusedBy(asPage(served, { path: '/api/v2/queues', ...asked }))).toEqual([status, code]);
      expect(api.requests).toEqual([]);
    });

    it('is protected by a 256-bit token per run, which is only in the fragment of the address', async () => {
      const other = await consoleOf(deploymentAt(api.url));
      expect(Buffer.from(tokenOf(served), 'base64url')).toHaveLength(32);
      expect(tokenOf(other)).not.toBe(tokenOf(served));
      expect(new URL(served.url)).toMatchObject({ hostname: '127.0.0.1', pathname: '/', search: '' });
    });

    it.each(['{"error":{"code":"conflict","message":"m"}}', '{"status":"failing"}'])(
      'returns its errors and a failing health report to the page unchanged: %s',
      async (body) => {
        answer = { status: 503, headers: { ...JSON_TYPE, 'retry-after': '1' }, body };
        expect(await asPage(served, { path: '/api/v2/health' })).toMatchObject(answer);
      },
    );

    const gateway = (status: number, message: string, headers = {}): StubAnswer => ({
      status,
      headers,
      body: JSON.stringify({ message }),
    });
    const expiredSession = gateway(403, 'The security token included in the request is expired');
    const EXPIRED = 'Bearer error="invalid_token" error_description="the token has expired"';
    const expiredToken = gateway(401, 'Unauthorized', { 'www-authenticate': EXPIRED });

    it.each<[string, StubAnswer, number, string]>([
      ['a missing permission', gateway(403, 'Forbidden'), 403, 'forbidden'],
      ['an expired session', expiredSession, 403, 'credentials_expired'],
      ['an expired token', expiredToken, 401, 'credentials_expired'],
      ['a missing token', gateway(401, 'Unauthorized'), 401, 'unauthorized'],
      ['throttling', gateway(429, 'Too Many Requests'), 429, 'too_many_requests'],
      ['a failure of the function', gateway(500, 'Internal Server Error'), 500, 'unavailable'],
      ['an error page of an intermediary', { status: 502, body: MARKUP }, 502, 'unavailable'],
      ['no response', 'hang_up', 502, 'unreachable'],
      ['a response that breaks off, of which no part is passed on', 'cut_off', 502, 'unreachable'],
    ])('reports %s in the error format of the API', async (_, given, status, code) => {
      answer = given;
      const refused = asPage(served, { path: '/api/v2/queues' });
      expect(await refusedBy(refused)).toEqual([status, code]);
      expect((await refused).headers['content-type']).toBe('application/json');
    });

    it('reports a timeout with status 504', () => {
      const over = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
      expect(refusalFromFailure(over)).toMatchObject({ status: 504, code: 'timeout' });
    });

    it.each(['no_credentials', 'credentials_expired'] as const)(
      'receives nothing without usable credentials, and the page gets the reason: %s',
      async (code) => {
        const failing = () => Promise.reject(new CredentialsProblem(code, 'renew them'));
        const without = await consoleOf(deploymentAt(api.url, failing));
        const error = { code, message: 'renew them' };
        expect(jsonOf(await asPage(without, { path: '/api/v2/queues' }))).toEqual({ error });
        expect(api.requests).toEqual([]);
      },
    );
  });

  describe('the console info for the page', () => {
    const infoOf = async (at = served) => consoleInfoSchema.parse(jsonOf(await asPage(at, { path: INFO })));

    it('names the deployment and its version, which may differ from that of the command', async () => {
      answer = { body: JSON.stringify({ openapi: '3.1.0', info: { version: '9.9.9' } }) };
      expect(await infoOf()).toEqual({
        deployment: MARKUP,
        region: 'us-east-1',
        version: '9.9.9',
        commandVersion: '0.1.0',
        command: 'npm run -s posthaste --',
        apiUrl: api.url,
        isLocal: true,
      });
      expect(api.requests.at(-1)).toMatchObject({ method: 'GET', path: '/v2/openapi.json' });
      const { headers } = await asPage(served, { path: INFO });
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    });

    it('knows no version if the API denies access, and leaves the reason to the requests of the page', async () => {
      answer = { status: 403, body: '{"message":"Forbidden"}' };
      const info = await infoOf();
      expect(info.version).toBeNull();
      expect(info).not.toHaveProperty('problem');
    });

    it('reports a missing deployment, and API requests are then refused with status 503', async () => {
      const none = await consoleOf({ kind: 'none', reason: 'no stack' });
      const problem = { code: 'no_deployment', message: 'no stack' };
      expect(await infoOf(none)).toMatchObject({ deployment: null, version: null, problem });
      const refused = await asPage(none, { path: '/api/v2/queues' });
      expect(refused.status).toBe(503);
      expect(jsonOf(refused)).toEqual({ error: problem });
    });

    it('tells a page whether its token is valid, without a request to the API', async () => {
      const asked = { method: 'HEAD', path: INFO };
      expect((await asPage(served, asked)).status).toBe(200);
      expect((await asPage(served, { ...asked, headers: { authorization: 'Bearer old' } })).status).toBe(401);
      expect(api.requests).toEqual([]);
    });
  });

  const idOf = (n: number) => `0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c0${n}`;

  const aDeadLetter = (n: number, reason: string, sentAt = Date.now() - 60_000) => ({
    id: idOf(n),
    sentAt,
    body: JSON.stringify({ queue: 'orders', id: `m${n}`, data: n }),
    attributes: { reason: { type: 'String', text: reason } },
  });

  /** A console whose ingress dead letters are in memory; the other queues are empty. */
  const withDeadLetters = async (
    over: Partial<DeadLetterQueue> = {},
    open?: () => Promise<DeadLetterAccess>,
  ) => {
    const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
    const ingress = inMemoryDeadLetterQueue(clock);
    ingress.put(aDeadLetter(0, 'queue_missing'), aDeadLetter(1, 'not_json'), aDeadLetter(2, 'not_json'));
    const workQueues = inMemoryWorkQueues();
    const access: DeadLetterAccess = {
      name: 'Posthaste',
      place: 'Posthaste, account 111122223333, us-east-1',
      portsOf: (which) => ({
        clock,
        deadLetters: which === 'ingress' ? { ...ingress, ...over } : inMemoryDeadLetterQueue(clock),
      }),
      workQueues,
      api: () => Promise.reject(new Problem('no API is expected')),
    };
    const target = {
      ...deploymentAt('http://127.0.0.1:9'),
      deadLetters: open ?? (() => Promise.resolve(access)),
    };
    const console = await consoleOf(target);
    const ask = (path: string, more: Partial<LoopbackRequest> = {}) =>
      asPage(console, { path: `/api-local/dead-letters${path}`, ...more });
    const post = async (path: string, ...ids: string[]) =>
      jsonOf(await ask(path, { method: 'POST', body: JSON.stringify({ ids }) }));
    return { ingress, workQueues, ask, post };
  };

  describe('the dead letters behind the console', () => {
    let there: Awaited<ReturnType<typeof withDeadLetters>>;
    beforeEach(async () => {
      there = await withDeadLetters();
    });

    it('are counted by queue', async () => {
      const { queues } = deadLetterCountsSchema.parse(jsonOf(await there.ask('')));
      expect(queues.map(({ which, visible, hidden }) => `${which} ${visible} ${hidden}`)).toEqual([
        'ingress 3 0',
        'delivery 0 0',
        'operation 0 0',
        'undeliverable 0 0',
      ]);
    });

    it('are listed by a filter, and are visible again', async () => {
      const look = async (filter: string) =>
        deadLetterLookSchema.parse(jsonOf(await there.ask(`/ingress?${filter}`)));
      expect(await look('reason=not_json&queue=orders')).toMatchObject({
        place: 'Posthaste, account 111122223333, us-east-1',
        ...{ total: 3, complete: true, hidden: 0 },
        deadLetters: [{ id: idOf(1) }, { id: idOf(2) }],
      });
      expect(await look('limit=1')).toMatchObject({ complete: false, deadLetters: [{ id: idOf(0) }] });
      expect(there.ingress.visible).toHaveLength(3);
    });

    it('are shown whole', async () => {
      const shown = deadLetterDetailSchema.parse(jsonOf(await there.ask(`/ingress/${idOf(1)}`)));
      const body = '{"queue":"orders","id":"m1","data":1}';
      expect(shown).toMatchObject({ body, attributes: { reason: 'not_json' } });
      expect(await there.ask('/ingress/nowhere')).toMatchObject({ status: 404 });
    });

    it('are redriven and deleted if they are chosen', async () => {
      const redriven = await there.post('/ingress/redrive', idOf(0));
      const none = { settled: {}, skipped: {}, missing: 0, hidden: 0 };
      expect(deadLetterResultSchema.parse(redriven)).toEqual({ handled: 1, ...none });
      expect(there.workQueues.sent).toMatchObject([{ to: 'ingress' }]);
      expect(await there.post('/ingress/delete', idOf(2), idOf(9))).toMatchObject({ handled: 1, missing: 1 });
      expect(there.ingress.visible).toEqual([idOf(1)]);
    });

    it('are skipped, with the reason, if dispatch could not read them', async () => {
      const skipped = { handled: 0, skipped: { not_json: 1 } };
      expect(await there.post('/ingress/redrive', idOf(1))).toMatchObject(skipped);
    });

    it.each(['redrive', 'delete'])(
      'take a %s also if they were sent later by a clock that is ahead',
      async (what) => {
        there.ingress.put(aDeadLetter(3, 'failed_repeatedly', Date.now() + 60_000));
        expect(await there.post(`/ingress/${what}`, idOf(3))).toMatchObject({ handled: 1, missing: 0 });
      },
    );

    const DELETE = { method: 'POST', body: JSON.stringify({ ids: [idOf(0)] }) };

    it.each<[number, string, Partial<LoopbackRequest>]>([
      [401, '/ingress/delete', { ...DELETE, headers: { authorization: '' } }],
      [403, '/ingress/delete', { ...DELETE, headers: { origin: 'https://evil.example' } }],
      [403, '/ingress/delete', { ...DELETE, headers: { origin: '' } }],
      [400, '/ingress/delete', { ...DELETE, body: '{"ids":[]}' }],
      [400, '/ingress/delete', { ...DELETE, body: JSON.stringify({ ids: [idOf(0).slice(0, 35)] }) }],
      [400, '/ingress/delete', { ...DELETE, body: JSON.stringify({ ids: [idOf(0)], all: true }) }],
      [400, '/ingress/delete', { ...DELETE, body: '{' }],
      [413, '/ingress/delete', { ...DELETE, body: ' '.repeat(100_001) }],
      [400, '/retry', {}],
      [400, '/ingress?limits=1', {}],
      [404, '/ingress/redrive/more', {}],
    ])(
      'are kept, with status %i, from a wrong request or one of others: %s %j',
      async (status, path, asked) => {
        expect(await there.ask(path, asked)).toMatchObject({ status });
        expect(there.ingress.ids).toHaveLength(3);
      },
    );
  });

  describe('dead letters that cannot be read are reported', () => {
    const named = (name: string) => Promise.reject(Object.assign(new Error('no'), { name }));

    it.each([
      ['a missing permission', 'AccessDenied', 403, 'sqs_forbidden'],
      ['another failure of SQS', 'ServiceUnavailable', 502, 'unavailable'],
    ])('for %s', async (_, name, status, code) => {
      const { ask } = await withDeadLetters({ receive: () => named(name) });
      expect(await refusedBy(ask('/ingress'))).toEqual([status, code]);
    });

    it('where only the address of the API is given, so that the queues found may not belong to it', async () => {
      const env = { POSTHASTE_API_URL: 'https://api.example.com', POSTHASTE_TOKEN: 'token' };
      const target = await deploymentTarget({}, { env, sleep: () => Promise.resolve() });
      const refused = await asPage(await consoleOf(target), { path: '/api-local/dead-letters/ingress' });
      expect(refused.body).toMatch(/"deployment_not_named".*name the deployment by --deployment/);
    });

    it('for a deployment that was not found', async () => {
      const { ask } = await withDeadLetters({}, () => Promise.reject(new Problem('no stack')));
      const error = { code: 'no_deployment', message: 'no stack' };
      expect(jsonOf(await ask('/ingress'))).toEqual({ error });
    });
  });
});
