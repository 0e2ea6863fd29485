import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { verifyWebhook } from '../../../client/verify.ts';
import { healthSchema, homeSchema } from '../../../functions/api/service/routes.ts';
import { openRoutes } from '../../../shared/config/open-routes.ts';
import { openedSecrets, signedRequest } from '../../../shared/steps/sign-request.ts';
import { aMessage } from '../../support/builders.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { apiUnderTest, CALLER, faultOf, faultsByDescription, NOON, PUBLIC_URL } from './api-under-test.ts';

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

describe('GET /v2/ping', () => {
  it('answers 204 without a body', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', '/v2/ping')).toMatchObject({ status: 204, body: undefined });
  });
});

describe('GET /v2', () => {
  it('lists every path with its methods', async () => {
    const { call } = apiUnderTest();
    const { status, body } = await call('GET', '/v2');
    expect(status).toBe(200);
    const { resources } = homeSchema.parse(body);
    expect(resources['/v2/queues/{queue}']).toEqual({
      'href-template': '/v2/queues/{queue}',
      hints: { allow: ['PUT', 'PATCH', 'GET', 'DELETE'] },
    });
    expect(Object.keys(resources)).toEqual(
      expect.arrayContaining(['/v2', '/v2/ping', '/v2/queues/{queue}/subscriptions/{subscription}/confirm']),
    );
  });
});

describe('GET /v2/health', () => {
  it('shows passing checks, the numbers of messages in queues, and the overdue retries', async () => {
    const { call } = apiUnderTest();
    const { status, body } = await call('GET', '/v2/health');
    expect(status).toBe(200);
    expect(healthSchema.parse(body)).toEqual({
      status: 'ok',
      checks: { subscriptionsTable: 'ok', deliveriesTable: 'ok', queues: 'ok' },
      queues: { ingress: 0, ingressDeadLetters: 2 },
      delayed: { ingress: 4, ingressDeadLetters: 0 },
      overdue: 0,
      retentionDays: 30,
    });
  });

  it('counts retries as overdue after the time that reconcile waits', async () => {
    const { dependencies, time } = apiUnderTest();
    const asked: [number, number][] = [];
    const overdue = {
      key: { queue: 'orders', messageId: 'm', subscriptionId: 's', bucket: 0 },
      overdueAt: 0,
    };
    const { call } = apiUnderTest({
      deliveries: {
        ...dependencies.deliveries,
        overdue: (...given) => {
          asked.push(given);
          return Promise.resolve([overdue, overdue]);
        },
      },
    });
    expect((await call('GET', '/v2/health')).body).toMatchObject({ overdue: 2 });
    expect(asked).toEqual([[time.now - 30_000, 1_000]]);
  });

  const fault = new Error('table posthaste-secret-name is gone');
  const fails = () => Promise.reject(fault);

  it.each([
    [
      'subscriptionsTable',
      (api: ReturnType<typeof apiUnderTest>) => ({ registry: { ...api.registry, findQueue: fails } }),
      [],
    ],
    [
      'deliveriesTable',
      (api: ReturnType<typeof apiUnderTest>) => ({ messageRecords: { ...api.messageRecords, find: fails } }),
      ['overdue'],
    ],
    [
      'deliveriesTable',
      (api: ReturnType<typeof apiUnderTest>) => ({
        deliveries: { ...api.dependencies.deliveries, overdue: fails },
      }),
      ['overdue'],
    ],
    ['queues', () => ({ queueDepths: { approximate: fails } }), ['queues']],
  ])('answers 503 if %s cannot be read, and only logs the reason', async (check, broken, absent) => {
    const faults: unknown[] = [];
    const { call } = apiUnderTest({
      ...broken(apiUnderTest()),
      reportFault: (...reported) => faults.push(reported),
    });
    const { status, body } = await call('GET', '/v2/health');
    expect(status).toBe(503);
    const health = healthSchema.parse(body);
    expect(health.status).toBe('failing');
    expect(Object.entries(health.checks).filter(([, state]) => state === 'failing')).toEqual([
      [check, 'failing'],
    ]);
    for (const field of absent) expect(health).not.toHaveProperty(field);
    expect(JSON.stringify(body)).not.toContain('secret-name');
    expect(faults).toEqual([[fault, CALLER]]);
  });
});

