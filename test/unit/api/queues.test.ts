import { describe, expect, it } from 'vitest';
import { QueueBeingDeletedError } from '../../../shared/ports/subscriptions.ts';
import { wholeApi } from '../../support/whole-api.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { apiUnderTest, CALLER, faultOf, NOON, PUBLIC_URL } from './api-under-test.ts';

const POLICY = { minimum_delay: 10, maximum_delay: 60 };

describe('HEAD /v2/queues/{queue}', () => {
  it('shows whether the queue exists, as python-zaqarclient checks it', async () => {
    const { dependencies, call } = apiUnderTest();
    const api = wholeApi(dependencies);
    const statusOf = async () =>
      (await api.request('/v2/queues/orders', { method: 'HEAD' }, { caller: CALLER, publicUrl: PUBLIC_URL }))
        .status;
    expect(await statusOf()).toBe(404);
    await call('PUT', '/v2/queues/orders');
    expect(await statusOf()).toBe(200);
  });
});

describe('PUT /v2/queues/{queue}', () => {
  it('answers 201 with the path of a new queue', async () => {
    const { call } = apiUnderTest();
    const answer = await call('PUT', '/v2/queues/orders', {});
    expect(answer).toMatchObject({ status: 201, body: undefined });
    expect(answer.headers.get('location')).toBe('/v2/queues/orders');
  });

  it('treats a missing body as empty metadata', async () => {
    const { call } = apiUnderTest();
    expect(await call('PUT', '/v2/queues/orders')).toMatchObject({ status: 201 });
    expect(await call('GET', '/v2/queues/orders')).toMatchObject({ status: 200, body: {} });
  });

  it('answers 204 for an existing queue, replaces its metadata and keeps its creation time', async () => {
    const { call, registry, time } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { team: 'red', _retry_policy: POLICY });
    time.now += 1000;
    expect(await call('PUT', '/v2/queues/orders', { team: 'blue' })).toMatchObject({
      status: 204,
      body: undefined,
    });
    expect(await registry.findQueue('orders')).toEqual({
      name: 'orders',
      metadata: { team: 'blue' },
      createdAt: NOON,
    });
  });

  it('keeps the subscriptions of an existing queue', async () => {
    const { call } = apiUnderTest();
    await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://a.example/' });
    await call('PUT', '/v2/queues/orders', { team: 'blue' });
    expect(await call('GET', '/v2/queues/orders/subscriptions')).toMatchObject({
      body: { subscriptions: [{ subscriber: 'https://a.example/' }] },
    });
  });

  it('stores the retry policy both as sent and as parsed', async () => {
    const { call, registry } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { _retry_policy: { ...POLICY, retry_on_status: [429, 429] } });
    expect(await registry.findQueue('orders')).toMatchObject({
      metadata: { _retry_policy: { ...POLICY, retry_on_status: [429, 429] } },
      retryPolicy: { ...POLICY, retry_on_status: [429] },
    });
  });

  it('stores and shows the full policy in place of the name of a preset', async () => {
    const { call, registry } = apiUnderTest();
    const { patient } = RETRY_POLICY_PRESETS;
    const metadata = { team: 'red', _retry_policy: patient };
    await call('PUT', '/v2/queues/orders', { team: 'red', _retry_policy: 'patient' });
    expect(await registry.findQueue('orders')).toMatchObject({ metadata, retryPolicy: patient });
    expect((await call('GET', '/v2/queues/orders')).body).toEqual(metadata);
  });

  it('accepts an empty policy, which means all defaults', async () => {
    const { call, registry } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { _retry_policy: {} });
    expect(await registry.findQueue('orders')).toMatchObject({ retryPolicy: {} });
  });

  it('returns any JSON object unchanged', async () => {
    const { call } = apiUnderTest();
    const metadata = { text: 'ü\u0000', 'a.b': [1, null, true, { c: [] }], '': -0.5, big: 2 ** 53 - 1 };
    await call('PUT', '/v2/queues/orders', metadata);
    expect((await call('GET', '/v2/queues/orders')).body).toEqual(metadata);
  });

  it.each(['a', 'A.b_c-9', 'x'.repeat(64)])('accepts the name %s', async (name) => {
    const { call } = apiUnderTest();
    expect(await call('PUT', `/v2/queues/${name}`, {})).toMatchObject({ status: 201 });
  });
});

