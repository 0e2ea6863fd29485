import { describe, expect, it } from 'vitest';
import { answerHttpApi, parseHttpApiEvent } from '../../../functions/api/http-api-event.ts';
import { jsonAnswer } from '../../../functions/api/route.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { apiUnderTest } from './api-under-test.ts';

const event = (changes: { method?: string; authorizer?: unknown; [field: string]: unknown } = {}) => {
  const { method = 'GET', authorizer, ...fields } = changes;
  return {
    version: '2.0',
    rawPath: '/v2/queues',
    rawQueryString: '',
    headers: { 'client-id': 'c7', 'x-project-id': 'p1', 'x-odd': 'ü' },
    isBase64Encoded: false,
    requestContext: { requestId: 'request-1', stage: '$default', http: { method }, authorizer },
    ...fields,
  };
};

const pathOf = (changes: Parameters<typeof event>[0]): string => parseHttpApiEvent(event(changes)).path;

describe('an event of an HTTP API', () => {
  it('becomes a request with its method, path, query and body', () => {
    const fields = {
      rawPath: '/v2/queues/a',
      rawQueryString: 'limit=1&marker=a%3D+b&limit=2&=&&x',
      body: 'ü',
    };
    expect(parseHttpApiEvent(event({ method: 'PUT', ...fields }))).toMatchObject({
      method: 'PUT',
      path: '/v2/queues/a',
      query: { limit: '1', marker: 'a= b', x: '' },
      body: Buffer.from('ü'),
    });
  });

  it.each([
    '/v2/queues/orders/../payments',
    '/v2/queues/orders/%2e%2e/payments',
    '/v2/queues/orders/.%2E/payments',
    '/v2/queues/./payments',
    '/v2/queues/or\tders',
    '/v2/queues/',
    '/v2/queues/orders/',
    '/v2//queues',
    '//v2/queues',
  ])('matches no route by the non-canonical path %s', (rawPath) => {
    expect(pathOf({ method: 'DELETE', rawPath })).toBe('/unrouted');
  });

  it('can request the home document with the path of python-zaqarclient', () => {
    expect(pathOf({ rawPath: '/v2/' })).toBe('/v2');
  });

  it.each(['/v2/queues/a..b', '/v2/queues/..a', '/v2/queues/a.b'])('keeps the path %s', (rawPath) => {
    expect(pathOf({ rawPath })).toBe(rawPath);
  });

  it('has its base64 body decoded', () => {
    const body = Buffer.from([0, 255, 10]);
    const encoded = { body: body.toString('base64'), isBase64Encoded: true };
    expect(parseHttpApiEvent(event({ method: 'POST', ...encoded })).body).toEqual(body);
  });

  it.each(['?', '#', '\\', ' ', '%25', 'ü', '%6f', '50%', ':'])(
    'is not decoded twice: a segment with %s is the one that the caller was authorised for',
    (text) => {
      const rawPath = `/v2/queues/a${text}b/messages`;
      expect(pathOf({ rawPath })).toBe(rawPath);
    },
  );

  it.each([
    ['an IAM caller', { iam: { userArn: 'arn:aws:iam::1:user/ada' } }, 'arn:aws:iam::1:user/ada'],
    ['a token', { jwt: { claims: { sub: 'ada' }, scopes: null } }, 'ada'],
    ['IAM without an ARN', { iam: { userArn: null } }, 'anonymous'],
    ['a null authorizer', null, 'anonymous'],
    ['no authorizer', undefined, 'anonymous'],
  ])('has the caller of %s', (_name, authorizer, principal) => {
    expect(parseHttpApiEvent(event({ authorizer })).caller).toEqual({ principal, requestId: 'request-1' });
  });

  it('is refused if it has another form', () => {
    expect(() => parseHttpApiEvent({ Records: [] })).toThrow('rawPath');
  });
});

describe('an answer to an HTTP API', () => {
  it.each([
    [
      'GET',
      jsonAnswer({ a: 1 }, 201, { location: '/x' }),
      { statusCode: 201, headers: { 'content-type': 'application/json', location: '/x' }, body: '{"a":1}' },
    ],
    [
      'HEAD',
      { body: 'a', headers: { 'content-type': 'text/plain' } },
      { statusCode: 200, headers: { 'content-type': 'text/plain' }, body: '' },
    ],
    ['GET', { status: 204 }, { statusCode: 204, headers: {}, body: '' }],
  ])('has status, headers and text; none for HEAD: %s %o', async (method, answer, sent) => {
    const api = { routes: () => Promise.resolve([]), answer: () => Promise.resolve(answer) };
    expect(await answerHttpApi(api, event({ method }))).toEqual(sent);
  });
});

