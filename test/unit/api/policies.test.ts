import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import * as z from 'zod';
import type { ApiSettings } from '../../../functions/api/dependencies.ts';
import { answerHttpApi } from '../../../functions/api/http-api-event.ts';
import { subscriberFault } from '../../../shared/adapters/http/address-guard.ts';
import { wholeApi } from '../../support/whole-api.ts';
import {
  apiUnderTest,
  faultOf,
  HOOK,
  invalid,
  it,
  NOTHING,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS'];

const policySchema = z.object({
  Statement: z.array(
    z.object({
      Effect: z.literal('Allow'),
      Action: z.literal('execute-api:Invoke'),
      Resource: z.array(z.string()),
    }),
  ),
});

/** The policy in docs/api.md that allows everything for the queue `orders`, and nothing for others. */
const documented = policySchema.parse(
  JSON.parse(
    /^```json\n(\{\n {2}"Version".*?)```/ms.exec(
      readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8'),
    )?.[1] ?? '',
  ),
);

/** Match like IAM: `*` is any text, including slashes ("IAM JSON policy elements: Resource", IAM user guide). */
const patterns = documented.Statement.flatMap(({ Resource }) =>
  Resource.map(
    (pattern) => new RegExp(`^${pattern.replaceAll(/[.$]/g, String.raw`\$&`).replaceAll('*', '.*')}$`),
  ),
);

const isAllowed = (method: string, rawPath: string): boolean => {
  const resource = `arn:aws:execute-api:us-east-1:111122223333:abcdefghij/$default/${method}${rawPath}`;
  return patterns.some((pattern) => pattern.test(resource));
};

/** The path as an HTTP API passes it on: decoded, and cut at a decoded question mark. */
const passedOn = (rawPath: string): string => decodeURIComponent(rawPath).split('?')[0] ?? '';

/** Other spellings of a path, and paths disguised as paths of `orders`. */
const spellings = (path: string): string[] => {
  const segments = path.split('/').slice(1);
  const encoded = segments.map((segment, index) =>
    segments.with(index, `%${segment.charCodeAt(0).toString(16)}${segment.slice(1)}`).join('/'),
  );
  const joined = segments.slice(1).map((_, index) => {
    const [before, after] = [segments.slice(0, index + 1), segments.slice(index + 1)];
    return `${before.join('/')}%2f${after.join('/')}`;
  });
  const suffixes = ['orders', 'queues/orders', 'v2/queues/orders'];
  return [
    path,
    `${path}/`,
    `/${path}`,
    ...encoded.map((spelling) => `/${spelling}`),
    ...joined.map((spelling) => `/${spelling}`),
    ...suffixes.flatMap((suffix) =>
      ['%3f/', '%23/', '%5c/', '/', '%2f'].map((glue) => `${path}${glue}${suffix}/x`),
    ),
    ...['..', '%2e%2e', '.%2e', '%252e%252e'].flatMap((up) => [
      `/v2/queues/orders/${up}/${segments.slice(2).join('/')}`,
      `/v2/queues/orders%2f${up}%2f${segments.slice(2).join('%2f')}`,
      `/v2/queues/orders/${up}/${up}/${segments.slice(1).join('/')}`,
      `/v2/queues/orders/${up}/${up}/${up}${path}`,
    ]),
  ];
};

const pathsOf = async (queue: string): Promise<string[]> => {
  const { body } = await apiUnderTest().call('GET', '/v2/openapi.json');
  const { paths } = z.object({ paths: z.record(z.string(), z.unknown()) }).parse(body);
  return Object.keys(paths).map((path) => path.replace('{queue}', queue).replaceAll(/\{\w+\}/g, 'id-1'));
};

/** An API that reports which calls accessed this queue or exported credentials. */
const observedApi = async (queue: string) => {
  const { call, dependencies } = apiUnderTest();
  for (const name of ['orders', queue])
    await call('POST', `/v2/queues/${name}/subscriptions`, { subscriber: 'https://hooks.example/' });
  const touched: string[] = [];
  const observed = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          if (JSON.stringify(args).includes(queue)) touched.push(String(name));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const { registry, messageRecords, deliveryListings, recoveries, ingress, operations } = dependencies;
  const api = wholeApi({
    ...dependencies,
    registry: observed(registry),
    messageRecords: observed(messageRecords),
    deliveryListings: observed(deliveryListings),
    recoveries: observed(recoveries),
    ingress: observed(ingress),
    operations: observed(operations),
    audit: (_, change) => {
      if (change.change === 'credentials_exported') touched.push(change.change);
    },
  });
  const touchedBy = async (method: string, rawPath: string): Promise<string[]> => {
    touched.length = 0;
    const requestContext = { requestId: 'r', http: { method } };
    await answerHttpApi(api, { rawPath: passedOn(rawPath), body: '{}', requestContext });
    return [...touched];
  };
  return { touchedBy };
};

describe('the documented policy for one queue', () => {
  it('allows its routes', async () => {
    const ofOrders = (await pathsOf('orders')).filter((path) => path.startsWith('/v2/queues/orders'));
    expect(ofOrders.length).toBeGreaterThan(15);
    expect(ofOrders.filter((path) => !isAllowed('GET', path))).toEqual([]);
  });

  it('gives no access to other queues or to credentials, with any spelling of a path', async () => {
    const { touchedBy } = await observedApi('victim');
    const paths = [...(await pathsOf('victim')), ...(await pathsOf('orders'))];
    const passed: string[] = [];
    let allowed = 0;
    for (const rawPath of new Set(paths.flatMap(spellings))) {
      for (const method of METHODS.filter((one) => isAllowed(one, rawPath))) {
        allowed += 1;
        const touched = await touchedBy(method, rawPath);
        if (touched.length > 0) passed.push(`${method} ${rawPath}: ${touched.join(', ')}`);
      }
    }
    expect(allowed).toBeGreaterThan(1_000);
    expect(passed).toEqual([]);
  });

  it('is tested with calls whose access would be detected', async () => {
    const { touchedBy } = await observedApi('victim');
    expect(await touchedBy('GET', '/v2/queues/vic%74im')).toEqual(['findQueue']);
    expect(await touchedBy('GET', '/v2/queues/victim/export%3f/v2/queues/orders/x')).toContain('findQueue');
    expect(await touchedBy('POST', '/v2/credentials/orders')).toContain('credentials_exported');
  });
});

it('the id of a subscription of another queue finds and changes nothing', async ({ call, registry }) => {
  await call('PUT', '/v2/queues/orders', {});
  await call('POST', '/v2/queues/victim/subscriptions', { subscriber: 'https://victim.example/' });
  const { items: before } = await registry.listSubscriptions('victim', { limit: 1 });
  const own = (await pathsOf('orders')).filter((path) => path.includes('/orders/subscriptions/id-1'));
  const statuses = new Set<number>();
  for (const path of own)
    for (const method of METHODS.filter((one) => one !== 'HEAD')) {
      const { status, body } = await call(method, path, method === 'GET' ? undefined : {});
      statuses.add(status);
      expect(JSON.stringify(body ?? '')).not.toContain('victim.example');
    }
  // 204: a deletion is idempotent.
  expect(statuses).toEqual(new Set([204, 400, 404, 405]));
  expect((await registry.listSubscriptions('victim', { limit: 1 })).items).toEqual(before);
});

it('a grant for paths below a queue does not allow deleting the queue with a trailing slash', async () => {
  const { touchedBy } = await observedApi('victim');
  expect(await touchedBy('DELETE', '/v2/queues/victim')).toContain('deleteQueue');
  expect(await touchedBy('DELETE', '/v2/queues/victim/')).toEqual([]);
  expect(await touchedBy('DELETE', '/v2/queues/victim%2f')).toEqual([]);
});

const SCOPES = {
  read: 'hooks:read',
  publish: 'hooks:publish',
  manage: 'hooks:manage',
  credentials: 'hooks:secrets',
};

const POST = JSON.stringify({ messages: [{ body: 1 }] });

/** Requests, with the permission that each needs. */
const REQUESTS: [keyof typeof SCOPES, string, string, string?][] = [
  ['read', 'GET', '/v2/queues/orders'],
  ['read', 'HEAD', ONE],
  ['read', 'GET', '/v2/queues/orders/export'],
  ['read', 'GET', '/v2/queues/orders/event-types'],
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

  it.each([
    ['GET', '/v2/queues'],
    ['GET', '/v2/health'],
    ['GET', '/v2/event-types'],
    ['GET', '/v2/webhooks.json'],
    ['PUT', '/v2/event-types/orders'],
    ['DELETE', '/v2/event-types/orders'],
  ])('must name all queues for routes about all queues: %s %s', async (method, path) => {
    const { ask } = await apiWith(rules);
    expect(await ask({ queues: 'orders' }, method, path)).toMatchObject({ status: 403 });
    expect((await ask({ queues: '*' }, method, path)).status).toBeLessThan(300);
  });
});

