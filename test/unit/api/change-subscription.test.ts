import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { answerHttpApi } from '../../../functions/api/http-api-event.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;

const withSubscription = async (fields: object = {}) => {
  const api = apiUnderTest();
  await api.call('POST', PATH, { subscriber: HOOK, ...fields });
  return api;
};

describe('PATCH /v2/queues/{queue}/subscriptions/{id}', () => {
  it('changes only the given fields, and answers with the subscription', async () => {
    const { call, registry } = await withSubscription({ ttl: 60, options: { raw_delivery: true } });
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { id: 'id-1', subscriber: `${HOOK}/2`, ttl: 60, options: { raw_delivery: true } },
    });
    expect((await call('GET', ONE)).body).toEqual(answer.body);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ expiresAt: NOON + 60_000 });
  });

  it('changes the name alone, and removes it by null', async () => {
    const { call, registry } = await withSubscription({ name: 'Billing', ttl: 60 });
    const before = await registry.findSubscription('orders', 'id-1');
    expect((await call('PATCH', ONE, { ttl: 60 })).body).toMatchObject({ name: 'Billing' });
    expect((await call('PATCH', ONE, { name: 'Facturación' })).body).toMatchObject({ name: 'Facturación' });
    const answer = await call('PATCH', ONE, { name: null });
    expect(answer.status).toBe(200);
    expect(answer.body).not.toHaveProperty('name');
    const { name: _, ...unnamed } = before ?? {};
    expect(await registry.findSubscription('orders', 'id-1')).toEqual(unnamed);
  });

  it('replaces the options as a whole', async () => {
    const { call } = await withSubscription({
      options: { raw_delivery: true, post_headers: { accept: 'a' } },
    });
    const { body } = await call('PATCH', ONE, { options: { post_data: 'x' } });
    expect(body).toMatchObject({ options: { post_data: 'x' } });
    expect((body as { options: object }).options).toEqual({ post_data: 'x' });
  });

  it('counts a ttl from now, and accepts null for no expiry', async () => {
    const { call, registry, time } = await withSubscription({ ttl: 60 });
    time.now += 50_000;
    await call('PATCH', ONE, { ttl: 60 });
    time.now += 50_000;
    expect(await call('GET', ONE)).toMatchObject({ status: 200 });
    expect((await call('PATCH', ONE, { ttl: null })).body).toMatchObject({ ttl: null });
    const endless = await registry.findSubscription('orders', 'id-1');
    expect(endless).not.toHaveProperty('expiresAt');
    expect(endless).not.toHaveProperty('ttl');
  });

  it('answers 409 for the subscriber of another subscription, and changes nothing', async () => {
    const { call, world } = await withSubscription();
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
    const before = await world();
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2`, ttl: 5 });
    expect(answer).toMatchObject({ status: 409, body: faultOf('conflict', 'subscriber') });
    expect(await world()).toEqual(before);
  });

  it('allows another subscription with the previous subscriber', async () => {
    const { call } = await withSubscription();
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(await call('POST', PATH, { subscriber: HOOK })).toMatchObject({ status: 201 });
  });

  it('resets the failure count if the subscriber changes', async () => {
    const { call, registry } = await withSubscription();
    await registry.changeSubscription({ queue: 'orders', subscriptionId: 'id-1', now: NOON }, (current) => ({
      ...current,
      failing: { since: NOON, failures: 3 },
    }));
    expect((await call('PATCH', ONE, { ttl: 5 })).body).toMatchObject({
      failing: { since: '2026-11-21T12:00:00.000Z', failures: 3 },
    });
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).not.toHaveProperty('failing');
  });

  it.each<[string, unknown, string]>([
    ['nothing to change', {}, 'body'],
    ['a secret alone', { secret: 'keep' }, 'body'],
    ['a secret other than `keep`', { subscriber: `${HOOK}/2`, secret: 'whsec_' }, 'secret'],
    ['an unknown key', { ttl: 5, confirmed: true }, 'confirmed'],
    ['a loopback subscriber', { subscriber: 'http://127.0.0.1/' }, 'subscriber'],
    [
      'a redacted header without a stored value',
      { options: { post_headers: { accept: '***' } } },
      'options.post_headers.accept',
    ],
  ])('refuses %s', async (_name, body, field) => {
    const { call, world } = await withSubscription();
    const before = await world();
    expect(await call('PATCH', ONE, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual(before);
  });

  it('refuses a contradictory retry policy', async () => {
    const { call } = await withSubscription();
    expect(await call('PATCH', ONE, { options: { _retry_policy: { minimum_delay: 31 } } })).toMatchObject({
      status: 400,
      body: faultOf('invalid_retry_policy', 'options._retry_policy.maximum_delay'),
    });
  });
});

describe.each([
  ['PATCH', '', { ttl: 5 }],
  ['POST', '/enable', undefined],
  ['POST', '/disable', undefined],
])('%s on a subscription%s', (method, verb, body) => {
  it.each(['id-2', 'not%20an%20id', 'x'.repeat(2000)])('answers 404 for %s', async (id) => {
    const { call } = await withSubscription();
    expect(await call(method, `${PATH}/${id}${verb}`, body)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
  });

  it('answers 404 for a deleted or expired subscription', async () => {
    const { call, time } = await withSubscription();
    await call('POST', PATH, { subscriber: `${HOOK}/2`, ttl: 1 });
    await call('DELETE', ONE);
    time.now += 1000;
    for (const id of ['id-1', 'id-2']) {
      expect(await call(method, `${PATH}/${id}${verb}`, body)).toMatchObject({ status: 404 });
    }
  });
});

describe('POST …/disable and …/enable', () => {
  it('disables and enables a subscription', async () => {
    const { call } = await withSubscription();
    const disabled = { reason: 'manual', at: '2026-11-21T12:00:00.000Z' };
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200, body: { disabled } });
    expect((await call('GET', ONE)).body).toMatchObject({ disabled });
    const enabled = await call('POST', `${ONE}/enable`);
    expect(enabled.status).toBe(200);
    expect(enabled.body).not.toHaveProperty('disabled');
    expect((await call('GET', ONE)).body).not.toHaveProperty('disabled');
  });

  it('keeps the reason of a disabled subscription, and enables it for any reason', async () => {
    const { call, registry } = await withSubscription();
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    expect((await call('POST', `${ONE}/disable`)).body).toMatchObject({ disabled: { reason: 'gone' } });
    expect((await call('POST', `${ONE}/enable`)).body).not.toHaveProperty('disabled');
  });

  it('resets the failure count when it enables a failing subscription', async () => {
    const { call, registry } = await withSubscription();
    await registry.changeSubscription({ queue: 'orders', subscriptionId: 'id-1', now: NOON }, (current) => ({
      ...current,
      failing: { since: 1, failures: 20 },
      disabled: { reason: 'failing', at: NOON },
    }));
    expect((await call('POST', `${ONE}/enable`)).body).not.toHaveProperty('failing');
  });
});

describe('DELETE /v2/queues/{queue}/subscriptions/{id}', () => {
  it('hides the subscription at once, and sends an operation that cancels its deliveries and removes it', async () => {
    const { call, registry, queued } = await withSubscription();
    expect(await call('DELETE', ONE)).toMatchObject({ status: 204 });
    expect(await call('GET', ONE)).toMatchObject({ status: 404 });
    expect((await call('GET', PATH)).body).toMatchObject({ subscriptions: [] });
    expect(queued.map(({ operation }) => operation)).toEqual([
      { kind: 'cancellation', queue: 'orders', subscriptionId: 'id-1', deletedAt: NOON },
    ]);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ deletedAt: NOON });
  });

  it('sends the same operation again for a repeat, because the first may not have been sent', async () => {
    const { call, queued, time } = await withSubscription();
    await call('DELETE', ONE);
    time.now += 1000;
    await call('DELETE', ONE);
    expect(queued[1]).toEqual(queued[0]);
  });

  it('answers 204 for a subscription that does not exist, and sends no operation', async () => {
    const { call, queued } = await withSubscription();
    for (const id of ['id-2', 'not%20an%20id', 'x'.repeat(2000)])
      expect(await call('DELETE', `${PATH}/${id}`)).toMatchObject({ status: 204 });
    expect(queued).toEqual([]);
    expect(await call('GET', ONE)).toMatchObject({ status: 200 });
  });
});

describe('a subscription whose subscriber moves to another origin', () => {
  const OTHER = 'https://hooks.example:8443/orders';
  const post_headers = { Authorization: 'Bearer s3cret', 'x-api-key': 's3cret', accept: 'text/plain' };

  const moved = async (
    change: object,
    fields: object = { options: { post_headers, raw_delivery: true } },
  ) => {
    const api = apiUnderTest();
    await api.call('POST', PATH, { subscriber: HOOK, ...fields });
    const before = await api.registry.findSubscription('orders', 'id-1');
    const answer = await api.call('PATCH', ONE, { subscriber: OTHER, ...change });
    return { ...api, before, answer, after: await api.registry.findSubscription('orders', 'id-1') };
  };

  it('loses stored credentials, but no other options', async () => {
    const { after } = await moved({});
    expect(after?.options).toEqual({ post_headers: { accept: 'text/plain' }, raw_delivery: true });
  });

  it('accepts new credentials in the same request', async () => {
    const { after } = await moved({ options: { post_headers: { Authorization: 'Bearer new' } } });
    expect(after?.options).toEqual({ post_headers: { Authorization: 'Bearer new' } });
  });

  it('does not accept redacted values for the stored credentials', async () => {
    const { answer, before, after } = await moved({ options: { post_headers: { Authorization: '***' } } });
    expect(answer).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.post_headers.Authorization'),
    });
    expect(after).toEqual(before);
  });

  it('gets a new secret, which only this response contains', async () => {
    const { answer, after, secrets, changes, call } = await moved({});
    const { secret } = answer.body as { secret: string };
    expect(after?.secrets).toHaveLength(1);
    const [current] = after?.secrets ?? [];
    const opened = await secrets.open({ queue: 'orders', subscriptionId: 'id-1' }, current?.sealed ?? '');
    expect(secretText(opened)).toBe(secret);
    expect(changes.slice(-2)).toMatchObject([
      {
        change: 'subscription_changed',
        changed: ['options.post_headers.Authorization', 'options.post_headers.x-api-key', 'subscriber'],
        before: { subscriber: 'https://hooks.example' },
        after: { subscriber: 'https://hooks.example:8443' },
      },
      { change: 'secret_rotated', subscriptionId: 'id-1', scheme: 'v1' },
    ]);
    expect((await call('GET', ONE)).body).not.toHaveProperty('secret');
    expect(JSON.stringify(changes)).not.toContain(secret);
  });

  it('keeps its secret on request', async () => {
    const { answer, before, after, changes } = await moved({ secret: 'keep' });
    expect(after?.secrets).toEqual(before?.secrets);
    expect(answer.body).not.toHaveProperty('secret');
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_changed' });
  });

  it.each([
    ['another path', `${HOOK}/2`],
    ['another spelling', 'HTTPS://HOOKS.example:443/orders'],
  ])('is not one with %s, which keeps secret and credentials', async (_name, subscriber) => {
    const { before, answer, after } = await moved({ subscriber });
    expect(after).toMatchObject({ options: before?.options, secrets: before?.secrets });
    expect(answer.body).not.toHaveProperty('secret');
  });

  it.each(['http://hooks.example/orders', 'https://hooks.example.test/orders'])(
    'includes %s',
    async (subscriber) => {
      const { after } = await moved({ subscriber });
      expect(after?.options.post_headers).toEqual({ accept: 'text/plain' });
    },
  );
});

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

/** Matches like IAM: `*` is any text, including slashes ("IAM JSON policy elements: Resource", IAM user guide). */
const isAllowed = (method: string, rawPath: string): boolean => {
  const resource = `arn:aws:execute-api:us-east-1:111122223333:abcdefghij/$default/${method}${rawPath}`;
  return documented.Statement.some(({ Resource }) =>
    Resource.some((pattern) =>
      new RegExp(`^${pattern.replaceAll(/[.$]/g, String.raw`\$&`).replaceAll('*', '.*')}$`).test(resource),
    ),
  );
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

describe('the id of a subscription of another queue', () => {
  it('finds nothing below the own queue, and changes nothing', async () => {
    const { call, registry } = apiUnderTest();
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
});

describe('a grant for paths below a queue', () => {
  it('does not allow deleting the queue with a trailing slash', async () => {
    const { touchedBy } = await observedApi('victim');
    expect(await touchedBy('DELETE', '/v2/queues/victim')).toContain('deleteQueue');
    expect(await touchedBy('DELETE', '/v2/queues/victim/')).toEqual([]);
    expect(await touchedBy('DELETE', '/v2/queues/victim%2f')).toEqual([]);
  });
});
