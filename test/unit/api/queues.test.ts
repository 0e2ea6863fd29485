import { describe, expect } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { QueueBeingDeletedError } from '../../../shared/ports/subscriptions.ts';
import { wholeApi } from '../../support/whole-api.ts';
import {
  apiUnderTest,
  apiWithOrders,
  CALLER,
  faultOf,
  invalid,
  it,
  NOON,
  PUBLIC_URL,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';

const POLICY = { minimum_delay: 10, maximum_delay: 60 };

describe('HEAD /v2/queues/{queue}', () => {
  it('shows whether the queue exists, as python-zaqarclient checks it', async ({ dependencies, call }) => {
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
  it('answers 201 with the path of a new queue', async ({ call }) => {
    const answer = await call('PUT', '/v2/queues/orders', {});
    expect(answer).toMatchObject({ status: 201, body: undefined });
    expect(answer.headers.get('location')).toBe('/v2/queues/orders');
  });

  it('treats a missing body as empty metadata', async ({ call }) => {
    expect(await call('PUT', '/v2/queues/orders')).toMatchObject({ status: 201 });
    expect(await call('GET', '/v2/queues/orders')).toMatchObject({ status: 200, body: {} });
  });

  it('replaces the metadata of an existing queue, and keeps its creation time', async ({ api }) => {
    const { call, registry, time } = api;
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

  it('keeps the subscriptions of an existing queue', async ({ call }) => {
    await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://a.example/' });
    await call('PUT', '/v2/queues/orders', { team: 'blue' });
    expect(await call('GET', '/v2/queues/orders/subscriptions')).toMatchObject({
      body: { subscriptions: [{ subscriber: 'https://a.example/' }] },
    });
  });

  it('stores the retry policy both as sent and as parsed', async ({ call, registry }) => {
    await call('PUT', '/v2/queues/orders', { _retry_policy: { ...POLICY, retry_on_status: [429, 429] } });
    expect(await registry.findQueue('orders')).toMatchObject({
      metadata: { _retry_policy: { ...POLICY, retry_on_status: [429, 429] } },
      retryPolicy: { ...POLICY, retry_on_status: [429] },
    });
  });

  it('stores and shows the full policy in place of the name of a preset', async ({ call, registry }) => {
    const { patient } = RETRY_POLICY_PRESETS;
    const metadata = { team: 'red', _retry_policy: patient };
    await call('PUT', '/v2/queues/orders', { team: 'red', _retry_policy: 'patient' });
    expect(await registry.findQueue('orders')).toMatchObject({ metadata, retryPolicy: patient });
    expect((await call('GET', '/v2/queues/orders')).body).toEqual(metadata);
  });

  it('accepts an empty policy, which means all defaults', async ({ call, registry }) => {
    await call('PUT', '/v2/queues/orders', { _retry_policy: {} });
    expect(await registry.findQueue('orders')).toMatchObject({ retryPolicy: {} });
  });

  it('returns any JSON object unchanged', async ({ call }) => {
    const metadata = { text: 'ü\u0000', 'a.b': [1, null, true, { c: [] }], '': -0.5, big: 2 ** 53 - 1 };
    await call('PUT', '/v2/queues/orders', metadata);
    expect((await call('GET', '/v2/queues/orders')).body).toEqual(metadata);
  });

  it.for(['a', 'A.b_c-9', 'x'.repeat(64)])('accepts the name %s', async (name, { call }) => {
    expect(await call('PUT', `/v2/queues/${name}`, {})).toMatchObject({ status: 201 });
  });
});

describe('PUT /v2/queues/{queue} refuses', () => {
  const nested = (levels: number) => `{"deep": ${'['.repeat(levels)}${']'.repeat(levels)}}`;

  it.for([
    ['a list', [], 'metadata'],
    ['values nested too deep', nested(33), 'deep'],
    ['values nested so deep that serialising them would exhaust the stack', nested(30_000), 'deep'],
    ['the name __proto__', '{"__proto__": {"a": 1}}', '__proto__'],
    ['an integer that would lose digits', '{"serial": 9007199254740993}', 'serial'],
    ['a number beyond the range of doubles, in a list', '{"sizes": [1, {"x": 1e999}]}', 'sizes'],
  ] as const)('as metadata: %s', async ([_name, body, field], { call, world }) => {
    expect(await call('PUT', '/v2/queues/orders', body)).toMatchObject(invalid(field));
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('no metadata with the deepest allowed nesting', async ({ call }) => {
    expect(await call('PUT', '/v2/queues/orders', nested(32))).toMatchObject({ status: 201 });
  });

  it.for([
    ['a preset that does not exist', 'often', '_retry_policy'],
    ['an unknown key', { retries: 3 }, '_retry_policy.retries'],
    ['a minimum above the default maximum', { minimum_delay: 31 }, '_retry_policy.maximum_delay'],
  ] as const)('as a retry policy: %s', async ([_name, policy, field], { call, world }) => {
    await call('PUT', '/v2/queues/orders', { team: 'red' });
    const before = await world();
    expect(await call('PUT', '/v2/queues/orders', { team: 'blue', _retry_policy: policy })).toMatchObject(
      refusal('invalid_retry_policy', field),
    );
    expect(await world()).toEqual(before);
  });

  it('metadata over 64 KiB, but accepts exactly 64 KiB', async ({ call, world }) => {
    const sized = (bytes: number) => ({ pad: 'x'.repeat(bytes - '{"pad":""}'.length) });
    expect(await call('PUT', '/v2/queues/orders', sized(65_537))).toMatchObject(refusal('too_large'));
    expect(await world()).toMatchObject({ queues: [] });
    expect(await call('PUT', '/v2/queues/orders', { list: Array(300_000).fill(1) })).toMatchObject({
      status: 413,
    });
    expect(await call('PUT', '/v2/queues/orders', sized(65_536))).toMatchObject({ status: 201 });
  });
});

describe('GET /v2/queues/{queue}', () => {
  it('answers with the metadata', async ({ call }) => {
    await call('PUT', '/v2/queues/orders', { team: 'red', _retry_policy: POLICY });
    const answer = await call('GET', '/v2/queues/orders');
    expect(answer).toMatchObject({ status: 200, body: { team: 'red', _retry_policy: POLICY } });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  });
});

describe('DELETE /v2/queues/{queue}', () => {
  it('deletes the queue and its subscriptions', async ({ call, registry }) => {
    await call('POST', '/v2/queues/orders/subscriptions', { subscriber: 'https://a.example/' });
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204, body: undefined });
    expect(await call('GET', '/v2/queues/orders')).toMatchObject({ status: 404 });
    expect(await registry.listSubscriptions('orders', { limit: 10 })).toEqual({ items: [] });
  });

  it('answers after a second, and leaves the remaining subscriptions to operate', async ({
    registry,
    time,
    queued,
  }) => {
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

  it('succeeds, and is on the audit trail, if removing the subscriptions fails', async ({ registry }) => {
    const fault = new Error('throttled');
    const { call, changes, faults } = apiUnderTest({
      registry: { ...registry, removeDeletedQueue: () => Promise.reject(fault) },
    });
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204 });
    expect(changes).toMatchObject([{ change: 'queue_deleted', queue: 'orders' }]);
    expect(faults).toMatchObject([{ fault }]);
  });

  it('makes creating the queue again fail with 409 while it is being removed', async ({ registry }) => {
    const { call } = apiUnderTest({
      registry: { ...registry, putQueue: ({ name }) => Promise.reject(new QueueBeingDeletedError(name)) },
    });
    expect(await call('PUT', '/v2/queues/orders')).toMatchObject(refusal('conflict'));
  });

  it('answers 204 for an unknown queue', async ({ call }) => {
    expect(await call('DELETE', '/v2/queues/orders')).toMatchObject({ status: 204 });
  });
});

describe('GET /v2/queues', () => {
  const withQueues = async (count: number) => {
    const { call } = apiUnderTest();
    const names = Array.from({ length: count }, (_, index) => `q${String(index).padStart(3, '0')}`);
    for (const name of names) await call('PUT', `/v2/queues/${name}`, { of: name });
    return { call, names };
  };

  it('answers with an empty list if there are no queues', async ({ call }) => {
    expect(await call('GET', '/v2/queues')).toMatchObject({ status: 200, body: { queues: [], links: [] } });
  });

  it('lists names and paths, and metadata only on request', async () => {
    const { call } = await withQueues(1);
    const entry = { name: 'q000', href: '/v2/queues/q000' };
    expect((await call('GET', '/v2/queues')).body).toEqual({ queues: [entry], links: [] });
    expect((await call('GET', '/v2/queues?detailed=false')).body).toEqual({ queues: [entry], links: [] });
    expect((await call('GET', '/v2/queues?detailed=true')).body).toEqual({
      queues: [{ ...entry, metadata: { of: 'q000' } }],
      links: [],
    });
  });

  it('accepts True and False, as python-zaqarclient sends them', async () => {
    const { call } = await withQueues(1);
    expect((await call('GET', '/v2/queues?detailed=True')).body).toHaveProperty('queues.0.metadata');
    expect((await call('GET', '/v2/queues?detailed=False')).body).not.toHaveProperty('queues.0.metadata');
    expect(await call('GET', '/v2/queues?detailed=yes')).toMatchObject(invalid('detailed'));
  });

  it.each([
    ['/v2/queues', [10, 10, 5]],
    ['/v2/queues?limit=7', [7, 7, 7, 4]],
    ['/v2/queues?limit=25', [25]],
    ['/v2/queues?limit=100', [25]],
    ['/v2/queues?limit=12&detailed=true', [12, 12, 1]],
  ])('pages through %s by links', async (first, sizes) => {
    const { call, names } = await withQueues(25);
    const seen: string[] = [];
    const seenSizes: number[] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const { body } = await call('GET', path);
      const page = body as { queues: { name: string; metadata?: unknown }[]; links: { href: string }[] };
      expect(
        page.queues.every((queue) => (queue.metadata !== undefined) === first.includes('detailed')),
      ).toBe(true);
      seen.push(...page.queues.map(({ name }) => name));
      seenSizes.push(page.queues.length);
      path = page.links[0]?.href;
    }
    expect(seen).toEqual(names);
    expect(seenSizes).toEqual(sizes);
  });

  it('ignores unknown query parameters', async () => {
    const { call } = await withQueues(1);
    expect(await call('GET', '/v2/queues?with_count=true')).toMatchObject({ status: 200 });
  });
});

describe('the retention of a queue', () => {
  it('is at most that of the deployment, which the refusal names', async () => {
    const { call } = await apiWithOrders();
    expect((await call('PUT', QUEUE, { _retention_days: 30 })).status).toBe(204);
    const patch = [{ op: 'replace', path: '/metadata/_retention_days', value: 31 }];
    for (const refused of [
      await call('PUT', QUEUE, { _retention_days: 31 }),
      await call('PATCH', QUEUE, patch),
    ]) {
      expect(refused).toMatchObject(invalid('_retention_days'));
      expect(JSON.stringify(refused.body)).toContain('the 30 days of the setting retentionDays');
    }
    expect((await call('GET', QUEUE)).body).toEqual({ _retention_days: 30 });
  });

  it.each([
    [20, { _retention_days: 20 }],
    [30, { _retention_days: 31 }],
  ])('limits how far back a recovery goes: %i days with the metadata %j', async (days, metadata) => {
    const { call, registry } = await apiWithOrders();
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata });
    // The retention after 15 days of schedule, in which each of 100 retries is delayed by another hour.
    const oldest = NOON - (days + 15) * DAY_MS - 100 * 60 * 60 * 1000;
    const startFrom = (since: number) =>
      call('POST', `${QUEUE}/recoveries`, {
        since: new Date(since).toISOString(),
        until: new Date(NOON).toISOString(),
      });
    expect((await startFrom(oldest)).status).toBe(202);
    expect(await startFrom(oldest - 1)).toMatchObject(invalid('since'));
  });

  it('is that of the message and delivery of a test', async () => {
    let now = NOON;
    const sleep = (milliseconds: number): Promise<void> => {
      now += milliseconds;
      return Promise.resolve();
    };
    const { call, registry, jobs, messageRecords } = await apiWithOrders({
      clock: { now: () => now, sleep },
    });
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata: { _retention_days: 20 } });
    await call('POST', `${QUEUE}/subscriptions`, { subscriber: 'https://hooks.example/a' });
    const [subscription] = (await registry.listSubscriptions('orders', { limit: 1 })).items;
    await call('POST', `${QUEUE}/subscriptions/${subscription?.id ?? ''}/test`);
    expect(jobs).toMatchObject([{ retentionDays: 20 }]);
    const record = await messageRecords.find({ queue: 'orders', messageId: jobs[0]?.key.messageId ?? '' });
    expect(record).toMatchObject({ retentionDays: 20, expiresAt: NOON + 20 * DAY_MS });
  });
});
const HOOK = 'https://hooks.example';

