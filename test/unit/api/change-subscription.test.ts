import { describe, expect, it } from 'vitest';
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
