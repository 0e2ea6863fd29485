import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const PATH = '/v2/queues/orders/subscriptions';
const HOOK = 'https://hooks.example';

const full = { status: 409, body: faultOf('conflict') };

const withRoomFor = (most: { subscriptions?: number; bytes?: number }) => {
  const { settings } = apiUnderTest().dependencies;
  return apiUnderTest({
    settings: { ...settings, queueLimit: { subscriptions: 100, bytes: 100_000, ...most } },
  });
};

describe('a full queue', () => {
  it('refuses another subscription with its limits, and does not affect other queues', async () => {
    const { call, world } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    const before = await world();
    const answer = await call('POST', PATH, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject(full);
    expect(JSON.stringify(answer.body)).toContain('at most 1 subscriptions, and 100000 bytes');
    expect(await world()).toEqual(before);
    expect(await call('POST', '/v2/queues/others/subscriptions', { subscriber: HOOK })).toMatchObject({
      status: 201,
    });
  });

  it('is one with as many subscriptions as its metadata allows, if that is less than the setting', async () => {
    const { call } = withRoomFor({ subscriptions: 2 });
    const subscribe = async (n: number) => (await call('POST', PATH, { subscriber: `${HOOK}/${n}` })).status;
    const allow = (most: number) => call('PUT', '/v2/queues/orders', { _max_subscriptions: most });
    await allow(1);
    expect([await subscribe(1), await subscribe(2)]).toEqual([201, 409]);
    await allow(100);
    expect([await subscribe(2), await subscribe(3)]).toEqual([201, 409]);
    await allow(1);
    expect(await call('PATCH', `${PATH}/id-1`, { name: 'x' })).toMatchObject({ status: 200 });
  });

  it('has room again after a deleted subscription is removed', async () => {
    const { call, registry } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    await call('DELETE', `${PATH}/id-1`);
    expect(await call('POST', PATH, { subscriber: `${HOOK}/2` })).toMatchObject(full);
    await registry.removeMarked('orders', 'id-1');
    expect(await call('POST', PATH, { subscriber: `${HOOK}/2` })).toMatchObject({ status: 201 });
  });

  it('refuses changes that make a subscription larger, and accepts others', async () => {
    const { call } = withRoomFor({ bytes: 2_000 });
    await call('POST', PATH, { subscriber: HOOK, options: { post_data: 'x'.repeat(1_000) } });
    const larger = { options: { post_data: 'x'.repeat(2_000) } };
    expect(await call('PATCH', `${PATH}/id-1`, larger)).toMatchObject(full);
    expect(await call('PATCH', `${PATH}/id-1`, { subscriber: `${HOOK}/${'x'.repeat(1_500)}` })).toMatchObject(
      full,
    );
    expect(await call('PATCH', `${PATH}/id-1`, { name: 'x'.repeat(128) })).toMatchObject({ status: 200 });
    const smaller = { options: { post_data: 'x'.repeat(900) } };
    expect(await call('PATCH', `${PATH}/id-1`, smaller)).toMatchObject({ status: 200 });
    expect(await call('PATCH', `${PATH}/id-1`, { ttl: 60 })).toMatchObject({ status: 200 });
    expect(await call('POST', `${PATH}/id-1/disable`)).toMatchObject({ status: 200 });
  });

  it('refuses lines of an import individually', async () => {
    const { call } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    const line = JSON.stringify({ subscriber: `${HOOK}/2` });
    const { status, body } = await call('POST', '/v2/queues/orders/import', `${line}\n`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ imported: 0, failed: [{ line: 1, ...faultOf('conflict') }] });
  });
});