it('accepts callers without a token if no rules are set', async () => {
  const { ask } = await apiWith({});
  expect(await ask(undefined, 'GET', '/v2/queues')).toMatchObject({ status: 200 });
});
/** As text, because an object literal cannot express all of JSON. */
const filtering = (filter: string) => `{"subscriber": "${HOOK}", "options": {"filter": ${filter}}}`;

describe('the filter options of a subscription', () => {
  const options = {
    attempt_timeout: 30,
    max_per_second: 0.5,
    event_types: ['order.created', 'order.paid'],
    filter: { order: { total: [{ numeric: ['>', 100] }], state: ['new', null] } },
  };

  it('are stored and shown unchanged, with each type once', async ({ get, subscribe }) => {
    const event_types = [...options.event_types, ...options.event_types];
    expect(await subscribe({ options: { ...options, event_types } })).toMatchObject({ status: 201 });
    expect(await get(ONE)).toMatchObject({ options });
  });

  it('can filter by a field with the name __proto__', async ({ call, stored }) => {
    const filter = '{"__proto__":{"x":[1]}}';
    expect(await call('POST', SUBSCRIPTIONS, filtering(filter))).toMatchObject({ status: 201 });
    expect(JSON.stringify((await stored()).options.filter)).toBe(filter);
  });

  it('are validated in a change, which also stores the previous options', async ({ api }) => {
    await api.subscribe({ options });
    const refused = invalid('options.filter.a');
    expect(await api.patch({ options: { filter: { a: [] } } })).toMatchObject(refused);
    api.time.now += 5000;
    await api.patch({ options: { event_types: ['x'] } });
    const { event_types, filter } = options;
    expect(await api.stored()).toMatchObject({
      options: { event_types: ['x'] },
      previousSelection: { event_types, filter, until: api.time.now },
    });
  });
});

