import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { AwsV4Signer } from 'aws4fetch';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ApiAccess, findApi } from '../../../cli/api/api-access.ts';
import { startSigningProxy } from '../../../cli/commands/proxy/proxy.ts';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { awsStub, type AwsStub } from '../../support/aws-stub.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { requestLoopback, type LoopbackResponse, type LoopbackRequest } from './loopback-request.ts';
import { posthaste, apiEnvironment } from './run-command.ts';
import { isSigned } from './stub-api.ts';

const KEYS = { accessKeyId: 'test', secretAccessKey: 'test', service: 'execute-api', region: 'us-east-1' };

const proxyTo = async (apiUrl: string): Promise<LoopbackServer> => {
  const authorize: ApiAccess['authorize'] = async (call) =>
    (await new AwsV4Signer({ ...KEYS, ...call }).sign()).headers;
  const started = await startSigningProxy({ name: 'a test', apiUrl, isLocal: false, authorize });
  onTestFinished(started.close);
  return started;
};

let api: AwsStub;
let proxy: LoopbackServer;
beforeEach(async () => {
  api = await awsStub(({ path }) => ({
    status: path.startsWith('/v2/queues/new') ? 201 : 200,
    headers: { 'content-type': 'application/json', location: '/v2/queues/new', 'set-cookie': 'a=b' },
    body: '{"queues":[]}',
  }));
  onTestFinished(api.close);
  proxy = await proxyTo(api.config.endpoint);
});

const ask = ({ path = '/v2/queues', ...asked }: LoopbackRequest): Promise<LoopbackResponse> =>
  requestLoopback(proxy.port, { path, ...asked });

describe('the signing proxy', () => {
  it('signs and forwards a request byte for byte, without headers that identify the caller', async () => {
    const body = '{ "a": 1.0 }';
    const path = '/v2/queues/new?x=%20y&x=1';
    const kept = { 'content-type': 'application/json', 'client-id': 'c' };
    const headers = { ...kept, authorization: 'Bearer x', cookie: 'c=d' };
    const answer = await ask({ method: 'PUT', path, headers, body });
    expect(answer).toMatchObject({ status: 201, body: '{"queues":[]}' });
    expect(answer.headers).toMatchObject({ location: '/v2/queues/new', 'x-content-type-options': 'nosniff' });
    expect(answer.headers['set-cookie']).toBeUndefined();

    const [seen] = api.requests;
    if (seen === undefined) throw new Error('nothing was forwarded');
    expect(seen).toMatchObject({ method: 'PUT', path, body, headers: kept });
    expect(seen.headers.cookie).toBeUndefined();
    expect(await isSigned(api.config.endpoint, seen)).toBe(true);
  });

  it.each<[string, LoopbackRequest]>([
    ['a host name that was rebound to this machine', { headers: { host: 'evil.example' } }],
    ['a page of another origin', { method: 'POST', headers: { origin: 'https://evil.example' }, body: '{}' }],
  ])('refuses %s, and forwards nothing', async (_, asked) => {
    const answer = await ask(asked);
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'forbidden' } });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect(api.requests).toEqual([]);
  });

  it('serves requests that the user typed, and requests of the same origin', async () => {
    const { host } = new URL(proxy.url);
    expect((await ask({ headers: { 'sec-fetch-site': 'none' } })).status).toBe(200);
    const sameOrigin = { 'sec-fetch-site': 'same-origin', origin: `http://${host}` };
    expect((await ask({ method: 'POST', headers: sameOrigin, body: '{}' })).status).toBe(200);
  });

  it.each(['/v2/queues/a/../b', '/v2/queues/%2e%2E/b', '//evil.example/', 'http://evil.example/', '/a\\b'])(
    'refuses the path %s, which URL parsing would change',
    async (path) => {
      expect((await ask({ path })).status).toBe(400);
      expect(api.requests).toEqual([]);
    },
  );

  it('drops the body of a GET request', async () => {
    expect(await ask({ headers: { 'content-length': '2' }, body: '{}' })).toMatchObject({ status: 200 });
    expect(api.requests[0]).toMatchObject({ method: 'GET', path: '/v2/queues', body: '' });
  });

  it('refuses a method that fetch cannot send', async () => {
    const { status, headers } = await ask({ method: 'TRACE' });
    expect(status).toBe(405);
    expect(headers['allow']).toContain('PATCH');
    expect(api.requests).toEqual([]);
  });

  it('refuses a body above the limit of API Gateway', async () => {
    const body = Buffer.alloc(10 * 1024 * 1024 + 1);
    const answer = await ask({ method: 'POST', body }).catch((error: unknown) => error);
    // If the proxy closes before the whole body is sent, the caller may see a connection error instead.
    if (!(answer instanceof Error)) expect(answer).toMatchObject({ status: 413 });
    expect(api.requests).toEqual([]);
  });

  it('listens on loopback as a command, and exits with status 0 on Ctrl-C', async () => {
    const run = await posthaste('proxy --json', {
      env: apiEnvironment(api.config.endpoint),
      onStart: ({ stdout, interrupt }) => {
        stdout.once('data', (data: Buffer) => {
          const { url } = JSON.parse(data.toString()) as { url: string };
          void fetch(`${url}/v2/queues`).then(({ status }) => {
            if (status === 200) interrupt();
          });
        });
      },
    });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toMatch(/^\{"url":"http:\/\/127\.0\.0\.1:\d+"\}\n$/);
  });

  it('finds the API by POSTHASTE_API_URL, and refuses an invalid URL', async () => {
    const found = findApi({}, { POSTHASTE_API_URL: 'ftp://example.com' });
    await expect(found).rejects.toThrow('POSTHASTE_API_URL must be an http or https URL');
  });

  it('keeps working after a caller disconnects before the API answers, also if that request times out later', async () => {
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const limits: AbortController[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const limit = new AbortController();
      limits.push(limit);
      return limit.signal;
    });
    const held: ServerResponse[] = [];
    const slow = createServer((request, response) => {
      if (request.url === '/held') held.push(response);
      else response.end('{}');
    });
    const { port } = await proxyTo(`http://127.0.0.1:${await listen(slow, '127.0.0.1')}`);
    onTestFinished(() => closeServer(slow));
    const isServed = async () => (await requestLoopback(port, { path: '/next' })).status === 200;

    const caller = connect(port, '127.0.0.1');
    caller.write(`GET /held HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`);
    await once(slow, 'request');
    caller.destroy();
    // A further request shows that the proxy has processed the disconnect, or the start of the response.
    expect(await isServed()).toBe(true);
    held[0]?.writeHead(200, { 'content-length': '100' }).write('{"queues":');
    expect(await isServed()).toBe(true);
    limits[0]?.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    expect(await isServed()).toBe(true);
  });
});
