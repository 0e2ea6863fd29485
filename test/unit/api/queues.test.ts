import { describe, expect, vi } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { QueueBeingDeletedError } from '../../../shared/ports/subscriptions.ts';
import { requestApi, wholeApi } from '../../support/whole-api.ts';
import {
  type Api,
  apiUnderTest,
  CALLER,
  faultOf,
  HOOK,
  invalid,
  it,
  NOON,
  NOTHING,
  ONE,
  PUBLIC_URL,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';

const POLICY = { minimum_delay: 10, maximum_delay: 60 };

it('HEAD shows whether a queue exists, as python-zaqarclient checks it', async ({ dependencies, call }) => {
  const head = () =>
    requestApi(wholeApi(dependencies), QUEUE, { method: 'HEAD' }, { caller: CALLER, publicUrl: PUBLIC_URL });
  expect((await head()).status).toBe(404);
  await call('PUT', QUEUE);
  expect((await head()).status).toBe(200);
});

describe('PUT /v2/queues/{queue}', () => {
  it('answers 201 with the path of a new queue', async ({ call }) => {
    const answer = await call('PUT', QUEUE, {});
    expect(answer).toMatchObject({ status: 201, body: undefined });
    expect(answer.headers.get('location')).toBe(QUEUE);
  });

  it('treats a missing body as empty metadata', async ({ call, get }) => {
    expect(await call('PUT', QUEUE)).toMatchObject({ status: 201 });
    expect(await get(QUEUE)).toEqual({});
  });

  it('replaces the metadata of an existing queue, but not its subscriptions', async ({ api }) => {
    const { call, registry, time } = api;
    await api.subscribe();
    await call('PUT', QUEUE, { team: 'red', _retry_policy: POLICY });
    time.now += 1000;
    expect(await call('PUT', QUEUE, { team: 'blue' })).toMatchObject({ status: 204, body: undefined });
    const replaced = { name: 'orders', metadata: { team: 'blue' }, createdAt: NOON };
    expect(await registry.findQueue('orders')).toEqual(replaced);
    expect(await api.get(SUBSCRIPTIONS)).toMatchObject({ subscriptions: [{ subscriber: HOOK }] });
  });

  const repeated = { ...POLICY, retry_on_status: [429, 429] };
  const { patient } = RETRY_POLICY_PRESETS;

  it.for([
    ['as sent and as parsed', repeated, repeated, { ...POLICY, retry_on_status: [429] }],
    ['in full in place of the name of a preset', 'patient', patient, patient],
    ['if it is empty, which means all defaults', {}, {}, {}],
  ] as const)('stores the retry policy %s', async ([, sent, shown, retryPolicy], { call, get, registry }) => {
    await call('PUT', QUEUE, { team: 'red', _retry_policy: sent });
    const metadata = { team: 'red', _retry_policy: shown };
    expect(await registry.findQueue('orders')).toMatchObject({ metadata, retryPolicy });
    expect(await get(QUEUE)).toEqual(metadata);
  });

  it('returns any JSON object unchanged', async ({ call, get }) => {
    const metadata = { text: 'ü\u0000', 'a.b': [1, null, true, { c: [] }], '': -0.5, big: 2 ** 53 - 1 };
    await call('PUT', QUEUE, metadata);
    expect(await get(QUEUE)).toEqual(metadata);
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
    expect(await call('PUT', QUEUE, body)).toMatchObject(invalid(field));
    expect(await world()).toEqual(NOTHING);
  });

  it('no metadata with the deepest allowed nesting', async ({ call }) => {
    expect(await call('PUT', QUEUE, nested(32))).toMatchObject({ status: 201 });
  });

  it.for([
    ['a preset that does not exist', 'often', '_retry_policy'],
    ['an unknown key', { retries: 3 }, '_retry_policy.retries'],
    ['a minimum above the default maximum', { minimum_delay: 31 }, '_retry_policy.maximum_delay'],
  ] as const)('as a retry policy: %s', async ([_name, policy, field], { call, world }) => {
    await call('PUT', QUEUE, { team: 'red' });
    const before = await world();
    expect(await call('PUT', QUEUE, { team: 'blue', _retry_policy: policy })).toMatchObject(
      refusal('invalid_retry_policy', field),
    );
    expect(await world()).toEqual(before);
  });

  it('metadata over 64 KiB, but accepts exactly 64 KiB', async ({ call, world }) => {
    const sized = (bytes: number) => ({ pad: 'x'.repeat(bytes - '{"pad":""}'.length) });
    expect(await call('PUT', QUEUE, sized(65_537))).toMatchObject(refusal('too_large'));
    expect(await world()).toMatchObject({ queues: [] });
    expect(await call('PUT', QUEUE, { list: Array(300_000).fill(1) })).toMatchObject(refusal('too_large'));
    expect(await call('PUT', QUEUE, sized(65_536))).toMatchObject({ status: 201 });
  });
});

const METADATA = { team: 'red', tags: ['a', 'b'], deep: { 'a/b': 1, '~': null } };

const add = (name: string, value: unknown) => ({ op: 'add', path: `/metadata/${name}`, value });
const replace = (name: string, value: unknown) => ({ op: 'replace', path: `/metadata/${name}`, value });
const test = (name: string, value: unknown) => ({ op: 'test', path: `/metadata/${name}`, value });
const remove = (name: string) => ({ op: 'remove', path: `/metadata/${name}` });
const move = (from: string, to: string) => ({
  op: 'move',
  from: `/metadata/${from}`,
  path: `/metadata/${to}`,
});
const copy = (from: string, to: string) => ({ ...move(from, to), op: 'copy' });

describe('PATCH /v2/queues/{queue}', () => {
  it.override('api', async () => {
    const api = apiUnderTest();
    await api.call('PUT', QUEUE, METADATA);
    return api;
  });

  const { team, tags, deep } = METADATA;

  it.for<[string, object[], object]>([
    ['adds a member', [add('new', { a: [1] })], { ...METADATA, new: { a: [1] } }],
    ['overwrites an existing member', [add('team', null)], { ...METADATA, team: null }],
    ['replaces a member', [replace('team', 'blue')], { ...METADATA, team: 'blue' }],
    ['removes a member', [remove('tags')], { team, deep }],
    ['inserts into lists', [add('tags/1', 'x')], { ...METADATA, tags: ['a', 'x', 'b'] }],
    ['appends to lists', [add('tags/-', 'c')], { ...METADATA, tags: ['a', 'b', 'c'] }],
    ['reads escaped names', [remove('deep/a~1b')], { ...METADATA, deep: { '~': null } }],
    ['moves a member', [move('team', 'deep/team')], { tags, deep: { ...deep, team } }],
    ['moves a member to where it is', [move('team', 'team')], METADATA],
    ['copies a member', [copy('team', 'owner')], { ...METADATA, owner: team }],
    [
      'continues after a test that holds',
      [test('deep', { '~': null, 'a/b': 1 }), remove('deep')],
      { team, tags },
    ],
    ['applies operations in order', [add('x', {}), add('x/y', 1)], { ...METADATA, x: { y: 1 } }],
    ['treats an inherited name like any other', [add('constructor', 1)], { ...METADATA, constructor: 1 }],
    [
      'accepts what python-zaqarclient sends to set metadata',
      [replace('team', 3), add('c', 4), remove('deep'), remove('tags')],
      { team: 3, c: 4 },
    ],
  ])('%s, and answers with the whole metadata', async ([, patch, expected], { call, get }) => {
    expect(await call('PATCH', QUEUE, patch)).toMatchObject({ status: 200, body: expected });
    expect(await get(QUEUE)).toEqual(expected);
  });

  it('changes the retry policy of the queue', async ({ call, registry }) => {
    await call('PATCH', QUEUE, [add('_retry_policy', { minimum_delay: 7 })]);
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual({ minimum_delay: 7 });
    const { body } = await call('PATCH', QUEUE, [replace('_retry_policy', 'quick')]);
    expect(body).toMatchObject({ _retry_policy: RETRY_POLICY_PRESETS.quick });
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual(RETRY_POLICY_PRESETS.quick);
    await call('PATCH', QUEUE, [remove('_retry_policy')]);
    expect(await registry.findQueue('orders')).not.toHaveProperty('retryPolicy');
  });

  const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;

  it.for<[string, unknown, string]>([
    ['a patch that is not a list', add('a', 1), 'body'],
    ['more than a hundred operations', Array.from({ length: 101 }, () => add('a', 1)), 'body'],
    ['an operation that is not an object', ['add'], '[0]'],
    ['an unknown operation', [{ ...add('a', 1), op: 'merge' }], '[0].op'],
    ['no path', [{ op: 'remove' }], '[0].path'],
    ['a path outside the metadata', [{ op: 'remove', path: '/name' }], '[0].path'],
    ['the metadata as a whole', [{ op: 'replace', path: '/metadata', value: {} }], '[0].path'],
    ['an invalid tilde escape', [remove('~2')], '[0].path'],
    ['__proto__ in a path', [add('__proto__/x', 1)], '[0].path'],
    ['no value', [{ op: 'add', path: '/metadata/a' }], '[0].value'],
    ['no source', [{ op: 'move', path: '/metadata/a' }], '[0].from'],
    ['a move into itself', [move('deep', 'deep/x')], '[0].path'],
    ['an unknown key', [{ ...remove('a'), force: true }], '[0].force'],
    ['a deep value', `[{"op": "add", "path": "/metadata/a", "value": ${nested}}]`, '[0].value'],
  ])('refuses %s, and names it', async ([, patch, field], { call, world }) => {
    const before = await world();
    expect(await call('PATCH', QUEUE, patch)).toMatchObject(invalid(field));
    expect(await world()).toEqual(before);
  });

  it.for<[string, object, string]>([
    ['replaces a missing member', replace('none', 1), '[1].path'],
    ['removes an inherited name', remove('toString'), '[1].path'],
    ['copies a missing member', copy('none', 'a'), '[1].from'],
    ['moves a missing member', move('none', 'a'), '[1].from'],
    ['copies to below a missing member', copy('team', 'none/a'), '[1].path'],
    ['adds below a missing member', add('none/a', 1), '[1].path'],
    ['adds beyond the end of a list', add('tags/3', 1), '[1].path'],
    ['uses a name as a list index', replace('tags/first', 1), '[1].path'],
    ['begins a list index with a zero', add('tags/01', 1), '[1].path'],
    ['has an empty list index', add('tags/', 1), '[1].path'],
    ['has a list index of 2^32', add('tags/4294967296', 1), '[1].path'],
    ['copies from a list index that begins with a zero', copy('tags/00', 'a'), '[1].from'],
    ['tests for another value', test('team', 'blue'), '[1].value'],
  ])('answers 409 to a patch that %s, and changes nothing', async ([, operation, field], { call, world }) => {
    const before = await world();
    expect(await call('PATCH', QUEUE, [add('first', 1), operation])).toMatchObject(
      refusal('conflict', field),
    );
    expect(await world()).toEqual(before);
  });

  it('names the missing member that a patch is about', async ({ call }) => {
    const message = (field: string, member: string) =>
      `${field} is /metadata/${member}, which does not exist`;
    const error = async (operation: object) => (await call('PATCH', QUEUE, [operation])).body;
    expect(await error(remove('none'))).toMatchObject({
      error: { message: `operation 0 (remove): ${message('path', 'none')}` },
    });
    expect(await error(move('none', 'a'))).toMatchObject({
      error: { message: `operation 0 (move): ${message('from', 'none')}` },
    });
  });

  const contradiction = [add('_retry_policy', {}), add('_retry_policy/minimum_delay', 31)];
  const deepening = Array.from({ length: 33 }, (_, depth) => add(`d${'/d'.repeat(depth)}`, {}));
  const doubling = Array.from({ length: 20 }, (_, step) => [copy('a', `b/a${step}`), copy('b', `b${step}`)]);

  it.for<[string, object[], ReturnType<typeof refusal>]>([
    [
      'a contradictory retry policy',
      contradiction,
      refusal('invalid_retry_policy', '_retry_policy.maximum_delay'),
    ],
    ['an invalid value', [add('_confirm_subscriptions', 'yes')], invalid('_confirm_subscriptions')],
    ['metadata nested too deep', deepening, invalid('d')],
    [
      'metadata over 64 KiB, although the patch is small',
      [add('a', 'x'.repeat(1000)), add('b', {}), ...doubling.flat()],
      refusal('too_large'),
    ],
  ])('refuses a patch that would make %s', async ([, patch, refused], { call, world }) => {
    const before = await world();
    expect(await call('PATCH', QUEUE, patch)).toMatchObject(refused);
    expect(await world()).toEqual(before);
  });
});

describe('DELETE /v2/queues/{queue}', () => {
  it('deletes the queue and its subscriptions, and is idempotent', async ({ api }) => {
    await api.subscribe();
    expect(await api.call('DELETE', QUEUE)).toMatchObject({ status: 204, body: undefined });
    expect(await api.call('GET', QUEUE)).toMatchObject({ status: 404 });
    expect(await api.registry.listSubscriptions('orders', { limit: 10 })).toEqual({ items: [] });
    expect(await api.call('DELETE', QUEUE)).toMatchObject({ status: 204 });
  });

  it('answers after a second, and leaves the remaining subscriptions to operate', async ({ api }) => {
    const { call, registry, time, queued } = api;
    registry.removeDeletedQueue = (_name, hasTime) => {
      while (hasTime()) time.now += 100;
      return Promise.resolve(false);
    };
    expect(await call('DELETE', QUEUE)).toMatchObject({ status: 204 });
    expect(time.now).toBe(NOON + 1_000);
    const operation = { kind: 'cancellation', queue: 'orders', deletedAt: NOON };
    expect(queued).toEqual([{ operation, delaySeconds: 2 }]);
  });

  it('succeeds, and is on the audit trail, if removing the subscriptions fails', async ({ api }) => {
    await api.subscribe();
    api.changes.length = 0;
    const fault = new Error('throttled');
    vi.spyOn(api.registry, 'removeDeletedQueue').mockRejectedValue(fault);
    expect(await api.call('DELETE', QUEUE)).toMatchObject({ status: 204 });
    expect(api.changes).toMatchObject([{ change: 'queue_deleted', queue: 'orders' }]);
    expect(api.faults).toMatchObject([{ fault }]);
  });

  it('is not on the audit trail if there was no such queue', async ({ api }) => {
    expect(await api.call('DELETE', '/v2/queues/never-made')).toMatchObject({ status: 204 });
    expect(api.changes).toEqual([]);
  });

  it('makes creating the queue again fail with 409 while it is being removed', async ({ call, registry }) => {
    vi.spyOn(registry, 'putQueue').mockRejectedValue(new QueueBeingDeletedError('orders'));
    expect(await call('PUT', QUEUE)).toMatchObject(refusal('conflict'));
  });
});

describe('GET /v2/queues', () => {
  const withQueues = async ({ call }: Api, count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, index) => `q${String(index).padStart(3, '0')}`);
    for (const name of names) await call('PUT', `/v2/queues/${name}`, { of: name });
    return names;
  };

  it('is empty if there are no queues', async ({ get }) => {
    expect(await get('/v2/queues')).toEqual({ queues: [], links: [] });
  });

  it.for([
    ['', {}],
    ['?detailed=false', {}],
    ['?detailed=False', {}],
    ['?detailed=true', { metadata: { of: 'q000' } }],
    ['?detailed=True', { metadata: { of: 'q000' } }],
    ['?unknown=1', {}],
  ] as const)('lists names and paths, and metadata only on request: %s', async ([query, detail], { api }) => {
    await withQueues(api, 1);
    const entry = { name: 'q000', href: '/v2/queues/q000', ...detail };
    expect(await api.get(`/v2/queues${query}`)).toEqual({ queues: [entry], links: [] });
  });

  it.for([
    ['', [10, 10, 5]],
    ['?limit=7', [7, 7, 7, 4]],
    ['?limit=25', [25]],
    ['?limit=100', [25]],
    ['?limit=12&detailed=true', [12, 12, 1]],
  ] as const)('pages by links that keep the query: %s', async ([query, sizes], { api }) => {
    const names = await withQueues(api, 25);
    const pages = await api.pages(`/v2/queues${query}`, 'queues', 'name');
    expect(pages.flat()).toEqual(names);
    expect(pages.map(({ length }) => length)).toEqual(sizes);
    const details = await api.pages(`/v2/queues${query}`, 'queues', 'metadata');
    expect(details.flat().every((detail) => (detail !== 'undefined') === query.includes('detailed'))).toBe(
      true,
    );
  });
});

