import { describe, expect, it } from 'vitest';
import type { ApiSettings } from '../../../functions/api/dependencies.ts';
import { answerHttpApi } from '../../../functions/api/http-api-event.ts';
import { subscriberFault } from '../../../shared/adapters/http/address-guard.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const SCOPES = {
  read: 'hooks:read',
  publish: 'hooks:publish',
  manage: 'hooks:manage',
  credentials: 'hooks:secrets',
};
const ONE = '/v2/queues/orders/subscriptions/id-1';

const POST = JSON.stringify({ messages: [{ body: 1 }] });

/** Requests, with the permission that each needs. */
const REQUESTS: [keyof typeof SCOPES, string, string, string?][] = [
  ['read', 'GET', '/v2/queues/orders'],
  ['read', 'HEAD', ONE],
  ['read', 'GET', '/v2/queues/orders/export'],
  ['publish', 'POST', '/v2/queues/orders/messages', POST],
  ['manage', 'PATCH', ONE, '{"ttl":60}'],
  ['manage', 'POST', `${ONE}/secret/rotate`],
  ['manage', 'PUT', '/v2/queues/orders', '{}'],
  ['credentials', 'POST', '/v2/credentials/orders'],
];

const apiWith = async (rules: Partial<ApiSettings>) => {
  const { call, dependencies, world } = apiUnderTest();
  await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://hooks.example/' });
  const api = wholeApi({ ...dependencies, settings: { ...dependencies.settings, ...rules } });
  const ask = async (
    claims: Record<string, string> | undefined,
    method: string,
    rawPath: string,
    body = '',
  ) => {
    const authorizer = claims && { jwt: { claims: { sub: 'ada', ...claims } } };
    const event = { rawPath, body, requestContext: { requestId: 'r', http: { method }, authorizer } };
    const answer = await answerHttpApi(api, event);
    return { status: answer.statusCode, body: answer.body };
  };
  return { ask, world };
};

describe('a token, if scopes are set', () => {
  it.each(REQUESTS)('needs the scope to %s: %s %s', async (permission, method, path, body) => {
    const { ask, world } = await apiWith({ jwtScopes: SCOPES });
    const before = await world();
    const others = Object.values(SCOPES).filter((scope) => scope !== SCOPES[permission]);
    for (const scope of ['', others.join(' '), `${SCOPES[permission]}s`]) {
      expect(await ask({ scope }, method, path, body)).toMatchObject({ status: 403 });
    }
    expect(await ask(undefined, method, path, body)).toMatchObject({ status: 403 });
    expect(await world()).toEqual(before);
    for (const claims of [{ scope: `x ${SCOPES[permission]}` }, { scp: `[x ${SCOPES[permission]}]` }]) {
      expect((await ask(claims, method, path, body)).status).toBeLessThan(300);
    }
  });

  it('is refused with the missing scope, and is not needed for open routes', async () => {
    const { ask } = await apiWith({ jwtScopes: SCOPES });
    const { body } = await ask({ scope: 'x' }, 'GET', '/v2/queues/orders');
    expect(JSON.parse(body)).toEqual({
      error: { code: 'forbidden', message: 'the token lacks the scope hooks:read' },
    });
    expect(await ask(undefined, 'GET', '/v2/ping')).toMatchObject({ status: 204 });
  });
});

describe('a token, if a claim for queues is set', () => {
  const rules = { jwtQueuesClaim: 'queues' };

  it.each(REQUESTS)(
    'gives access only to the queues that it names: %s, %s %s',
    async (_permission, method, path, body) => {
      const { ask, world } = await apiWith(rules);
      const before = await world();
      for (const queues of ['', 'order', 'orders2', '[payments returns]'])
        expect(await ask({ queues }, method, path, body)).toMatchObject({ status: 403 });
      expect(await ask({}, method, path, body)).toMatchObject({ status: 403 });
      expect(await world()).toEqual(before);
      for (const queues of ['orders', '[payments orders]', 'payments,orders', '*'])
        expect((await ask({ queues }, method, path, body)).status).toBeLessThan(300);
    },
  );

  it.each(['/v2/queues', '/v2/health'])(
    'must name all queues for routes about all queues: %s',
    async (path) => {
      const { ask } = await apiWith(rules);
      expect(await ask({ queues: 'orders' }, 'GET', path)).toMatchObject({ status: 403 });
      expect(await ask({ queues: '*' }, 'GET', path)).toMatchObject({ status: 200 });
    },
  );
});

it('accepts callers without a token if no rules are set', async () => {
  const { ask } = await apiWith({});
  expect(await ask(undefined, 'GET', '/v2/queues')).toMatchObject({ status: 200 });
});

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const IMPORT = '/v2/queues/orders/import';

const allowed = {
  allowedAddresses: ['127.0.0.0/8', '169.254.0.0/16'],
  allowedPorts: ['443', '8000-9100'],
  runtimeApi: '127.0.0.1:9001',
};

describe('a subscriber at a forbidden address or port', () => {
  const withSubscription = async () => {
    const api = apiUnderTest({ subscriberFault: (subscriber) => subscriberFault(subscriber, allowed) });
    const subscriber = 'https://127.0.0.1:9000/';
    expect(await api.call('POST', SUBSCRIPTIONS, { subscriber })).toMatchObject({ status: 201 });
    return api;
  };

  it.each([
    ['a port that is not allowed', 'https://hooks.example:9443/'],
    ['a port that is not allowed, implied by the scheme', 'http://hooks.example/'],
    ['the runtime API', 'http://127.0.0.1:9001/2018-06-01/runtime/invocation/next'],
    ['the runtime API in another spelling', 'http://0x7f.1:9001/'],
    ['the metadata address, although its range is allowed', 'http://169.254.169.254:8000/latest/meta-data'],
  ])(
    'is refused by subscribing, changing and importing, with the field named: %s',
    async (_what, subscriber) => {
      const { call, world } = await withSubscription();
      const before = await world();
      const refused = { status: 400, body: faultOf('invalid_request', 'subscriber') };
      expect(await call('POST', SUBSCRIPTIONS, { subscriber })).toMatchObject(refused);
      expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { subscriber })).toMatchObject(refused);
      expect(await call('POST', IMPORT, JSON.stringify({ subscriber }))).toMatchObject({
        body: { imported: 0, failed: [{ line: 1, ...faultOf('invalid_request', 'subscriber') }] },
      });
      expect(await world()).toEqual(before);
    },
  );

  it('is refused with the allowed ports in the message', async () => {
    const { call } = await withSubscription();
    const { body } = await call('POST', SUBSCRIPTIONS, { subscriber: 'http://hooks.example:81/' });
    expect(body).toMatchObject({
      error: { fields: [{ message: 'must not lead to port 81; allowed are 443, 8000-9100' }] },
    });
  });
});
