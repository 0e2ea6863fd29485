import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';

describe('GET /v2/queues/{queue}/subscriptions', () => {
  it('answers with an empty list if there are no subscriptions', async () => {
    const { call } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', {});
    expect(await call('GET', PATH)).toMatchObject({ status: 200, body: { subscriptions: [], links: [] } });
  });

  it('answers 404 for an unknown queue', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', PATH)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });

  it("lists subscriptions in Zaqar's form, with their age in seconds", async () => {
    const { call, time } = apiUnderTest();
    const options = { _retry_policy: { minimum_delay: 2 }, raw_delivery: true };
    await call('POST', PATH, { name: 'Billing', subscriber: HOOK, ttl: 60, options });
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
    time.now += 2999;
    expect((await call('GET', PATH)).body).toEqual({
      subscriptions: [
        {
          id: 'id-1',
          source: 'orders',
          name: 'Billing',
          subscriber: HOOK,
          ttl: 60,
          age: 2,
          options,
          confirmed: true,
        },
        {
          id: 'id-2',
          source: 'orders',
          subscriber: `${HOOK}/2`,
          ttl: null,
          age: 2,
          options: {},
          confirmed: true,
        },
      ],
      links: [],
    });
  });

  it('leaves out expired subscriptions', async () => {
    const { call, time } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK, ttl: 60 });
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
    time.now += 60_000;
    expect((await call('GET', PATH)).body).toMatchObject({ subscriptions: [{ id: 'id-2' }] });
  });

  it('shows why and since when a subscription is disabled', async () => {
    const { call, registry } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON });
    expect((await call('GET', PATH)).body).toMatchObject({
      subscriptions: [{ id: 'id-1', disabled: { reason: 'gone', at: '2026-11-21T12:00:00.000Z' } }],
    });
  });

  it('finds subscriptions by the start of the id or a part of the name or URL, and keeps the text in links', async () => {
    const { call } = apiUnderTest();
    for (const [path, name] of [
      ['a', undefined],
      ['b', 'EU & US'],
      ['c', 'US'],
      ['d?x=US', undefined],
    ])
      await call('POST', PATH, { subscriber: `${HOOK}/${path}`, ...(name !== undefined && { name }) });
    const idsAt = async (path: string): Promise<string[]> => {
      const { body } = await call('GET', path);
      const page = body as { subscriptions: { id: string }[]; links: { href: string }[] };
      const ids = page.subscriptions.map(({ id }) => id);
      const next = page.links[0]?.href;
      return next === undefined ? ids : [...ids, ...(await idsAt(next))];
    };
    expect(await idsAt(`${PATH}?match=id-4`)).toEqual(['id-4']);
    expect(await idsAt(`${PATH}?limit=1&match=US`)).toEqual(['id-2', 'id-3', 'id-4']);
    expect(await idsAt(`${PATH}?limit=1&match=${encodeURIComponent('EU & US')}`)).toEqual(['id-2']);
    expect(await idsAt(`${PATH}?match=us`)).toEqual([]);
  });

  it("refuses another queue's marker", async () => {
    const { call } = apiUnderTest();
    for (const queue of ['orders', 'bills']) {
      for (const path of ['a', 'b']) {
        await call('POST', `/v2/queues/${queue}/subscriptions`, { subscriber: `${HOOK}/${path}` });
      }
    }
    const { body } = await call('GET', '/v2/queues/bills/subscriptions?limit=1');
    const [link] = (body as { links: { href: string }[] }).links;
    expect(await call('GET', link?.href.replace('bills', 'orders') ?? '')).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'marker'),
    });
  });
});

describe('GET /v2/queues/{queue}/subscriptions/{id}', () => {
  it('shows one subscription', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK, ttl: 60 });
    expect(await call('GET', `${PATH}/id-1`)).toMatchObject({
      status: 200,
      body: { id: 'id-1', source: 'orders', subscriber: HOOK, ttl: 60, age: 0, options: {} },
    });
  });

  it.each(['id-2', 'not%20an%20id', 'x'.repeat(2000)])('answers 404 for %s', async (id) => {
    const { call } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    expect(await call('GET', `${PATH}/${id}`)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });

  it("answers 404 for another queue's subscription, and for an expired one", async () => {
    const { call, time } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK, ttl: 60 });
    await call('PUT', '/v2/queues/bills', {});
    expect(await call('GET', '/v2/queues/bills/subscriptions/id-1')).toMatchObject({ status: 404 });
    time.now += 59_999;
    expect(await call('GET', `${PATH}/id-1`)).toMatchObject({ status: 200 });
    time.now += 1;
    expect(await call('GET', `${PATH}/id-1`)).toMatchObject({ status: 404 });
  });
});

describe('DELETE /v2/queues/{queue}/subscriptions/{id}', () => {
  it('deletes only this subscription', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
    expect(await call('DELETE', `${PATH}/id-1`)).toMatchObject({ status: 204, body: undefined });
    expect((await call('GET', PATH)).body).toMatchObject({ subscriptions: [{ id: 'id-2' }] });
  });
});
