import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { buildApi } from '../../../functions/api/serve.ts';
import { healthSchema, homeSchema } from '../../../functions/api/service/routes.ts';
import { openRoutes, portalOpenRoutes } from '../../../shared/config/open-routes.ts';
import { requestApi, wholeApi } from '../../support/whole-api.ts';
import {
  type Api,
  apiUnderTest,
  apiWithSubscription,
  CALLER,
  faultOf,
  faultsByDescription,
  HOOK,
  invalid,
  it,
  NOON,
  NOTHING,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

it('answers GET /v2/ping with 204 and no body', async ({ call }) => {
  expect(await call('GET', '/v2/ping')).toMatchObject({ status: 204, body: undefined });
});

it('lists the versions at GET /, which OpenStack clients request first', async ({ call }) => {
  expect(await call('GET', '/')).toMatchObject({
    status: 300,
    body: { versions: [{ id: '2', status: 'CURRENT', links: [{ href: '/v2', rel: 'self' }] }] },
  });
});

it('lists every path with its methods at GET /v2', async ({ get }) => {
  const { resources } = homeSchema.parse(await get('/v2'));
  expect(resources['/v2/queues/{queue}']).toEqual({
    'href-template': '/v2/queues/{queue}',
    hints: { allow: ['PUT', 'PATCH', 'GET', 'DELETE'] },
  });
  expect(Object.keys(resources)).toEqual(
    expect.arrayContaining(['/v2', '/v2/ping', '/v2/queues/{queue}/subscriptions/{subscription}/confirm']),
  );
});

it.for([
  ['/v2/queues?name=', 'must not be empty'],
  ['/v2/queues?marker=', 'must not be empty'],
  [`/v2/queues?name=${'x'.repeat(65)}`, 'must have at most 64 characters'],
] as const)('says in plain words what is wrong with the query of %s', async ([path, message], { call }) => {
  const { body } = await call('GET', path);
  expect(body).toMatchObject({ error: { fields: [{ message }] } });
});

describe('GET /v2/health', () => {
  it('shows passing checks, the numbers of messages in queues, and the overdue retries', async ({ get }) => {
    expect(healthSchema.parse(await get('/v2/health'))).toEqual({
      status: 'ok',
      checks: { subscriptionsTable: 'ok', deliveriesTable: 'ok', queues: 'ok' },
      queues: { ingress: 0, ingressDeadLetters: 2 },
      delayed: { ingress: 4, ingressDeadLetters: 0 },
      overdue: 0,
      retentionDays: 30,
    });
  });

  it('counts retries as overdue after the time that reconcile waits', async ({ dependencies, get }) => {
    const key = { queue: 'orders', messageId: 'm', subscriptionId: 's', bucket: 0 };
    const overdue = vi.spyOn(dependencies.deliveries, 'overdue').mockResolvedValue([{ key, overdueAt: 0 }]);
    expect(await get('/v2/health')).toMatchObject({ overdue: 1 });
    expect(overdue.mock.calls).toEqual([[NOON - 30_000, 1_000]]);
  });

  const fault = new Error('table posthaste-secret-name is gone');
  const fails = () => Promise.reject(fault);

  it.for<[string, string | undefined, (dependencies: Api['dependencies']) => unknown]>([
    ['subscriptionsTable', undefined, ({ registry }) => (registry.findQueue = fails)],
    ['deliveriesTable', 'overdue', ({ messageRecords }) => (messageRecords.find = fails)],
    ['deliveriesTable', 'overdue', ({ deliveries }) => (deliveries.overdue = fails)],
    ['queues', 'queues', ({ queueDepths }) => (queueDepths.approximate = fails)],
  ])(
    'answers 503 if %s cannot be read, and only logs the reason',
    async ([check, absent, breakIt], { api }) => {
      breakIt(api.dependencies);
      const { status, body } = await api.call('GET', '/v2/health');
      expect(status).toBe(503);
      const { checks, ...health } = healthSchema.parse(body);
      expect(health).toMatchObject({ status: 'failing' });
      expect(Object.entries(checks).filter(([, state]) => state === 'failing')).toEqual([[check, 'failing']]);
      if (absent !== undefined) expect(health).not.toHaveProperty(absent);
      expect(JSON.stringify(body)).not.toContain('secret-name');
      expect(api.faults).toEqual([{ fault, caller: CALLER }]);
    },
  );
});

const REQUEST = {
  method: 'GET',
  path: '/v2',
  query: {},
  headers: {},
  body: new Uint8Array(),
  publicUrl: 'https://api.test',
};

const operation = z.looseObject({ operationId: z.string(), security: z.array(z.unknown()).optional() });

const schema = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ version: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
});

