import { describe, expect, it } from 'vitest';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
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

const requestWith = (options: unknown) => ({ subscriber: 'https://hooks.example/orders', options });
/** As text, because an object literal cannot express all of JSON. */
const filtering = (filter: string) =>
  `{"subscriber": "https://hooks.example/orders", "options": {"filter": ${filter}}}`;

describe('the filter options of a subscription', () => {
  const options = {
    attempt_timeout: 30,
    max_per_second: 0.5,
    event_types: ['order.created', 'order.paid'],
    filter: { order: { total: [{ numeric: ['>', 100] }], state: ['new', null] } },
  };

  it('are stored and shown unchanged', async () => {
    const { call } = apiUnderTest();
    expect(await call('POST', PATH, requestWith(options))).toMatchObject({ status: 201 });
    expect((await call('GET', `${PATH}/id-1`)).body).toMatchObject({ options });
  });

  it('list each type once', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, requestWith({ event_types: ['a', 'b', 'a'] }));
    expect((await call('GET', `${PATH}/id-1`)).body).toMatchObject({ options: { event_types: ['a', 'b'] } });
  });

  it('can filter by a field with the name __proto__', async () => {
    const { call, registry } = apiUnderTest();
    const filter = '{"__proto__":{"x":[1]}}';
    expect(await call('POST', PATH, filtering(filter))).toMatchObject({ status: 201 });
    const kept = await registry.findSubscription('orders', 'id-1');
    expect(JSON.stringify(kept?.options.filter)).toBe(filter);
  });

  it('are validated in a change, which also stores the previous options', async () => {
    const { call, registry, time } = apiUnderTest();
    await call('POST', PATH, requestWith(options));
    expect(await call('PATCH', `${PATH}/id-1`, { options: { filter: { a: [] } } })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.filter.a'),
    });
    time.now += 5000;
    await call('PATCH', `${PATH}/id-1`, { options: { event_types: ['x'] } });
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({
      options: { event_types: ['x'] },
      previousSelection: { event_types: options.event_types, filter: options.filter, until: time.now },
    });
  });
});

describe('the options of a subscription cannot contain', () => {
  const tooMany = Array.from({ length: 51 }, (_, index) => `type-${index}`);

  it.each<[string, unknown, string]>([
    ['a timeout of 0', { attempt_timeout: 0 }, 'options.attempt_timeout'],
    ['a timeout over 30 s', { attempt_timeout: 31 }, 'options.attempt_timeout'],
    ['half a second', { attempt_timeout: 1.5 }, 'options.attempt_timeout'],
    ['a timeout of null', { attempt_timeout: null }, 'options.attempt_timeout'],
    ['no request at all', { max_per_second: 0 }, 'options.max_per_second'],
    ['less than a request in 100 s', { max_per_second: 0.009 }, 'options.max_per_second'],
    ['over a thousand requests a second', { max_per_second: 1000.5 }, 'options.max_per_second'],
    ['a rate of null', { max_per_second: null }, 'options.max_per_second'],
    ['no types', { event_types: [] }, 'options.event_types'],
    ['more than 50 types', { event_types: tooMany }, 'options.event_types'],
    ['an empty type', { event_types: [''] }, 'options.event_types[0]'],
    ['a type too long', { event_types: ['x'.repeat(257)] }, 'options.event_types[0]'],
    ['a control character in a type', { event_types: ['a\nb'] }, 'options.event_types[0]'],
    ['a wildcard, which would match nothing', { event_types: ['order.*'] }, 'options.event_types[0]'],
    ['a filter of null', { filter: null }, 'options.filter'],
    ['an empty filter', { filter: {} }, 'options.filter'],
    ['an error inside $or', { filter: { $or: [{ a: [1] }, { b: [] }] } }, 'options.filter.$or[1].b'],
  ])('%s', async (_what, options, field) => {
    const { call, world } = apiUnderTest();
    expect(await call('POST', PATH, requestWith(options))).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', field),
    });
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it.each([
    [
      'nested 100,000 levels deep',
      `${'{"a":'.repeat(100_000)}[1]${'}'.repeat(100_000)}`,
      faultOf('invalid_request', 'options'),
    ],
    [
      'with a list nested 200,000 levels deep',
      `{"a": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
      faultOf('invalid_request', 'options'),
    ],
    ['of 200,000 values', `{"a": [${'1,'.repeat(200_000)}1]}`, faultOf('too_large')],
    ['of 1 MiB', `{"a": ["${'x'.repeat(1_000_000)}"]}`, faultOf('too_large')],
    ['of 10,000 values', `{"a": [${'1,'.repeat(10_000)}1]}`, faultOf('invalid_request', 'options.filter')],
    [
      'of numbers that would lose digits',
      '{"a": [12345678901234567890]}',
      faultOf('invalid_request', 'options.filter.a[0]'),
    ],
  ])('a filter %s', async (_what, filter, fault) => {
    const { call, world } = apiUnderTest();
    expect((await call('POST', PATH, filtering(filter))).body).toEqual(fault);
    expect(await world()).toMatchObject({ queues: [], changes: [] });
  });
});
