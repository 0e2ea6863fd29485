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

describe('an event of an HTTP API', () => {
  it('becomes a request with its method, path, query and body', async () => {
    const { request } = parseHttpApiEvent(
      event({
        method: 'PUT',
        rawPath: '/v2/queues/a',
        rawQueryString: 'limit=1&marker=a%3D',
        body: '{"a":"ü"}',
      }),
    );
    const url = new URL(request.url);
    expect([request.method, url.pathname, url.search]).toEqual([
      'PUT',
      '/v2/queues/a',
      '?limit=1&marker=a%3D',
    ]);
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
  ])('leads nowhere by %s, which is not the one way to write its path', (rawPath) => {
    const { request } = parseHttpApiEvent(event({ method: 'DELETE', rawPath }));
    expect(new URL(request.url).pathname).toBe('/unrouted');
  });

  it("may ask for the home document as Zaqar's own client does", () => {
    const { request } = parseHttpApiEvent(event({ rawPath: '/v2/' }));
    expect(new URL(request.url).pathname).toBe('/v2');
  });

  it.each(['/v2/queues/a..b', '/v2/queues/..a', '/v2/queues/a.b'])('leaves %s as it is', (rawPath) => {
    const { request } = parseHttpApiEvent(event({ rawPath }));
    expect(new URL(request.url).pathname).toBe(rawPath);
  });

  it('gives a body in base64 as the bytes that it stands for', async () => {
    const body = Buffer.from([0, 255, 10]);
    const { request } = parseHttpApiEvent(
      event({ method: 'POST', body: body.toString('base64'), isBase64Encoded: true }),
    );
    expect(Buffer.from(await request.arrayBuffer())).toEqual(body);
  });

  it('may be a GET with a body, which nobody reads', () => {
    expect(parseHttpApiEvent(event({ body: '{}' })).request.method).toBe('GET');
  });

  it.each(['CONNECT', 'TRACE', 'TRACK'])('may be a %s, which no route takes', (method) => {
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
    'is decoded no second time: %s is the path that the caller was authorised for',
    (rawPath) => {
      const { request } = parseHttpApiEvent(event({ rawPath }));
      expect(decodeURIComponent(new URL(request.url).pathname)).toBe(rawPath);
    },
  );

  it.each([
    ['an IAM caller', { iam: { userArn: 'arn:aws:iam::1:user/ada' } }, 'arn:aws:iam::1:user/ada'],
    ['a token', { jwt: { claims: { sub: 'ada' }, scopes: null } }, 'ada'],
    ['nobody that it knows of', { iam: { userArn: null } }, 'anonymous'],
    ['nobody', null, 'anonymous'],
    ['nothing', undefined, 'anonymous'],
  ])('names as caller %s', (_name, authorizer, principal) => {
    expect(parseHttpApiEvent(event({ authorizer })).caller).toEqual({ principal, requestId: 'request-1' });
  });

  it('is told from anything else', () => {
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

  it('may have no body', async () => {
    expect(await httpApiAnswer(new Response(null, { status: 204 }))).toEqual({
      statusCode: 204,
      headers: {},
      body: '',
    });
  });
});

describe('a request by a route that authorises nobody', () => {
  const by = (routeKey: string, rawPath: string): string =>
    new URL(parseHttpApiEvent(event({ routeKey, rawPath })).request.url).pathname;

  it.each([
    ['GET /v2/ping', '/v2/ping'],
    [
      'GET /v2/queues/{queue}/subscriptions/{subscription}/confirm',
      '/v2/queues/orders/subscriptions/id-1/confirm',
    ],
  ])('reaches what the route %s is for', (routeKey, path) => {
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
  ])('reaches nothing else: %s', (path) => {
    expect(by('GET /v2/ping', path)).toBe('/unrouted');
  });
});

describe('where the API is reached from outside', () => {
  const from = {
    headers: { host: 'hooks.example:8443' },
    requestContext: {
      requestId: 'request-1',
      apiId: 'abc123',
      domainName: 'abc123.execute-api.us-east-1.amazonaws.com',
      http: { method: 'GET' },
    },
  };

  it("is its own domain, whatever a caller's Host header says", () => {
    expect(parseHttpApiEvent(event(from)).publicUrl).toBe(
      'https://abc123.execute-api.us-east-1.amazonaws.com',
    );
  });

  it('is what the deployment says', () => {
    expect(parseHttpApiEvent(event(from), 'https://api.example/hooks').publicUrl).toBe(
      'https://api.example/hooks',
    );
  });

  it('may be said with the host and the API that were called', () => {
    const { publicUrl } = parseHttpApiEvent(event(from), 'http://{host}/apis/{apiId}/$default');
    expect(publicUrl).toBe('http://hooks.example:8443/apis/abc123/$default');
  });
});
