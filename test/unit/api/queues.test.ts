import { describe, expect, it } from 'vitest';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { QueueBeingDeletedError } from '../../../shared/ports/subscriptions.ts';
import { wholeApi } from '../../support/whole-api.ts';
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

const PATH = '/v2/queues/orders';
const METADATA = { team: 'red', tags: ['a', 'b'], deep: { 'a/b': 1, '~': null } };

const withQueue = async (metadata: unknown = METADATA) => {
  const api = apiUnderTest();
  await api.call('PUT', PATH, metadata);
  return api;
};

describe('PATCH /v2/queues/{queue}', () => {
  it.each<[string, object[], object]>([
    [
      'adds a member',
      [{ op: 'add', path: '/metadata/new', value: { a: [1] } }],
      { ...METADATA, new: { a: [1] } },
    ],
    [
      'overwrites an existing member',
      [{ op: 'add', path: '/metadata/team', value: null }],
      { ...METADATA, team: null },
    ],
    [
      'replaces a member',
      [{ op: 'replace', path: '/metadata/team', value: 'blue' }],
      { ...METADATA, team: 'blue' },
    ],
    [
      'removes a member',
      [{ op: 'remove', path: '/metadata/tags' }],
      { team: METADATA.team, deep: METADATA.deep },
    ],
    [
      'inserts into lists',
      [{ op: 'add', path: '/metadata/tags/1', value: 'x' }],
      { ...METADATA, tags: ['a', 'x', 'b'] },
    ],
    [
      'appends to lists',
      [{ op: 'add', path: '/metadata/tags/-', value: 'c' }],
      { ...METADATA, tags: ['a', 'b', 'c'] },
    ],
    [
      'reads escaped names',
      [{ op: 'remove', path: '/metadata/deep/a~1b' }],
      { ...METADATA, deep: { '~': null } },
    ],
    [
      'moves a member',
      [{ op: 'move', from: '/metadata/team', path: '/metadata/deep/team' }],
      { tags: METADATA.tags, deep: { ...METADATA.deep, team: 'red' } },
    ],
    [
      'copies a member',
      [{ op: 'copy', from: '/metadata/team', path: '/metadata/owner' }],
      { ...METADATA, owner: 'red' },
    ],
    [
      'continues after a test that holds',
      [
        { op: 'test', path: '/metadata/deep', value: { '~': null, 'a/b': 1 } },
        { op: 'remove', path: '/metadata/deep' },
      ],
      { team: 'red', tags: METADATA.tags },
    ],
    [
      'applies operations in order',
      [
        { op: 'add', path: '/metadata/x', value: {} },
        { op: 'add', path: '/metadata/x/y', value: 1 },
      ],
      { ...METADATA, x: { y: 1 } },
    ],
    [
      'treats an inherited name like any other',
      [{ op: 'add', path: '/metadata/constructor', value: 1 }],
      { ...METADATA, constructor: 1 },
    ],
  ])('%s, and answers with the whole metadata', async (_name, patch, expected) => {
    const { call } = await withQueue();
    expect(await call('PATCH', PATH, patch)).toMatchObject({ status: 200, body: expected });
    expect((await call('GET', PATH)).body).toEqual(expected);
  });

  it('accepts the patch that python-zaqarclient sends to set metadata', async () => {
    const { call } = await withQueue({ a: 1, b: 2 });
    const patch = [
      { op: 'replace', path: '/metadata/a', value: 3 },
      { op: 'add', path: '/metadata/c', value: 4 },
      { op: 'remove', path: '/metadata/b' },
    ];
    expect((await call('PATCH', PATH, patch)).body).toEqual({ a: 3, c: 4 });
  });

  it('changes the retry policy of the queue', async () => {
    const { call, registry } = await withQueue();
    await call('PATCH', PATH, [{ op: 'add', path: '/metadata/_retry_policy', value: { minimum_delay: 7 } }]);
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual({ minimum_delay: 7 });
    const { body } = await call('PATCH', PATH, [
      { op: 'replace', path: '/metadata/_retry_policy', value: 'quick' },
    ]);
    expect(body).toMatchObject({ _retry_policy: RETRY_POLICY_PRESETS.quick });
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual(RETRY_POLICY_PRESETS.quick);
    await call('PATCH', PATH, [{ op: 'remove', path: '/metadata/_retry_policy' }]);
    expect(await registry.findQueue('orders')).not.toHaveProperty('retryPolicy');
  });

  it.each<[string, unknown, string]>([
    ['a patch that is not a list', { op: 'add', path: '/metadata/a', value: 1 }, 'body'],
    [
      'more than a hundred operations',
      Array.from({ length: 101 }, () => ({ op: 'add', path: '/metadata/a', value: 1 })),
      'body',
    ],
    ['an operation that is not an object', ['add'], '[0]'],
    ['an unknown operation', [{ op: 'merge', path: '/metadata/a', value: 1 }], '[0].op'],
    ['no path', [{ op: 'remove' }], '[0].path'],
    ['a path outside the metadata', [{ op: 'remove', path: '/name' }], '[0].path'],
    ['the metadata as a whole', [{ op: 'replace', path: '/metadata', value: {} }], '[0].path'],
    ['an invalid tilde escape', [{ op: 'remove', path: '/metadata/~2' }], '[0].path'],
    ['__proto__ in a path', [{ op: 'add', path: '/metadata/__proto__/x', value: 1 }], '[0].path'],
    ['no value', [{ op: 'add', path: '/metadata/a' }], '[0].value'],
    ['no source', [{ op: 'move', path: '/metadata/a' }], '[0].from'],
    ['a move into itself', [{ op: 'move', from: '/metadata/deep', path: '/metadata/deep/x' }], '[0].path'],
    ['an unknown key', [{ op: 'remove', path: '/metadata/a', force: true }], '[0].force'],
    [
      'a value nested 30,000 levels deep',
      `[{"op": "add", "path": "/metadata/a", "value": ${'['.repeat(30_000)}${']'.repeat(30_000)}}]`,
      '[0].value',
    ],
  ])('refuses %s, and names it', async (_name, patch, field) => {
    const { call, world } = await withQueue();
    const before = await world();
    expect(await call('PATCH', PATH, patch)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual(before);
  });

  it.each<[string, object, string]>([
    ['replaces a missing member', { op: 'replace', path: '/metadata/none', value: 1 }, '[1].path'],
    ['removes an inherited name', { op: 'remove', path: '/metadata/toString' }, '[1].path'],
    ['copies a missing member', { op: 'copy', from: '/metadata/none', path: '/metadata/a' }, '[1].path'],
    ['adds below a missing member', { op: 'add', path: '/metadata/none/a', value: 1 }, '[1].path'],
    ['adds beyond the end of a list', { op: 'add', path: '/metadata/tags/3', value: 1 }, '[1].path'],
    ['uses a name as a list index', { op: 'replace', path: '/metadata/tags/first', value: 1 }, '[1].path'],
    ['tests for another value', { op: 'test', path: '/metadata/team', value: 'blue' }, '[1].value'],
  ])('answers 409 to a patch that %s, and changes nothing', async (_name, operation, field) => {
    const { call, world } = await withQueue();
    const before = await world();
    const patch = [{ op: 'add', path: '/metadata/first', value: 1 }, operation];
    expect(await call('PATCH', PATH, patch)).toMatchObject({ status: 409, body: faultOf('conflict', field) });
    expect(await world()).toEqual(before);
  });

  it.each<[string, object[], string, string]>([
    [
      'an invalid retry policy',
      [{ op: 'add', path: '/metadata/_retry_policy', value: { minimum_delay: 0 } }],
      'invalid_retry_policy',
      '_retry_policy.minimum_delay',
    ],
    [
      'a contradictory retry policy',
      [
        { op: 'add', path: '/metadata/_retry_policy', value: {} },
        { op: 'add', path: '/metadata/_retry_policy/minimum_delay', value: 31 },
      ],
      'invalid_retry_policy',
      '_retry_policy.maximum_delay',
    ],
    [
      'an invalid _confirm_subscriptions',
      [{ op: 'add', path: '/metadata/_confirm_subscriptions', value: 'yes' }],
      'invalid_request',
      '_confirm_subscriptions',
    ],
    [
      'metadata nested too deep',
      Array.from({ length: 33 }, (_, depth) => ({
        op: 'add',
        path: `/metadata${'/d'.repeat(depth + 1)}`,
        value: {},
      })),
      'invalid_request',
      'd',
    ],
  ])('refuses a patch that would make %s', async (_name, patch, code, field) => {
    const { call, world } = await withQueue();
    const before = await world();
    expect(await call('PATCH', PATH, patch)).toMatchObject({ status: 400, body: faultOf(code, field) });
    expect(await world()).toEqual(before);
  });

  it('refuses metadata over 64 KiB, even from a small patch', async () => {
    const { call, world } = await withQueue({ a: 'x'.repeat(1000), b: {} });
    const before = await world();
    const doubling = Array.from({ length: 20 }, (_, step) => [
      { op: 'copy', from: '/metadata/a', path: `/metadata/b/a${step}` },
      { op: 'copy', from: '/metadata/b', path: `/metadata/b${step}` },
    ]).flat();
    expect(await call('PATCH', PATH, doubling)).toMatchObject({ status: 413, body: faultOf('too_large') });
    expect(await world()).toEqual(before);
  });

  it('answers 404 for an unknown queue', async () => {
    const { call } = apiUnderTest();
    const patch = [{ op: 'add', path: '/metadata/a', value: 1 }];
    expect(await call('PATCH', PATH, patch)).toMatchObject({ status: 404, body: faultOf('not_found') });
  });
});

describe('GET /v2/queues', () => {
  const withQueues = async (count: number) => {
    const { call } = apiUnderTest();
    const names = Array.from({ length: count }, (_, index) => `q${String(index).padStart(3, '0')}`);
    for (const name of names) await call('PUT', `/v2/queues/${name}`, { of: name });
    return { call, names };
  };

  it('answers with an empty list if there are no queues', async () => {
    const { call } = apiUnderTest();
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
    expect(await call('GET', '/v2/queues?detailed=yes')).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'detailed'),
    });
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
