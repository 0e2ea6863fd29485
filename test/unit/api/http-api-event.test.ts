import { describe, expect, it } from 'vitest';
import { httpApiAnswer, parseHttpApiEvent } from '../../../functions/api/http-api-event.ts';

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

const pathOf = (changes: Parameters<typeof event>[0]): string =>
  new URL(parseHttpApiEvent(event(changes)).request.url).pathname;

describe('an event of an HTTP API', () => {
  it('becomes a request with its method, path, query and body', async () => {
    const fields = { rawPath: '/v2/queues/a', rawQueryString: 'limit=1&marker=a%3D', body: '{"a":"ü"}' };
    const { request } = parseHttpApiEvent(event({ method: 'PUT', ...fields }));
    const { pathname, search } = new URL(request.url);
    expect([request.method, pathname, search]).toEqual(['PUT', '/v2/queues/a', '?limit=1&marker=a%3D']);
    expect(await request.text()).toBe('{"a":"ü"}');
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

  it('has its base64 body decoded', async () => {
    const body = Buffer.from([0, 255, 10]);
    const encoded = { body: body.toString('base64'), isBase64Encoded: true };
    const { request } = parseHttpApiEvent(event({ method: 'POST', ...encoded }));
    expect(Buffer.from(await request.arrayBuffer())).toEqual(body);
  });

  it('can be a GET with a body, which is ignored', () => {
    expect(parseHttpApiEvent(event({ body: '{}' })).request.method).toBe('GET');
  });

  it.each(['CONNECT', 'TRACE', 'TRACK'])('can have the method %s, which no route has', (method) => {
    expect(parseHttpApiEvent(event({ method })).request.method).toBe('OPTIONS');
  });

  it.each(['?', '#', '\\', ' ', '%25', 'ü'])('keeps a decoded %s inside its segment', (character) => {
    const { request } = parseHttpApiEvent(event({ rawPath: `/v2/queues/a${character}b/messages` }));
    const { pathname, search } = new URL(request.url);
    expect(pathname.split('/')).toHaveLength(5);
    expect(pathname.endsWith('b/messages')).toBe(true);
    expect(search).toBe('');
  });

  it.each(['/v2/queues/%6frders', '/v2/queues/orders/messages/50%/deliveries', '/v2/%71ueues/orders'])(
    'is not decoded twice: %s is the path that the caller was authorised for',
    (rawPath) => {
      expect(decodeURIComponent(pathOf({ rawPath }))).toBe(rawPath);
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
  it('has status, headers and text', async () => {
    const response = Response.json({ a: 1 }, { status: 201, headers: { location: '/x' } });
    expect(await httpApiAnswer(response)).toEqual({
      statusCode: 201,
      headers: { 'content-type': 'application/json', location: '/x' },
      body: '{"a":1}',
    });
  });

  it('can have no body', async () => {
    const nothing = { statusCode: 204, headers: {}, body: '' };
    expect(await httpApiAnswer(new Response(null, { status: 204 }))).toEqual(nothing);
  });
});

it.each([
  ['/v2/pull/orders/s-1/receive', 'Bearer phpull_x'],
  ['/v2/queues/orders', null],
])('authorization reaches the function only where it checks that itself: %s', (rawPath, seen) => {
  const headers = { authorization: 'Bearer phpull_x' };
  const { request } = parseHttpApiEvent(event({ method: 'POST', rawPath, headers }));
  expect(request.headers.get('authorization')).toBe(seen);
});

describe('the headers of a request', () => {
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };

  it('contain its trace, which messages pass on, and nothing else of the caller', () => {
    const headers = { ...trace, 'x-forwarded-host': 'evil.example' };
    const { request } = parseHttpApiEvent(event({ headers }));
    expect(Object.fromEntries(request.headers)).toEqual(trace);
  });

  it.each([
    ['/v2/pull/orders/s-1/receive', { authorization: 'Bearer \u0100' }],
    ['/v2/queues/orders/messages', { ...trace, traceparent: '\u0100' }],
  ])('do not fail the invocation if they are no header at all: %s', (rawPath, headers) => {
    const { request } = parseHttpApiEvent(event({ method: 'POST', rawPath, headers }));
    expect(Object.fromEntries(request.headers)).toEqual({});
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