describe('the retention of a queue', () => {
  it('is at most that of the deployment, which the refusal names', async ({ call, get }) => {
    await call('PUT', QUEUE);
    expect((await call('PUT', QUEUE, { _retention_days: 30 })).status).toBe(204);
    for (const refused of [
      await call('PUT', QUEUE, { _retention_days: 31 }),
      await call('PATCH', QUEUE, [replace('_retention_days', 31)]),
    ]) {
      expect(refused).toMatchObject(invalid('_retention_days'));
      expect(JSON.stringify(refused.body)).toContain('the 30 days of the setting retentionDays');
    }
    expect(await get(QUEUE)).toEqual({ _retention_days: 30 });
  });

  it.for<[number, Record<string, number>]>([
    [20, { _retention_days: 20 }],
    [30, { _retention_days: 31 }],
  ])(
    'limits how far back a recovery goes: %i days with the metadata %j',
    async ([days, metadata], { call, registry }) => {
      await registry.putQueue({ name: 'orders', createdAt: 0, metadata });
      // The retention after 15 days of schedule, in which each of 100 retries is delayed by another hour.
      const oldest = NOON - (days + 15) * DAY_MS - 100 * 60 * 60 * 1000;
      const until = new Date(NOON).toISOString();
      const startFrom = (since: number) =>
        call('POST', `${QUEUE}/recoveries`, { since: new Date(since).toISOString(), until });
      expect((await startFrom(oldest)).status).toBe(202);
      expect(await startFrom(oldest - 1)).toMatchObject(invalid('since'));
    },
  );

  it('is that of the message and delivery of a test', async ({ api }) => {
    const { registry, jobs, messageRecords } = api;
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata: { _retention_days: 20 } });
    await api.subscribe();
    await api.call('POST', `${ONE}/test`);
    expect(jobs).toMatchObject([{ retentionDays: 20 }]);
    const record = await messageRecords.find({ queue: 'orders', messageId: jobs[0]?.key.messageId ?? '' });
    expect(record).toMatchObject({ retentionDays: 20, expiresAt: NOON + 20 * DAY_MS });
  });
});
const full = refusal('conflict');