describe('PUT /v2/queues/{queue} refuses', () => {
  const nested = (levels: number) => `{"deep": ${'['.repeat(levels)}${']'.repeat(levels)}}`;

  it.each([
    ['a list', [], 'metadata'],
    ['values nested too deep', nested(33), 'deep'],
    ['values nested so deep that serialising them would exhaust the stack', nested(30_000), 'deep'],
    ['the name __proto__', '{"__proto__": {"a": 1}}', '__proto__'],
    ['an integer that would lose digits', '{"serial": 9007199254740993}', 'serial'],
    ['a number beyond the range of doubles, in a list', '{"sizes": [1, {"x": 1e999}]}', 'sizes'],
  ])('as metadata: %s', async (_name, body, field) => {
    const { call, world } = apiUnderTest();
    expect(await call('PUT', '/v2/queues/orders', body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('no metadata with the deepest allowed nesting', async () => {
    const { call } = apiUnderTest();
    expect(await call('PUT', '/v2/queues/orders', nested(32))).toMatchObject({ status: 201 });
  });

  it.each([
    ['a preset that does not exist', 'often', '_retry_policy'],
    ['an unknown key', { retries: 3 }, '_retry_policy.retries'],
    ['a minimum above the default maximum', { minimum_delay: 31 }, '_retry_policy.maximum_delay'],
  ])('as a retry policy: %s', async (_name, policy, field) => {
    const { call, world } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { team: 'red' });
    const before = await world();
    expect(await call('PUT', '/v2/queues/orders', { team: 'blue', _retry_policy: policy })).toMatchObject({
      status: 400,
      body: faultOf('invalid_retry_policy', field),
    });
    expect(await world()).toEqual(before);
  });

  it('metadata over 64 KiB, but accepts exactly 64 KiB', async () => {
    const { call, world } = apiUnderTest();
    const sized = (bytes: number) => ({ pad: 'x'.repeat(bytes - '{"pad":""}'.length) });
    expect(await call('PUT', '/v2/queues/orders', sized(65_537))).toMatchObject({
      status: 413,
      body: faultOf('too_large'),
    });
    expect(await world()).toMatchObject({ queues: [] });
    expect(await call('PUT', '/v2/queues/orders', { list: Array(300_000).fill(1) })).toMatchObject({
      status: 413,
    });
    expect(await call('PUT', '/v2/queues/orders', sized(65_536))).toMatchObject({ status: 201 });
  });
});

describe('GET /v2/queues/{queue}', () => {
  it('answers with the metadata', async () => {
    const { call } = apiUnderTest();
    await call('PUT', '/v2/queues/orders', { team: 'red', _retry_policy: POLICY });
    const answer = await call('GET', '/v2/queues/orders');
    expect(answer).toMatchObject({ status: 200, body: { team: 'red', _retry_policy: POLICY } });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  });

  it('answers 404 for an unknown queue', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', '/v2/queues/orders')).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});

describe('DELETE /v2/queues/{queue}', () => {
  it('deletes the queue and its subscriptions', async () => {
    const { call, registry } = apiUnderTest();
    await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://a.example/' });
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204, body: undefined });
    expect(await call('GET', '/v2/queues/orders')).toMatchObject({ status: 404 });
    expect(await registry.listSubscriptions('orders', { limit: 10 })).toEqual({ items: [] });
  });

  it('answers after a second, and leaves the remaining subscriptions to operate', async () => {
    const { registry, time, queued } = apiUnderTest();
    const slow = {
      ...registry,
      removeDeletedQueue: (_name: string, hasTime: () => boolean) => {
        while (hasTime()) time.now += 100;
        return Promise.resolve(false);
      },
    };
    const api = apiUnderTest({
      registry: slow,
      clock: { now: () => time.now, sleep: () => Promise.resolve() },
    });
    const startedAt = time.now;
    expect(await api.call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204 });
    expect(time.now - startedAt).toBe(1_000);
    expect(queued).toEqual([]);
    expect(api.queued).toEqual([
      { operation: { kind: 'cancellation', queue: 'orders', deletedAt: startedAt }, delaySeconds: 2 },
    ]);
  });

  it('succeeds, and is on the audit trail, if removing the subscriptions fails', async () => {
    const { registry } = apiUnderTest();
    const fault = new Error('throttled');
    const { call, changes, faults } = apiUnderTest({
      registry: { ...registry, removeDeletedQueue: () => Promise.reject(fault) },
    });
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204 });
    expect(changes).toMatchObject([{ change: 'queue_deleted', queue: 'orders' }]);
    expect(faults).toMatchObject([{ fault }]);
  });

  it('makes creating the queue again fail with 409 while it is being removed', async () => {
    const { registry } = apiUnderTest();
    const { call } = apiUnderTest({
      registry: { ...registry, putQueue: ({ name }) => Promise.reject(new QueueBeingDeletedError(name)) },
    });
    expect(await call('PUT', '/v2/queues/orders')).toMatchObject({ status: 409, body: faultOf('conflict') });
  });

  it('answers 204 for an unknown queue', async () => {
    const { call } = apiUnderTest();
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204 });
  });
});