const served = async () => schema.parse(await apiUnderTest().get('/v2/openapi.json'));

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
    const routes = await wholeApi(apiUnderTest().dependencies).routes();
    const names = routes.map(({ method, path }) => `${method} ${path}`);
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
    const names = [...openRoutes, ...portalOpenRoutes].flatMap(({ path, methods }) =>
      methods.map((method) => `${method} ${path}`),
    );
    expect(open.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  it('contains the version of the API, and the public URL of each request', async ({ dependencies }) => {
    const api = wholeApi(dependencies);
    for (const url of ['https://a.example', 'https://b.example', 'https://a.example']) {
      const response = await requestApi(api, '/v2/openapi.json', {}, { caller: CALLER, publicUrl: url });
      const { info, servers } = schema.parse(await response.json());
      expect([info.version, servers]).toEqual(['1.2.3', [{ url }]]);
    }
  });
});

const faultsOf = await faultsByDescription();

it('reports what the OpenAPI document does not describe: a status, media type or field', () => {
  const answered = (path: string, status: number, body: unknown, type = 'application/json') => {
    const text = JSON.stringify(body);
    const response = new Response(text, { status, headers: { 'content-type': type } });
    return faultsOf({ method: 'GET', path, response, text });
  };
  expect(answered('/v2/queues', 200, { queues: [], links: [] })).toEqual([]);
  expect(answered('/v2/queues?limit=1', 418, {})).toHaveLength(1);
  expect(answered('/v2/queues', 200, { queues: [], links: [], more: 1 })).toHaveLength(1);
  expect(answered('/v2/queues', 200, { queues: [] })).toHaveLength(1);
  expect(answered('/v2/queues', 200, {}, 'text/plain')).toHaveLength(1);
  expect(answered('/v2/ping', 200, {})).toHaveLength(1);
});

const VALID_BODIES: Record<string, unknown> = {
  'PATCH /v2/queues/{queue}': [{ op: 'add', path: '/metadata/a', value: 1 }],
  'PATCH /v2/queues/{queue}/subscriptions/id-1': { ttl: 5 },
  'PUT /v2/queues/{queue}/subscriptions/id-1/confirm': { confirmed: true },
  'POST /v2/queues/{queue}/portal-links': { capabilities: [] },
  'POST /v2/queues/{queue}/recoveries': { since: '2026-11-21T10:00:00Z', until: '2026-11-21T11:00:00Z' },
};

/** Each route of a queue with a valid body, but not those that strangers reach, which answer the same to all that is wrong. */
const ROUTES = (await wholeApi(apiUnderTest().dependencies).routes()).flatMap(({ method, path }) => {
  const isOpen = openRoutes.some((open) => open.path === path);
  const route = path.replaceAll(/\{(?!queue\})\w+\}/g, 'id-1');
  return isOpen || !path.includes('{queue}')
    ? []
    : [[method, route, VALID_BODIES[`${method} ${route}`] ?? (method === 'GET' ? undefined : {})] as const];
});

