import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const listed = z.strictObject({
  queues: z.array(z.looseObject({ name: z.string() })),
  links: z.array(z.object({ href: z.string() })),
  count: z.number().optional(),
});

describe('GET /', () => {
  it('lists the versions, which OpenStack clients request first', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', '/')).toMatchObject({
      status: 300,
      body: { versions: [{ id: '2', status: 'CURRENT', links: [{ href: '/v2', rel: 'self' }] }] },
    });
  });
});

describe('the list of queues', () => {
  const api = async () => {
    const { call } = apiUnderTest();
    for (const name of ['bills', 'orders', 'orders-eu', 'reorders']) await call('PUT', `/v2/queues/${name}`);
    return async (path: string) => listed.parse((await call('GET', path)).body);
  };
  const namesOf = ({ queues }: z.output<typeof listed>): string[] => queues.map(({ name }) => name);

  it('can be filtered by a part of the name, page by page', async () => {
    const list = await api();
    const first = await list('/v2/queues?name=order&limit=2');
    expect(namesOf(first)).toEqual(['orders', 'orders-eu']);
    const next = await list(first.links[0]?.href ?? '');
    expect(namesOf(next)).toEqual(['reorders']);
    expect(next.links).toEqual([]);
  });

  it('contains the number of all queues on request', async () => {
    const list = await api();
    expect((await list('/v2/queues?limit=1')).count).toBeUndefined();
    const first = await list('/v2/queues?limit=1&with_count=true');
    expect(first.count).toBe(4);
    expect((await list(first.links[0]?.href ?? '')).count).toBeUndefined();
    expect((await list('/v2/queues?with_count=true&name=eu')).count).toBe(1);
  });
});

describe('the rules for posts in the metadata of a queue', () => {
  const post = { messages: [{ body: 1 }, { body: 2, ttl: 7, delay: 0 }] };

  it('supply missing ttls and delays', async () => {
    const { call, published } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { _default_message_ttl: 600, _default_message_delay: 30 });
    expect((await call('POST', '/v2/queues/orders/messages', post)).status).toBe(201);
    expect(published.map((text): unknown => JSON.parse(text))).toEqual([
      { queue: 'orders', id: 'id-1', ttl: 600, delay: 30, data: 1 },
      { queue: 'orders', id: 'id-2', ttl: 7, delay: 0, data: 2 },
    ]);
  });

  it('limit the size of a post', async () => {
    const { call, published } = apiUnderTest();
    const bytes = Buffer.byteLength(JSON.stringify(post));
    await call('PUT', '/v2/queues/orders', { _max_messages_post_size: bytes - 1 });
    expect(await call('POST', '/v2/queues/orders/messages', post)).toMatchObject({
      status: 413,
      body: faultOf('too_large'),
    });
    expect(published).toEqual([]);
    await call('PUT', '/v2/queues/orders', { _max_messages_post_size: bytes });
    expect((await call('POST', '/v2/queues/orders/messages', post)).status).toBe(201);
  });

  it.each([
    ['_default_message_ttl', 0],
    ['_default_message_delay', 901],
    ['_max_messages_post_size', 0],
    ['_attempt_timeout', 31],
    ['_max_subscriptions', 0],
    ['_retention_days', 14],
    ['_retention_days', 31],
    ['_retain_messages', 'some'],
  ])('are refused with %s = %j', async (name, value) => {
    const { call } = apiUnderTest();
    expect(await call('PUT', '/v2/queues/orders', { [name]: value })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', name),
    });
  });
});

describe('PUT /v2/queues/{queue}/subscriptions/{subscription}/confirm', () => {
  const underTest = async () => {
    const api = apiUnderTest();
    await api.call('PUT', '/v2/queues/orders');
    await api.call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://hooks.example/a' });
    const [subscription] = (await api.registry.listSubscriptions('orders', { limit: 1 })).items;
    const id = subscription?.id ?? '';
    const confirm = (body: unknown) => api.call('PUT', `/v2/queues/orders/subscriptions/${id}/confirm`, body);
    const found = () => api.registry.findSubscription('orders', id);
    return { ...api, id, confirm, found };
  };

  it('revokes a confirmation without sending a confirmation request', async () => {
    const { confirm, found, jobs, changes, id } = await underTest();
    expect((await confirm({ confirmed: false })).status).toBe(204);
    expect(await found()).toMatchObject({ unconfirmed: { at: NOON } });
    expect((await found())?.unconfirmed).not.toHaveProperty('owed');
    expect(jobs).toEqual([]);
    expect(changes.at(-1)).toMatchObject({
      change: 'subscription_unconfirmed',
      queue: 'orders',
      subscriptionId: id,
    });
  });

  it('confirms a subscription, and is idempotent', async () => {
    const { confirm, found, changes, time } = await underTest();
    await confirm({ confirmed: false });
    time.now += 5;
    expect((await confirm({ confirmed: true })).status).toBe(204);
    const confirmed = await found();
    expect(confirmed?.unconfirmed).toBeUndefined();
    expect(confirmed?.confirmedAt).toBe(NOON + 5);
    const before = changes.length;
    time.now += 5;
    expect((await confirm({ confirmed: true })).status).toBe(204);
    expect(await found()).toEqual(confirmed);
    expect(changes).toHaveLength(before);
  });

  it('refuses an invalid body, and an unknown subscription', async () => {
    const { confirm, call } = await underTest();
    expect(await confirm({ confirmed: 'yes' })).toMatchObject({ status: 400 });
    expect(await confirm({})).toMatchObject({ status: 400 });
    const path = '/v2/queues/orders/subscriptions/unknown/confirm';
    expect(await call('PUT', path, { confirmed: true })).toMatchObject({ status: 404 });
  });
});
