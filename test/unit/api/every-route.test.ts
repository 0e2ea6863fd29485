import { describe, expect, it } from 'vitest';
import { apiUnderTest, CALLER, faultOf } from './api-under-test.ts';

const ROUTES = [
  ['PUT', '/v2/queues/{queue}'],
  ['GET', '/v2/queues/{queue}'],
  ['DELETE', '/v2/queues/{queue}'],
  ['PATCH', '/v2/queues/{queue}'],
  ['GET', '/v2/queues/{queue}/export'],
  ['POST', '/v2/credentials/{queue}'],
  ['POST', '/v2/queues/{queue}/import'],
  ['POST', '/v2/queues/{queue}/subscriptions'],
  ['GET', '/v2/queues/{queue}/subscriptions'],
  ['GET', '/v2/queues/{queue}/subscriptions/id-1'],
  ['DELETE', '/v2/queues/{queue}/subscriptions/id-1'],
  ['PUT', '/v2/queues/{queue}/subscriptions/id-1/confirm'],
  ['POST', '/v2/queues/{queue}/subscriptions/id-1/enable'],
  ['POST', '/v2/queues/{queue}/subscriptions/id-1/disable'],
  ['POST', '/v2/queues/{queue}/subscriptions/id-1/secret/rotate'],
  ['POST', '/v2/queues/{queue}/subscriptions/id-1/test'],
  ['POST', '/v2/queues/{queue}/messages'],
  ['GET', '/v2/queues/{queue}/messages/id-1'],
  ['GET', '/v2/queues/{queue}/messages/id-1/explain'],
  ['DELETE', '/v2/queues/{queue}/messages/id-1/body'],
  ['GET', '/v2/queues/{queue}/messages/id-1/deliveries'],
  ['POST', '/v2/queues/{queue}/recoveries'],
  ['GET', '/v2/queues/{queue}/recoveries'],
  ['GET', '/v2/queues/{queue}/recoveries/id-1'],
  ['DELETE', '/v2/queues/{queue}/recoveries/id-1'],
  ['GET', '/v2/queues/{queue}/recoveries/id-1/outcomes'],
  ['GET', '/v2/queues/{queue}/subscriptions/id-1/deliveries'],
  ['GET', '/v2/queues/{queue}/messages/id-1/deliveries/id-2'],
  ['GET', '/v2/queues/{queue}/deliveries'],
  ['GET', '/v2/queues/{queue}/books'],
  ['GET', '/v2/queues/{queue}/statistics'],
] as const;

const BODIES = [
  ['PUT', '/v2/queues/orders'],
  ['POST', '/v2/queues/orders/subscriptions/id-1/secret/rotate'],
  ['POST', '/v2/queues/orders/subscriptions/id-1/test'],
  ['POST', '/v2/queues/orders/subscriptions'],
  ['POST', '/v2/queues/orders/messages'],
  ['POST', '/v2/queues/orders/recoveries'],
  ['PATCH', '/v2/queues/orders'],
  ['PATCH', '/v2/queues/orders/subscriptions/id-1'],
  ['PUT', '/v2/queues/orders/subscriptions/id-1/confirm'],
] as const;

const NOTHING = { queues: [], subscriptions: [], published: [], changes: [] };

const BAD_NAMES = ['x'.repeat(65), 'a%20b', 'a%2Fb', 'a%00', '%F0%9F%98%80', 'a:b', '%ff', 'a%2525'];

describe.each(ROUTES)('%s %s', (method, route) => {
  it('refuses each name that no queue can have', async () => {
    const { call, world } = apiUnderTest();
    const body = method === 'GET' ? undefined : {};
    for (const name of BAD_NAMES)
      expect([name, await call(method, route.replace('{queue}', name), body)]).toMatchObject([
        name,
        { status: 400, body: faultOf('invalid_request', 'queue') },
      ]);
    expect(await world()).toEqual(NOTHING);
  });
});

/** Each after what it is. */
const MALFORMED: readonly (readonly [string, string | Uint8Array])[] = [
  ['text that is not JSON', 'not json'],
  ['JSON that ends too early', '{"messages": ['],
  ['two JSON values', '{} {}'],
  ['a comment', '{} // fine?'],
  ['a trailing comma', '{"a": 1,}'],
  ['NaN', '{"a": NaN}'],
  ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
];