const BODIES = [
  ['PUT', QUEUE],
  ['POST', '/v2/queues/orders/subscriptions/id-1/secret/rotate'],
  ['POST', '/v2/queues/orders/subscriptions/id-1/test'],
  ['POST', SUBSCRIPTIONS],
  ['POST', '/v2/queues/orders/messages'],
  ['POST', '/v2/queues/orders/recoveries'],
  ['PATCH', QUEUE],
  ['PATCH', '/v2/queues/orders/subscriptions/id-1'],
  ['PUT', '/v2/queues/orders/subscriptions/id-1/confirm'],
] as const;

const BAD_NAMES = ['x'.repeat(65), 'a%20b', 'a%2Fb', 'a%E2%80%8B', '%F0%9F%98%80', 'a:b', '%ff', 'a%2525'];

it.for(ROUTES)(
  '%s %s refuses each name that no queue can have',
  async ([method, route, body], { call, world }) => {
    for (const name of BAD_NAMES)
      expect(await call(method, route.replace('{queue}', name), body), name).toMatchObject(invalid('queue'));
    expect(await world()).toEqual(NOTHING);
  },
);

/** Routes that make a missing queue, or remove what is missing. */
const WITHOUT_QUEUE = new Set([
  'PUT /v2/queues/{queue}',
  'DELETE /v2/queues/{queue}',
  'POST /v2/queues/{queue}/messages',
  'POST /v2/queues/{queue}/import',
  'POST /v2/queues/{queue}/subscriptions',
  'DELETE /v2/queues/{queue}/subscriptions/id-1',
  'DELETE /v2/queues/{queue}/portal-links/id-1',
]);

const OF_A_QUEUE = ROUTES.filter(([method, route]) => !WITHOUT_QUEUE.has(`${method} ${route}`));

it.for(OF_A_QUEUE)('%s %s is 404 for an unknown queue', async ([method, route, body], { call, world }) => {
  expect(await call(method, route.replace('{queue}', 'orders'), body)).toMatchObject(refusal('not_found'));
  expect(await world()).toEqual(NOTHING);
});

it.for(OF_A_QUEUE.filter(([, route]) => route.includes('id-1')))(
  '%s %s is 404 for an id that is unknown, or none',
  async ([method, route, body], { call, changes, queued }) => {
    await call('PUT', QUEUE);
    for (const id of ['none', 'not%20an%20id', 'x'.repeat(2000)]) {
      const path = route.replace('{queue}', 'orders').replaceAll('id-1', id);
      expect(await call(method, path, body), path).toMatchObject(refusal('not_found'));
    }
    expect([changes.length, queued]).toEqual([1, []]);
  },
);

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
  it('answers invalid_json to a body that is not JSON', async ({ call, world }) => {
    for (const [what, body] of MALFORMED)
      expect([what, await call(method, path, body)]).toMatchObject([what, refusal('invalid_json')]);
    expect(await world()).toEqual(NOTHING);
  });

  it('answers too_large to any body over 1 MiB', async ({ call, world }) => {
    expect(await call(method, path, ' '.repeat(1_048_577))).toMatchObject(refusal('too_large'));
    expect(await world()).toEqual(NOTHING);
  });

  it('reads bodies of up to 1 MiB', async ({ call }) => {
    expect(await call(method, path, 'x'.repeat(1_048_576))).toMatchObject({ body: faultOf('invalid_json') });
  });
});

it.for(BODIES.slice(3))('a missing body is not JSON to %s %s', async ([method, path], { call }) => {
  expect(await call(method, path)).toMatchObject(refusal('invalid_json'));
});