it.each([
  ['/v2/pull/orders/s-1/receive', 'Bearer phpull_x'],
  ['/v2/queues/orders', undefined],
])('authorization reaches the function only where it checks that itself: %s', (rawPath, seen) => {
  const headers = { authorization: 'Bearer phpull_x' };
  const request = parseHttpApiEvent(event({ method: 'POST', rawPath, headers }));
  expect(request.headers.authorization).toBe(seen);
});

describe('the headers of a request', () => {
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };

  it('contain its trace, which messages pass on, and nothing else of the caller', () => {
    const headers = { ...trace, 'x-forwarded-host': 'evil.example' };
    expect(parseHttpApiEvent(event({ headers })).headers).toEqual(trace);
  });

  it('contain no trace that is no header text', () => {
    const { headers } = parseHttpApiEvent(event({ headers: { ...trace, traceparent: '\u0100' } }));
    expect(headers).toEqual({});
  });
});

describe('the API answers', () => {
  const answer = (changes: Parameters<typeof event>[0]) =>
    answerHttpApi(wholeApi(apiUnderTest().dependencies), event(changes));

  it.each(['OPTIONS', 'CONNECT', 'TRACE', 'get', 'A B'])(
    'a request with the method %s, which no route has',
    async (method) => {
      const refused = { statusCode: 405, headers: { allow: 'PUT, PATCH, GET, HEAD, DELETE' } };
      expect(await answer({ method, rawPath: '/v2/queues/orders' })).toMatchObject(refused);
      expect(await answer({ method, rawPath: '/v2/nothing' })).toMatchObject({ statusCode: 404 });
    },
  );

  it('a GET, whose body it does not read', async () => {
    expect(await answer({ rawPath: '/v2/queues', body: '{' })).toMatchObject({ statusCode: 200 });
  });

  it('a request whose authorization is no header text', async () => {
    const headers = { authorization: 'Bearer \u0100' };
    const fields = { rawPath: '/v2/pull/orders/s-1/receive', headers };
    expect(await answer({ method: 'POST', ...fields })).toMatchObject({ statusCode: 401 });
  });

  it('a path that differs from that of a route in a dot', async () => {
    expect(await answer({ rawPath: '/v2/openapi.json' })).toMatchObject({ statusCode: 200 });
    expect(await answer({ rawPath: '/v2/openapi-json' })).toMatchObject({ statusCode: 404 });
  });
});

describe('a request by a route that has a name', () => {
  const by = (routeKey: string, rawPath: string): string => pathOf({ routeKey, rawPath });

  it.each([
    ['GET /v2/ping', '/v2/ping'],
    [
      'GET /v2/queues/{queue}/subscriptions/{subscription}/confirm',
      '/v2/queues/orders/subscriptions/id-1/confirm',
    ],
    ['POST /v2/credentials/{queue}', '/v2/credentials/orders'],
  ])('reaches the path of the route %s', (routeKey, path) => {
    expect(by(routeKey, path)).toBe(path);
  });

  it.each([
    '/v2/queues',
    '/v2/queues/orders/messages',
    '/v2/ping/',
    '/v2/queues/orders/subscriptions/a/b/confirm',
    '/v2/queues/orders/x/subscriptions/a/confirm',
    '/v2/queues/orders/subscriptions/id-1/confirm/',
    '/x/v2/ping',
    '/v2/credentials/orders',
  ])('reaches no other path: %s', (path) => {
    expect(by('GET /v2/ping', path)).toBe('/unrouted');
  });

  it('that is not known reaches nothing', () => {
    expect(by('POST /v2/credentials/{other}', '/v2/credentials/orders')).toBe('/unrouted');
  });
});

const DOMAIN = 'abc123.execute-api.us-east-1.amazonaws.com';

const from = {
  headers: { host: 'hooks.example:8443' },
  requestContext: {
    requestId: 'request-1',
    apiId: 'abc123',
    domainName: DOMAIN,
    http: { method: 'GET' },
  },
};

it.each([
  ['the domain of API Gateway, regardless of the Host header', undefined, `https://${DOMAIN}`],
  ['the configured URL', 'https://api.example/hooks', 'https://api.example/hooks'],
  [
    'one with the host and the id of the API in the place of both',
    'http://{host}/apis/{apiId}/$default',
    'http://hooks.example:8443/apis/abc123/$default',
  ],
])('the public URL of the API is %s', (_what, configured, publicUrl) => {
  expect(parseHttpApiEvent(event(from), configured)).toMatchObject({ publicUrl });
});