const ONE = '/v2/queues/orders/subscriptions/id-1';
const JWKS = `${ONE}/jwks.json`;

const jwks = z.object({ keys: z.array(z.looseObject({ x: z.string(), kid: z.string() })) });

const subscribed = async () => {
  const api = apiUnderTest();
  await api.call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://hooks.example/orders' });
  const rotate = (body: object) => api.call('POST', `${ONE}/secret/rotate`, body);
  /** As in docs/api.md#public-keys. */
  const publicKeys = async (): Promise<string[]> =>
    jwks
      .parse((await api.call('GET', JWKS)).body)
      .keys.map(({ x }) => `whpk_${Buffer.from(x, 'base64url').toString('base64')}`);
  const signed = async () => {
    const subscription = await api.registry.findSubscription('orders', 'id-1');
    if (subscription === undefined) throw new Error('The subscription is not on record');
    const secrets = await openedSecrets(api.secrets, subscription, api.time.now);
    const payload = { kind: 'rendered', body: Buffer.from('{}') } as const;
    return signedRequest(aMessage(), payload, subscription, {
      secrets,
      startedAt: Date.now(),
      userAgent: 'Posthaste/test',
    });
  };
  return { ...api, rotate, publicKeys, signed };
};

describe('GET …/jwks.json', () => {
  it('has the public key that verifies requests, for caches, without a private part', async () => {
    const { call, rotate, publicKeys, signed } = await subscribed();
    const rotated = await rotate({ type: 'v1a', graceSeconds: 0 });
    expect(rotated.body).toMatchObject({ publicKey: (await publicKeys())[0] });
    const { body, headers } = await signed();
    expect(verifyWebhook(body, headers, await publicKeys())).toMatchObject({ id: aMessage().id });
    const answer = await call('GET', JWKS);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(Object.keys(jwks.parse(answer.body).keys[0] ?? {}).sort()).toEqual([
      'alg',
      'crv',
      'kid',
      'kty',
      'use',
      'x',
    ]);
  });

  it('has all keys in force during a rotation, the current one first', async () => {
    const { rotate, publicKeys, time } = await subscribed();
    const keyOf = z.object({ publicKey: z.string() });
    const first = keyOf.parse((await rotate({ type: 'v1a', graceSeconds: 0 })).body).publicKey;
    const second = keyOf.parse((await rotate({ type: 'v1a', graceSeconds: 60 })).body).publicKey;
    expect(await publicKeys()).toEqual([second, first]);
    time.now = NOON + 60_000;
    expect(await publicKeys()).toEqual([second]);
  });

  it('answers the same 404 for a subscription without public keys as for one that does not exist', async () => {
    const { call, rotate } = await subscribed();
    const unknown = await call('GET', '/v2/queues/none/subscriptions/none/jwks.json');
    expect(unknown.status).toBe(404);
    const ask = async (path: string) => {
      const { status, body } = await call('GET', path);
      return { status, body };
    };
    const { status, body } = unknown;
    expect(await ask(JWKS)).toEqual({ status, body });
    await rotate({ type: 'v1a' });
    expect((await ask(JWKS)).status).toBe(200);
    for (const path of [
      JWKS.replace('orders', 'bills'),
      JWKS.replace('orders', 'a%20b'),
      JWKS.replace('id-1', 'a%20b'),
    ])
      expect(await ask(path)).toEqual({ status, body });
    await call('DELETE', ONE);
    expect(await ask(JWKS)).toEqual({ status, body });
  });
});