describe('an unknown route', () => {
  it.for([
    ['GET', '/unrouted'],
    ['GET', '/v3'],
    ['GET', '/v1/queues'],
    ['GET', '/v2/queues/orders/claims'],
    ['DELETE', '/v2/queues/orders/claims/id-1'],
    ['GET', '/v2/queues/'],
    ['DELETE', '/v2/queues/orders/'],
    ['GET', '/v2//queues'],
  ] as const)('is answered with 404: %s %s', async ([method, path], { call }) => {
    expect(await call(method, path)).toMatchObject(refusal('not_found'));
  });

  it.for([
    ['POST', '/v2/queues', 'GET, HEAD'],
    ['POST', QUEUE, 'GET, PUT, PATCH, DELETE, HEAD'],
    ['DELETE', SUBSCRIPTIONS, 'GET, POST, HEAD'],
    ['PUT', '/v2/queues/orders/subscriptions/id-1', 'GET, PATCH, DELETE, HEAD'],
    ['DELETE', '/v2/queues/orders/subscriptions/id-1/confirm', 'GET, POST, PUT, HEAD'],
    ['GET', '/v2/queues/orders/subscriptions/id-1/enable', 'POST'],
    ['GET', '/v2/queues/orders/subscriptions/id-1/test', 'POST'],
    ['POST', '/v2/queues/orders/export', 'GET, HEAD'],
    ['POST', '/v2/health', 'GET, HEAD'],
    ['DELETE', '/v2/queues/orders/messages', 'GET, POST, HEAD'],
    ['POST', '/v2/queues/orders/messages/id-1/deliveries', 'GET, HEAD'],
    ['OPTIONS', '/v2/queues', 'GET, HEAD'],
  ] as const)('is answered with 405 if the path exists: %s %s', async ([method, path, allowed], { call }) => {
    const answer = await call(method, path);
    expect(answer).toMatchObject(refusal('method_not_allowed'));
    expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed.split(', ').sort());
  });
});

describe('an internal error', () => {
  it('is an answer, too, where the routes of operators cannot be loaded', async ({ api }) => {
    const { dependencies, faults } = api;
    const fault = new Error('not loaded');
    const { answer } = buildApi({ first: [], all: () => Promise.reject(fault) }, dependencies);
    const { status, body = '' } = await answer({ ...REQUEST, caller: CALLER });
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject(refusal('internal'));
    expect(faults).toEqual([{ fault, caller: CALLER }]);
  });

  it('shows the caller only the request id, the log all details', async ({ call, registry, faults }) => {
    const fault = new Error('table posthaste-secret-name is throttled');
    vi.spyOn(registry, 'findQueue').mockRejectedValue(fault);
    const answer = await call('GET', QUEUE);
    expect(answer).toMatchObject(refusal('internal'));
    expect(JSON.stringify(answer.body)).toContain('request-1');
    expect(JSON.stringify(answer.body)).not.toContain('secret-name');
    expect(faults).toEqual([{ fault, caller: { ...CALLER, queue: 'orders' } }]);
  });

  it('is not reported for refused requests', async ({ call, faults }) => {
    await call('GET', QUEUE);
    await call('GET', '/v2/queues?marker=x');
    await call('PUT', QUEUE, 'not json');
    expect(faults).toEqual([]);
  });
});

describe('the list of queues', () => {
  it.override('api', async () => {
    const api = apiUnderTest();
    for (const name of ['bills', 'orders', 'orders-eu', 'reorders'])
      await api.call('PUT', `/v2/queues/${name}`);
    return api;
  });

  it('can be filtered by a part of the name, page by page', async ({ pages }) => {
    const found = await pages('/v2/queues?name=order&limit=2', 'queues', 'name');
    expect(found).toEqual([['orders', 'orders-eu'], ['reorders']]);
  });

  it('contains the number of all queues on request', async ({ get, nextOf }) => {
    expect(await get('/v2/queues?limit=1')).not.toHaveProperty('count');
    const first = '/v2/queues?limit=1&with_count=true';
    expect(await get(first)).toMatchObject({ count: 4 });
    expect(await get(await nextOf(first))).not.toHaveProperty('count');
    expect(await get('/v2/queues?with_count=true&name=eu')).toMatchObject({ count: 1 });
  });
});

