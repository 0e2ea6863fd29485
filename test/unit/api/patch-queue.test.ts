import { describe, expect } from 'vitest';
import { apiUnderTest, faultOf, invalid, it, QUEUE, refusal } from './api-test.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
const METADATA = { team: 'red', tags: ['a', 'b'], deep: { 'a/b': 1, '~': null } };

const withQueue = async (metadata: unknown = METADATA) => {
  const api = apiUnderTest();
  await api.call('PUT', QUEUE, metadata);
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
    expect(await call('PATCH', QUEUE, patch)).toMatchObject({ status: 200, body: expected });
    expect((await call('GET', QUEUE)).body).toEqual(expected);
  });

  it('accepts the patch that python-zaqarclient sends to set metadata', async () => {
    const { call } = await withQueue({ a: 1, b: 2 });
    const patch = [
      { op: 'replace', path: '/metadata/a', value: 3 },
      { op: 'add', path: '/metadata/c', value: 4 },
      { op: 'remove', path: '/metadata/b' },
    ];
    expect((await call('PATCH', QUEUE, patch)).body).toEqual({ a: 3, c: 4 });
  });

  it('changes the retry policy of the queue', async () => {
    const { call, registry } = await withQueue();
    await call('PATCH', QUEUE, [{ op: 'add', path: '/metadata/_retry_policy', value: { minimum_delay: 7 } }]);
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual({ minimum_delay: 7 });
    const { body } = await call('PATCH', QUEUE, [
      { op: 'replace', path: '/metadata/_retry_policy', value: 'quick' },
    ]);
    expect(body).toMatchObject({ _retry_policy: RETRY_POLICY_PRESETS.quick });
    expect((await registry.findQueue('orders'))?.retryPolicy).toEqual(RETRY_POLICY_PRESETS.quick);
    await call('PATCH', QUEUE, [{ op: 'remove', path: '/metadata/_retry_policy' }]);
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
    expect(await call('PATCH', QUEUE, patch)).toMatchObject(invalid(field));
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
    expect(await call('PATCH', QUEUE, patch)).toMatchObject(refusal('conflict', field));
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
    expect(await call('PATCH', QUEUE, patch)).toMatchObject({ status: 400, body: faultOf(code, field) });
    expect(await world()).toEqual(before);
  });

  it('refuses metadata over 64 KiB, even from a small patch', async () => {
    const { call, world } = await withQueue({ a: 'x'.repeat(1000), b: {} });
    const before = await world();
    const doubling = Array.from({ length: 20 }, (_, step) => [
      { op: 'copy', from: '/metadata/a', path: `/metadata/b/a${step}` },
      { op: 'copy', from: '/metadata/b', path: `/metadata/b${step}` },
    ]).flat();
    expect(await call('PATCH', QUEUE, doubling)).toMatchObject(refusal('too_large'));
    expect(await world()).toEqual(before);
  });
});