describe('the options of a subscription cannot contain', () => {
  const tooMany = Array.from({ length: 101 }, (_, index) => `type-${index}`);

  it.for<[string, unknown, string]>([
    ['a timeout of 0', { attempt_timeout: 0 }, 'attempt_timeout'],
    ['a timeout over 30 s', { attempt_timeout: 31 }, 'attempt_timeout'],
    ['half a second', { attempt_timeout: 1.5 }, 'attempt_timeout'],
    ['a timeout of null', { attempt_timeout: null }, 'attempt_timeout'],
    ['no request at all', { max_per_second: 0 }, 'max_per_second'],
    ['less than a request in 100 s', { max_per_second: 0.009 }, 'max_per_second'],
    ['over a thousand requests a second', { max_per_second: 1000.5 }, 'max_per_second'],
    ['a rate of null', { max_per_second: null }, 'max_per_second'],
    ['no types', { event_types: [] }, 'event_types'],
    ['more than 100 types', { event_types: tooMany }, 'event_types'],
    ['an empty type', { event_types: [''] }, 'event_types[0]'],
    ['a type too long', { event_types: ['x'.repeat(257)] }, 'event_types[0]'],
    ['a control character in a type', { event_types: ['a\nb'] }, 'event_types[0]'],
    ['a wildcard, which would match nothing', { event_types: ['order.*'] }, 'event_types[0]'],
    ['a filter of null', { filter: null }, 'filter'],
    ['an empty filter', { filter: {} }, 'filter'],
    ['an error inside $or', { filter: { $or: [{ a: [1] }, { b: [] }] } }, 'filter.$or[1].b'],
  ])('%s', async ([, options, field], { subscribe, world }) => {
    expect(await subscribe({ options })).toMatchObject(invalid(`options.${field}`));
    expect(await world()).toEqual(NOTHING);
  });

  const deep = `${'{"a":'.repeat(100_000)}[1]${'}'.repeat(100_000)}`;
  const deepList = `{"a": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const listOf = (count: number) => `{"a": [${'1,'.repeat(count)}1]}`;

  it.for<[string, string, ReturnType<typeof refusal>]>([
    ['nested 100,000 levels deep', deep, invalid('options')],
    ['with a list nested 200,000 levels deep', deepList, invalid('options')],
    ['of 200,000 values', listOf(200_000), refusal('too_large')],
    ['of 1 MiB', `{"a": ["${'x'.repeat(1_000_000)}"]}`, refusal('too_large')],
    ['of 10,000 values', listOf(10_000), invalid('options.filter')],
    ['of numbers that would lose digits', '{"a": [12345678901234567890]}', invalid('options.filter.a[0]')],
  ])('a filter %s', async ([, filter, refused], { call, world }) => {
    expect(await call('POST', SUBSCRIPTIONS, filtering(filter))).toMatchObject(refused);
    expect(await world()).toEqual(NOTHING);
  });
});

const allowed = {
  allowedAddresses: ['127.0.0.0/8', '169.254.0.0/16'],
  allowedPorts: ['443', '8000-9100'],
  runtimeApi: '127.0.0.1:9001',
};

describe('a subscriber at a forbidden address or port', () => {
  it.override('api', () =>
    apiUnderTest({ subscriberFault: (subscriber) => subscriberFault(subscriber, allowed) }),
  );

  it.for([
    ['a port that is not allowed', 'https://hooks.example:9443/'],
    ['a port that is not allowed, implied by the scheme', 'http://hooks.example/'],
    ['the runtime API', 'http://127.0.0.1:9001/2018-06-01/runtime/invocation/next'],
    ['the runtime API in another spelling', 'http://0x7f.1:9001/'],
    ['the metadata address, although its range is allowed', 'http://169.254.169.254:8000/latest/meta-data'],
  ] as const)('is refused by subscribing, changing and importing: %s', async ([, subscriber], { api }) => {
    expect(await api.subscribe({ subscriber: 'https://127.0.0.1:9000/' })).toMatchObject({ status: 201 });
    const before = await api.world();
    expect(await api.subscribe({ subscriber })).toMatchObject(invalid('subscriber'));
    expect(await api.patch({ subscriber })).toMatchObject(invalid('subscriber'));
    const failed = [{ line: 1, ...faultOf('invalid_request', 'subscriber') }];
    const imported = await api.call('POST', `${QUEUE}/import`, { subscriber });
    expect(imported).toMatchObject({ body: { imported: 0, failed } });
    expect(await api.world()).toEqual(before);
  });

  it('is refused with the allowed ports in the message', async ({ subscribe }) => {
    const { body } = await subscribe({ subscriber: 'http://hooks.example:81/' });
    const message = 'must not lead to port 81; allowed are 443, 8000-9100';
    expect(body).toMatchObject({ error: { fields: [{ message }] } });
  });
});