describe('the rules for posts in the metadata of a queue', () => {
  const post = { messages: [{ body: 1 }, { body: 2, ttl: 7, delay: 0 }] };

  it('supply missing ttls and delays', async ({ call, published }) => {
    await call('PUT', QUEUE, { _default_message_ttl: 600, _default_message_delay: 30 });
    expect((await call('POST', `${QUEUE}/messages`, post)).status).toBe(201);
    expect(published.map((text): unknown => JSON.parse(text))).toEqual([
      { queue: 'orders', id: 'id-1', ttl: 600, delay: 30, data: 1 },
      { queue: 'orders', id: 'id-2', ttl: 7, delay: 0, data: 2 },
    ]);
  });

  it('limit the size of a post', async ({ call, published }) => {
    const bytes = Buffer.byteLength(JSON.stringify(post));
    await call('PUT', QUEUE, { _max_messages_post_size: bytes - 1 });
    expect(await call('POST', `${QUEUE}/messages`, post)).toMatchObject(refusal('too_large'));
    expect(published).toEqual([]);
    await call('PUT', QUEUE, { _max_messages_post_size: bytes });
    expect((await call('POST', `${QUEUE}/messages`, post)).status).toBe(201);
  });

  it.for([
    ['_default_message_ttl', 0],
    ['_default_message_delay', 901],
    ['_max_messages_post_size', 0],
    ['_attempt_timeout', 31],
    ['_max_subscriptions', 0],
    ['_retention_days', 14],
    ['_retention_days', 31],
    ['_retain_messages', 'some'],
    ['_event_validation', true],
  ] as const)('are refused with %s = %j', async ([name, value], { call }) => {
    expect(await call('PUT', QUEUE, { [name]: value })).toMatchObject(invalid(name));
  });
});

const SECRET = 's3cret';
const OF = { ...CALLER, queue: 'orders', subscriptionId: 'id-1' };

const subscribing = {
  name: `Billing ${SECRET}`,
  subscriber: `https://a.example:8443/${SECRET}?token=${SECRET}`,
  ttl: 60,
  options: {
    _retry_policy: { minimum_delay: 2 },
    post_headers: { 'x-key': SECRET, accept: SECRET },
    post_data: SECRET,
  },
};

const others = {
  retryPolicy: { minimum_delay: 2 },
  headers: ['accept', 'x-key'],
  options: ['_retry_policy', 'post_data', 'post_headers'],
  confirmed: true,
};

const digest = { ...others, subscriber: 'https://a.example:8443', ttl: 60 };