const full = refusal('conflict');

const withRoomFor = (most: { subscriptions?: number; bytes?: number }) => {
  const { settings } = apiUnderTest().dependencies;
  return apiUnderTest({
    settings: { ...settings, queueLimit: { subscriptions: 100, bytes: 100_000, ...most } },
  });
};

describe('a full queue', () => {
  it('refuses another subscription with its limits, and does not affect other queues', async () => {
    const { call, world } = withRoomFor({ subscriptions: 1 });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/1` });
    const before = await world();
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject(full);
    expect(JSON.stringify(answer.body)).toContain('at most 1 subscriptions, and 100000 bytes');
    expect(await world()).toEqual(before);
    expect(await call('POST', '/v2/queues/others/subscriptions', { subscriber: HOOK })).toMatchObject({
      status: 201,
    });
  });

  it('is one with as many subscriptions as its metadata allows, if that is less than the setting', async () => {
    const { call } = withRoomFor({ subscriptions: 2 });
    const subscribe = async (n: number) =>
      (await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/${n}` })).status;
    const allow = (most: number) => call('PUT', '/v2/queues/orders', { _max_subscriptions: most });
    await allow(1);
    expect([await subscribe(1), await subscribe(2)]).toEqual([201, 409]);
    await allow(100);
    expect([await subscribe(2), await subscribe(3)]).toEqual([201, 409]);
    await allow(1);
    expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { name: 'x' })).toMatchObject({ status: 200 });
  });

  it('has room again after a deleted subscription is removed', async () => {
    const { call, registry } = withRoomFor({ subscriptions: 1 });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/1` });
    await call('DELETE', `${SUBSCRIPTIONS}/id-1`);
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` })).toMatchObject(full);
    await registry.removeMarked('orders', 'id-1');
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` })).toMatchObject({ status: 201 });
  });

  it('refuses changes that make a subscription larger, and accepts others', async () => {
    const { call } = withRoomFor({ bytes: 2_000 });
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: { post_data: 'x'.repeat(1_000) } });
    const larger = { options: { post_data: 'x'.repeat(2_000) } };
    expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, larger)).toMatchObject(full);
    expect(
      await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { subscriber: `${HOOK}/${'x'.repeat(1_500)}` }),
    ).toMatchObject(full);
    expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { name: 'x'.repeat(128) })).toMatchObject({
      status: 200,
    });
    const smaller = { options: { post_data: 'x'.repeat(900) } };
    expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, smaller)).toMatchObject({ status: 200 });
    expect(await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { ttl: 60 })).toMatchObject({ status: 200 });
    expect(await call('POST', `${SUBSCRIPTIONS}/id-1/disable`)).toMatchObject({ status: 200 });
  });

  it('refuses lines of an import individually', async () => {
    const { call } = withRoomFor({ subscriptions: 1 });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/1` });
    const line = JSON.stringify({ subscriber: `${HOOK}/2` });
    const { status, body } = await call('POST', '/v2/queues/orders/import', `${line}\n`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ imported: 0, failed: [{ line: 1, ...faultOf('conflict') }] });
  });
});
