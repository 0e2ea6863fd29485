import { describe, expect, it } from 'vitest';
import { apiUnderTest, faultOf } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';

describe('POST /v2/queues/{queue}/subscriptions refuses', () => {
  const valid = { subscriber: HOOK };
  const withOptions = (options: unknown) => ({ subscriber: HOOK, options });
  const withHeaders = (headers: unknown) => withOptions({ post_headers: headers });
  const manyHeaders = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`x-${index}`, '1']));

  const refused: [string, unknown, string][] = [
    ['a body that is not an object', [], 'body'],
    ['no subscriber', {}, 'subscriber'],
    ['an empty subscriber', { subscriber: '' }, 'subscriber'],
    ['a trust URL of Zaqar', { subscriber: 'trust+https://hooks.example/' }, 'subscriber'],
    ['an unknown key', { ...valid, confirmed: true }, 'confirmed'],
    ['an empty name', { ...valid, name: '' }, 'name'],
    ['a name of 129 characters', { ...valid, name: 'x'.repeat(129) }, 'name'],
    ['a name with a line break', { ...valid, name: 'Billing\nEU' }, 'name'],
    ['a name that begins with a blank', { ...valid, name: ' Billing' }, 'name'],
    ['a ttl of 0', { ...valid, ttl: 0 }, 'ttl'],
    ['a ttl as text', { ...valid, ttl: '60' }, 'ttl'],
    ['a ttl of null', { ...valid, ttl: null }, 'ttl'],
    ['a ttl over ten years', { ...valid, ttl: 315_360_001 }, 'ttl'],
    ['options as a list', withOptions([]), 'options'],
    ['an unknown option', withOptions({ timeout: 5 }), 'options.timeout'],
    ['headers as a list', withHeaders([['x-a', '1']]), 'options.post_headers'],
    [
      'the header name __proto__',
      '{"subscriber": "https://s.test", "options": {"post_headers": {"__proto__": "x"}}}',
      'options.post_headers',
    ],
    [
      'a template with the message twice',
      withOptions({ post_data: '["$zaqar_message$", "$zaqar_message$"]' }),
      'options.post_data',
    ],
    ['a line break in a value', withHeaders({ 'x-a': '1\r\nx-b: 2' }), 'options.post_headers.x-a'],
    ['a value beyond ASCII', withHeaders({ 'x-a': 'grün' }), 'options.post_headers.x-a'],
    ['a blank in a name', withHeaders({ 'x a': '1' }), 'options.post_headers.x a'],
    ['an empty name', withHeaders({ '': '1' }), 'options.post_headers.'],
    ['a reserved header', withHeaders({ 'webhook-id': '1' }), 'options.post_headers.webhook-id'],
    [
      'a reserved header in another case',
      withHeaders({ 'WebHook-Signature': '1' }),
      'options.post_headers.WebHook-Signature',
    ],
    ['the host', withHeaders({ Host: 'other.example' }), 'options.post_headers.Host'],
    ['one header twice', withHeaders({ 'x-a': '1', 'X-A': '2' }), 'options.post_headers.X-A'],
    ['too many headers', withHeaders(manyHeaders), 'options.post_headers'],
    ['headers too long in all', withHeaders({ 'x-a': '1'.repeat(8190) }), 'options.post_headers'],
    ['post_data that is not text', withOptions({ post_data: { a: 1 } }), 'options.post_data'],
    ['raw_delivery as text', withOptions({ raw_delivery: 'true' }), 'options.raw_delivery'],
  ];

  it.each(refused)('%s', async (_name, body, field) => {
    const { call, world } = apiUnderTest();
    expect(await call('POST', PATH, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('a partial policy that contradicts the defaults of the deployment', async () => {
    const { settings } = apiUnderTest().dependencies;
    const defaultRetryPolicy = { ...settings.defaultRetryPolicy, maximum_delay: 60 };
    const { call, world } = apiUnderTest({ settings: { ...settings, defaultRetryPolicy } });
    const policy = (minimum_delay: number) => withOptions({ _retry_policy: { minimum_delay } });
    expect(await call('POST', PATH, policy(61))).toMatchObject({
      status: 400,
      body: faultOf('invalid_retry_policy', 'options._retry_policy.maximum_delay'),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
    expect(await call('POST', PATH, policy(60))).toMatchObject({ status: 201 });
  });

  it('several invalid fields, and names all of them', async () => {
    const { call } = apiUnderTest();
    const body = { subscriber: 'ftp://hooks.example/', ttl: 0, options: { speed: 1, raw_delivery: 'no' } };
    const { fields } = ((await call('POST', PATH, body)).body as { error: { fields: { field: string }[] } })
      .error;
    expect(fields.map(({ field }) => field).sort()).toEqual([
      'options.raw_delivery',
      'options.speed',
      'subscriber',
      'ttl',
    ]);
  });

  it('options over 64 KiB', async () => {
    const { call, world } = apiUnderTest();
    expect(
      await call('POST', PATH, withOptions({ post_data: 'x'.repeat(65_537 - '{"post_data":""}'.length) })),
    ).toMatchObject({
      status: 413,
      body: faultOf('too_large'),
    });
    expect(await world()).toMatchObject({ queues: [], changes: [] });
  });

  it('header values without repeating them', async () => {
    const { call } = apiUnderTest();
    const { body } = await call('POST', PATH, withHeaders({ Authorization: 'Bearer s3cret\n' }));
    expect(JSON.stringify(body)).not.toContain('s3cret');
  });

  it('a policy nested so deep that serialising it would exhaust the stack', async () => {
    const { call } = apiUnderTest();
    const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const body = `{"subscriber": "${HOOK}", "options": {"_retry_policy": ${nested}}}`;
    expect(await call('POST', PATH, body)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options'),
    });
  });
});