describe('the audit trail', () => {
  it('names the changed metadata of a queue, and has its retry policy before and after', async ({ api }) => {
    const { call, changes } = api;
    await call('PUT', QUEUE, { team: SECRET });
    await call('PUT', QUEUE, { team: `${SECRET}2`, _retry_policy: {} });
    await call('PATCH', QUEUE, [{ op: 'add', path: '/metadata/_retry_policy/minimum_delay', value: 2 }]);
    await call('DELETE', QUEUE);
    const of = { ...CALLER, queue: 'orders' };
    const made = { metadata: ['team'] };
    const replaced = { metadata: ['_retry_policy', 'team'], retryPolicy: {} };
    const changed = { ...replaced, retryPolicy: { minimum_delay: 2 } };
    expect(changes).toEqual([
      { ...of, change: 'queue_created', after: made },
      { ...of, change: 'queue_replaced', changed: ['_retry_policy', 'team'], before: made, after: replaced },
      { ...of, change: 'queue_changed', changed: ['_retry_policy'], before: replaced, after: changed },
      { ...of, change: 'queue_deleted' },
    ]);
    expect(JSON.stringify(changes)).not.toContain(SECRET);
  });

  it('names the changed fields of a subscription, each header, but nothing secret', async ({ api }) => {
    const { options } = subscribing;
    const post_headers = { ...options.post_headers, 'x-key': `${SECRET}2` };
    await api.subscribe(subscribing);
    await api.patch({ options: { ...options, post_headers } });
    await api.patch({ name: null, subscriber: `https://b.example/${SECRET}`, ttl: null });
    await api.call('DELETE', ONE);
    const endless = { ...others, subscriber: 'https://b.example', headers: ['accept'] };
    const key = 'options.post_headers.x-key';
    const all = ['name', key, 'subscriber', 'ttl'];
    expect(api.changes).toEqual([
      { ...OF, change: 'subscription_created', after: digest },
      { ...OF, change: 'subscription_changed', changed: [key], before: digest, after: digest },
      { ...OF, change: 'subscription_changed', changed: all, before: digest, after: endless },
      { ...OF, change: 'secret_rotated', scheme: 'v1' },
      { ...OF, change: 'subscription_deleted', before: endless },
    ]);
    expect(JSON.stringify(api.changes)).not.toContain(SECRET);
  });

  it('has one entry for disabling a subscription, and one each time that it is enabled', async ({ api }) => {
    await api.subscribe();
    for (const verb of ['disable', 'disable', 'enable', 'enable']) await api.call('POST', `${ONE}/${verb}`);
    const enabled = { subscriber: 'https://hooks.example', options: [], confirmed: true };
    const disabled = { ...enabled, disabled: 'manual' };
    const changed = ['disabled'];
    expect(api.changes.slice(1)).toEqual([
      { ...OF, change: 'subscription_disabled', changed, before: enabled, after: disabled },
      { ...OF, change: 'subscription_enabled', changed, before: disabled, after: enabled },
      { ...OF, change: 'subscription_enabled', changed: [], before: enabled, after: enabled },
    ]);
  });

  it('contains the ids of messages, but not their data', async ({ call, changes }) => {
    await call('POST', `${QUEUE}/messages`, { messages: [{ id: 'a', body: SECRET }, { body: 2 }] });
    const posted = { change: 'messages_posted', queue: 'orders', messageIds: ['a', 'id-1'] };
    expect(changes).toEqual([{ ...CALLER, ...posted }]);
  });

  it('has no entry for GET requests', async ({ call, subscribe, changes }) => {
    await subscribe();
    for (const [method, path] of ROUTES)
      if (method === 'GET') await call(method, path.replace('{queue}', 'orders'));
    expect(changes).toHaveLength(1);
  });

  it('has no entry for requests that are refused or change nothing', async ({ api }) => {
    const { call, subscribe, patch, changes } = api;
    await subscribe();
    await subscribe();
    await patch({ subscriber: HOOK });
    await patch({ ttl: 0 });
    await call('PATCH', QUEUE, [{ op: 'remove', path: '/metadata/none' }]);
    await call('DELETE', `${SUBSCRIPTIONS}/id-9`);
    await call('GET', `${ONE}/confirm?token=guessed`);
    expect(changes).toHaveLength(1);
  });
});

const disabledManually = {
  type: 'subscription.disabled',
  queue: 'orders',
  subscriptionId: 'id-1',
  reason: 'manual',
  at: NOON,
} as const;

describe('disabling a subscription manually', () => {
  it.override('api', () => apiWithSubscription());

  it('notifies operators, unlike other changes', async ({ call, patch, operatorEvents }) => {
    await call('POST', `${ONE}/disable`);
    await call('POST', `${ONE}/enable`);
    await patch({ ttl: 60 });
    await call('DELETE', ONE);
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('fails if operators cannot be notified, and notifies when it is repeated', async ({ api }) => {
    const { call, operatorEvents, changes } = api;
    vi.spyOn(operatorEvents, 'publish').mockRejectedValueOnce(new Error('EventBridge is down'));
    expect(await call('POST', `${ONE}/disable`)).toMatchObject(refusal('internal'));
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_disabled' });
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200 });
    expect(operatorEvents.published).toEqual([disabledManually]);
  });

  it('does not notify if it was already disabled', async ({ call, registry, operatorEvents }) => {
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    await call('POST', `${ONE}/disable`);
    expect(operatorEvents.published).toEqual([]);
  });
});