describe.each(BODIES)('%s %s', (method, path) => {
  it('answers invalid_json to a body that is not JSON', async () => {
    const { call, world } = apiUnderTest();
    for (const [what, body] of MALFORMED)
      expect([what, await call(method, path, body)]).toMatchObject([
        what,
        { status: 400, body: faultOf('invalid_json') },
      ]);
    expect(await world()).toEqual(NOTHING);
  });

  it('answers too_large to any body over 1 MiB', async () => {
    const { call, world } = apiUnderTest();
    expect(await call(method, path, ' '.repeat(1_048_577))).toMatchObject({
      status: 413,
      body: faultOf('too_large'),
    });
    expect(await world()).toEqual(NOTHING);
  });

  it('reads bodies of up to 1 MiB', async () => {
    const { call } = apiUnderTest();
    expect(await call(method, path, 'x'.repeat(1_048_576))).toMatchObject({ body: faultOf('invalid_json') });
  });
});

describe('a missing body', () => {
  it.each(BODIES.slice(3))('is not JSON to %s %s', async (method, path) => {
    const { call } = apiUnderTest();
    expect(await call(method, path)).toMatchObject({ status: 400, body: faultOf('invalid_json') });
  });
});

describe('an unknown route', () => {
  it.each([
    ['GET', '/unrouted'],
    ['GET', '/v3'],
    ['GET', '/v1/queues'],
    ['GET', '/v2/queues/orders/claims'],
    ['GET', '/v2/queues/orders/subscriptions/id-1/deliveries'],
    ['DELETE', '/v2/queues/orders/claims/id-1'],
    ['GET', '/v2/queues/'],
    ['DELETE', '/v2/queues/orders/'],
    ['GET', '/v2//queues'],
  ])('is answered with 404: %s %s', async (method, path) => {
    const { call } = apiUnderTest();
    expect(await call(method, path)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });

  it.each([
    ['POST', '/v2/queues', 'GET'],
    ['POST', '/v2/queues/orders', 'GET, PUT, PATCH, DELETE'],
    ['DELETE', '/v2/queues/orders/subscriptions', 'GET, POST'],
    ['PUT', '/v2/queues/orders/subscriptions/id-1', 'GET, PATCH, DELETE'],
    ['DELETE', '/v2/queues/orders/subscriptions/id-1/confirm', 'GET, POST, PUT'],
    ['GET', '/v2/queues/orders/subscriptions/id-1/enable', 'POST'],
    ['GET', '/v2/queues/orders/subscriptions/id-1/test', 'POST'],
    ['POST', '/v2/queues/orders/export', 'GET'],
    ['POST', '/v2/health', 'GET'],
    ['DELETE', '/v2/queues/orders/messages', 'GET, POST'],
    ['POST', '/v2/queues/orders/messages/id-1/deliveries', 'GET'],
    ['OPTIONS', '/v2/queues', 'GET'],
  ])('is answered with 405 if the path exists: %s %s', async (method, path, allowed) => {
    const { call } = apiUnderTest();
    const answer = await call(method, path);
    expect(answer).toMatchObject({ status: 405, body: faultOf('method_not_allowed') });
    expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed.split(', ').sort());
  });
});

describe('an internal error', () => {
  it('shows only the request id to the caller, and the details in the log', async () => {
    const fault = new Error('table posthaste-secret-name is throttled');
    const faults: unknown[] = [];
    const { registry } = apiUnderTest();
    const { call } = apiUnderTest({
      registry: { ...registry, findQueue: () => Promise.reject(fault) },
      reportFault: (...reported) => faults.push(reported),
    });
    const answer = await call('GET', '/v2/queues/orders');
    expect(answer).toMatchObject({ status: 500, body: faultOf('internal') });
    expect(JSON.stringify(answer.body)).toContain('request-1');
    expect(JSON.stringify(answer.body)).not.toContain('secret-name');
    expect(faults).toEqual([[fault, { ...CALLER, queue: 'orders' }]]);
  });

  it('is not reported for refused requests', async () => {
    const { call, faults } = apiUnderTest();
    await call('GET', '/v2/queues/orders');
    await call('GET', '/v2/queues?marker=x');
    await call('PUT', '/v2/queues/orders', 'not json');
    expect(faults).toEqual([]);
  });
});

describe('the audit trail', () => {
  it('has no entry for GET requests', async () => {
    const { call, changes } = apiUnderTest();
    for (const [method, path] of ROUTES.filter(([method]) => method === 'GET')) {
      await call(method, path.replace('{queue}', 'orders'));
    }
    expect(changes).toEqual([]);
  });
});
