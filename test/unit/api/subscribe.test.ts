import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { describe, expect, it } from 'vitest';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';

describe('POST /v2/queues/{queue}/subscriptions', () => {
  it('answers 201 with the id and the path of the subscription', async () => {
    const { call } = apiUnderTest();
    const answer = await call('POST', PATH, { subscriber: HOOK });
    expect(answer).toMatchObject({ status: 201, body: { subscription_id: 'id-1' } });
    expect(answer.headers.get('location')).toBe(`${PATH}/id-1`);
  });

  it('creates a missing queue', async () => {
    const { call, registry } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    expect(await registry.findQueue('orders')).toEqual({ name: 'orders', metadata: {}, createdAt: NOON });
  });

  it('leaves an existing queue unchanged', async () => {
    const { call } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { team: 'red' });
    await call('POST', PATH, { subscriber: HOOK });
    expect((await call('GET', '/v2/queues/orders')).body).toEqual({ team: 'red' });
  });

  it('stores all options, and the expiry from the ttl', async () => {
    const { call, registry } = apiUnderTest();
    const options = {
      _retry_policy: { minimum_delay: 1, maximum_delay: 2 },
      post_headers: { Authorization: 'Bearer s3cret', 'X-Empty': '', 'content-type': 'text/x-mine' },
      post_data: '{"wrapped": "$zaqar_message$"}',
      raw_delivery: false,
    };
    expect(await call('POST', PATH, { subscriber: HOOK, ttl: 3600, options })).toMatchObject({ status: 201 });
    expect(await registry.findSubscription('orders', 'id-1')).toEqual({
      id: 'id-1',
      queue: 'orders',
      destination: parseDestination(HOOK),
      options,
      createdAt: NOON,
      secrets: [{ sealed: 'sealed-1' }],
      ttl: 3600,
      expiresAt: NOON + 3_600_000,
    });
  });

  it('never expires without a ttl', async () => {
    const { call, registry } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    expect(await registry.findSubscription('orders', 'id-1')).toEqual({
      id: 'id-1',
      queue: 'orders',
      destination: parseDestination(HOOK),
      options: {},
      createdAt: NOON,
      secrets: [{ sealed: 'sealed-1' }],
    });
  });

  it('stores and shows the full policy in place of the name of a preset', async () => {
    const { call, registry } = apiUnderTest();
    const options = { _retry_policy: RETRY_POLICY_PRESETS['standard-webhooks'] };
    await call('POST', PATH, { subscriber: HOOK, options: { _retry_policy: 'standard-webhooks' } });
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ options });
    expect((await call('GET', `${PATH}/id-1`)).body).toMatchObject({ options });
    expect(await call('PATCH', `${PATH}/id-1`, { options: { _retry_policy: 'patiant' } })).toMatchObject({
      status: 400,
      body: faultOf('invalid_retry_policy', 'options._retry_policy'),
    });
  });

  it('answers 409 for an existing subscriber, and writes nothing', async () => {
    const { call, world } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    const before = await world();
    const answer = await call('POST', PATH, { subscriber: HOOK, ttl: 60 });
    expect(answer).toMatchObject({ status: 409, body: faultOf('conflict', 'subscriber') });
    expect(JSON.stringify(answer.body)).toContain('id-1');
    expect(await world()).toEqual(before);
  });

  it('accepts the same subscriber in two queues, and again after its subscription is deleted or expired', async () => {
    const { call, time } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    expect(await call('POST', '/v2/queues/bills/subscriptions', { subscriber: HOOK })).toMatchObject({
      status: 201,
    });
    await call('DELETE', `${PATH}/id-1`);
    expect(await call('POST', PATH, { subscriber: HOOK, ttl: 5 })).toMatchObject({ status: 201 });
    time.now += 5000;
    expect(await call('POST', PATH, { subscriber: HOOK })).toMatchObject({ status: 201 });
  });

  it.each([1, 315_360_000])('accepts a ttl of %i s', async (ttl) => {
    const { call } = apiUnderTest();
    expect(await call('POST', PATH, { subscriber: HOOK, ttl })).toMatchObject({ status: 201 });
  });

  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']));

  it.each([
    ['50 headers', { post_headers: headers(50) }],
    ['8 KiB of headers', { post_headers: { 'x-a': '1'.repeat(8189) } }],
    ['a header with tab, blank and every printable character', { post_headers: { 'x-a': '\t !"#~' } }],
    ['64 KiB of options', { post_data: 'x'.repeat(65_536 - '{"post_data":""}'.length) }],
    ['no options at all', {}],
  ])('accepts %s', async (_name, options) => {
    const { call } = apiUnderTest();
    expect(await call('POST', PATH, { subscriber: HOOK, options })).toMatchObject({ status: 201 });
  });

  it('answers 409 if the queue is deleted at the same moment', async () => {
    const { registry } = apiUnderTest();
    const { call } = apiUnderTest({ registry: { ...registry, ensureQueue: () => Promise.resolve() } });
    expect(await call('POST', PATH, { subscriber: HOOK })).toMatchObject({
      status: 409,
      body: faultOf('conflict'),
    });
  });
});