const withRoomFor = (most: { subscriptions?: number; bytes?: number }) => {
  const { settings } = apiUnderTest().dependencies;
  return apiUnderTest({
    settings: { ...settings, queueLimit: { subscriptions: 100, bytes: 100_000, ...most } },
  });
};

describe('a full queue', () => {
  it('refuses another subscription with its limits, and does not affect other queues', async () => {
    const { call, subscribe, world } = withRoomFor({ subscriptions: 1 });
    await subscribe();
    const before = await world();
    const answer = await subscribe({ subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject(full);
    expect(JSON.stringify(answer.body)).toContain('at most 1 subscriptions, and 100000 bytes');
    expect(await world()).toEqual(before);
    const elsewhere = await call('POST', '/v2/queues/others/subscriptions', { subscriber: HOOK });
    expect(elsewhere).toMatchObject({ status: 201 });
  });

  it('is one with as many subscriptions as its metadata allows, if that is less than the setting', async () => {
    const { call, subscribe, patch } = withRoomFor({ subscriptions: 2 });
    const more = async (...names: number[]) => {
      const answers = [];
      for (const name of names) answers.push(await subscribe({ subscriber: `${HOOK}/${name}` }));
      return answers.map(({ status }) => status);
    };
    const allow = (most: number) => call('PUT', QUEUE, { _max_subscriptions: most });
    await allow(1);
    expect(await more(1, 2)).toEqual([201, 409]);
    await allow(100);
    expect(await more(2, 3)).toEqual([201, 409]);
    await allow(1);
    expect(await patch({ name: 'x' })).toMatchObject({ status: 200 });
  });

  it('has room again after a deleted subscription is removed', async () => {
    const { call, subscribe, registry } = withRoomFor({ subscriptions: 1 });
    await subscribe();
    await call('DELETE', ONE);
    expect(await subscribe({ subscriber: `${HOOK}/2` })).toMatchObject(full);
    await registry.removeMarked('orders', 'id-1');
    expect(await subscribe({ subscriber: `${HOOK}/2` })).toMatchObject({ status: 201 });
  });

  it('refuses changes that make a subscription larger, and accepts others', async () => {
    const { call, subscribe, patch } = withRoomFor({ bytes: 2_000 });
    const sized = (bytes: number) => ({ options: { post_data: 'x'.repeat(bytes) } });
    await subscribe(sized(1_000));
    expect(await patch(sized(2_000))).toMatchObject(full);
    expect(await patch({ subscriber: `${HOOK}/${'x'.repeat(1_500)}` })).toMatchObject(full);
    for (const change of [{ name: 'x'.repeat(128) }, sized(900), { ttl: 60 }])
      expect(await patch(change)).toMatchObject({ status: 200 });
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200 });
  });

  it('refuses lines of an import individually', async () => {
    const { call, subscribe } = withRoomFor({ subscriptions: 1 });
    await subscribe();
    const line = JSON.stringify({ subscriber: `${HOOK}/2` });
    const failed = [{ line: 1, ...faultOf('conflict') }];
    expect(await call('POST', `${QUEUE}/import`, line)).toMatchObject({
      status: 200,
      body: { imported: 0, failed },
    });
  });
});
