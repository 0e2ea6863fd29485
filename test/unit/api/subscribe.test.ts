import { describe, expect } from 'vitest';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  apiUnderTest,
  apiWithSubscription,
  HOOK,
  invalid,
  it,
  NOON,
  ONE,
  refusal,
  SUBSCRIPTIONS,
} from './api-under-test.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';

describe('POST /v2/queues/{queue}/subscriptions', () => {
  it('answers 201 with the id and the path of the subscription', async ({ call }) => {
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(answer).toMatchObject({ status: 201, body: { subscription_id: 'id-1' } });
    expect(answer.headers.get('location')).toBe(`${SUBSCRIPTIONS}/id-1`);
  });

  it('creates a missing queue', async ({ call, registry }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(await registry.findQueue('orders')).toEqual({ name: 'orders', metadata: {}, createdAt: NOON });
  });

  it('leaves an existing queue unchanged', async ({ call }) => {
    await call('PUT', '/v2/queues/orders', { team: 'red' });
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect((await call('GET', '/v2/queues/orders')).body).toEqual({ team: 'red' });
  });

  it('stores all options, and the expiry from the ttl', async ({ call, registry }) => {
    const options = {
      _retry_policy: { minimum_delay: 1, maximum_delay: 2 },
      post_headers: { Authorization: 'Bearer s3cret', 'X-Empty': '', 'content-type': 'text/x-mine' },
      post_data: '{"wrapped": "$zaqar_message$"}',
      raw_delivery: false,
    };
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 3600, options })).toMatchObject({
      status: 201,
    });
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

  it('never expires without a ttl', async ({ call, registry }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(await registry.findSubscription('orders', 'id-1')).toEqual({
      id: 'id-1',
      queue: 'orders',
      destination: parseDestination(HOOK),
      options: {},
      createdAt: NOON,
      secrets: [{ sealed: 'sealed-1' }],
    });
  });

  it('stores and shows the full policy in place of the name of a preset', async ({ call, registry }) => {
    const options = { _retry_policy: RETRY_POLICY_PRESETS['standard-webhooks'] };
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: { _retry_policy: 'standard-webhooks' } });
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ options });
    expect((await call('GET', `${SUBSCRIPTIONS}/id-1`)).body).toMatchObject({ options });
    expect(
      await call('PATCH', `${SUBSCRIPTIONS}/id-1`, { options: { _retry_policy: 'patiant' } }),
    ).toMatchObject(refusal('invalid_retry_policy', 'options._retry_policy'));
  });

  it('answers 409 for an existing subscriber, and writes nothing', async ({ call, world }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    const before = await world();
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 60 });
    expect(answer).toMatchObject(refusal('conflict', 'subscriber'));
    expect(JSON.stringify(answer.body)).toContain('id-1');
    expect(await world()).toEqual(before);
  });

  it('accepts a subscriber again in another queue, and after its subscription has ended', async ({ api }) => {
    const { call, time } = api;
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(await call('POST', '/v2/queues/bills/subscriptions', { subscriber: HOOK })).toMatchObject({
      status: 201,
    });
    await call('DELETE', `${SUBSCRIPTIONS}/id-1`);
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 5 })).toMatchObject({ status: 201 });
    time.now += 5000;
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK })).toMatchObject({ status: 201 });
  });

  it.for([1, 315_360_000])('accepts a ttl of %i s', async (ttl, { call }) => {
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl })).toMatchObject({ status: 201 });
  });

  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']));

  it.for([
    ['50 headers', { post_headers: headers(50) }],
    ['8 KiB of headers', { post_headers: { 'x-a': '1'.repeat(8189) } }],
    ['a header with tab, blank and every printable character', { post_headers: { 'x-a': '\t !"#~' } }],
    ['64 KiB of options', { post_data: 'x'.repeat(65_536 - '{"post_data":""}'.length) }],
    ['no options at all', {}],
  ] as const)('accepts %s', async ([_name, options], { call }) => {
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options })).toMatchObject({ status: 201 });
  });

  it('answers 409 if the queue is deleted at the same moment', async ({ registry }) => {
    const { call } = apiUnderTest({ registry: { ...registry, ensureQueue: () => Promise.resolve() } });
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK })).toMatchObject(refusal('conflict'));
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

  it.for(refused)('%s', async ([_name, body, field], { call, world }) => {
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(invalid(field));
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
  });

  it('a partial policy that contradicts the defaults of the deployment', async () => {
    const { settings } = apiUnderTest().dependencies;
    const defaultRetryPolicy = { ...settings.defaultRetryPolicy, maximum_delay: 60 };
    const { call, world } = apiUnderTest({ settings: { ...settings, defaultRetryPolicy } });
    const policy = (minimum_delay: number) => withOptions({ _retry_policy: { minimum_delay } });
    expect(await call('POST', SUBSCRIPTIONS, policy(61))).toMatchObject(
      refusal('invalid_retry_policy', 'options._retry_policy.maximum_delay'),
    );
    expect(await world()).toEqual({ queues: [], subscriptions: [], published: [], changes: [] });
    expect(await call('POST', SUBSCRIPTIONS, policy(60))).toMatchObject({ status: 201 });
  });

  it('several invalid fields, and names all of them', async ({ call }) => {
    const body = { subscriber: 'ftp://hooks.example/', ttl: 0, options: { speed: 1, raw_delivery: 'no' } };
    const { fields } = (
      (await call('POST', SUBSCRIPTIONS, body)).body as { error: { fields: { field: string }[] } }
    ).error;
    expect(fields.map(({ field }) => field).sort()).toEqual([
      'options.raw_delivery',
      'options.speed',
      'subscriber',
      'ttl',
    ]);
  });

  it('options over 64 KiB', async ({ call, world }) => {
    expect(
      await call(
        'POST',
        SUBSCRIPTIONS,
        withOptions({ post_data: 'x'.repeat(65_537 - '{"post_data":""}'.length) }),
      ),
    ).toMatchObject(refusal('too_large'));
    expect(await world()).toMatchObject({ queues: [], changes: [] });
  });

  it('header values without repeating them', async ({ call }) => {
    const { body } = await call('POST', SUBSCRIPTIONS, withHeaders({ Authorization: 'Bearer s3cret\n' }));
    expect(JSON.stringify(body)).not.toContain('s3cret');
  });

  it('a policy nested so deep that serialising it would exhaust the stack', async ({ call }) => {
    const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const body = `{"subscriber": "${HOOK}", "options": {"_retry_policy": ${nested}}}`;
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(invalid('options'));
  });
});

describe('PATCH /v2/queues/{queue}/subscriptions/{id}', () => {
  it('changes only the given fields, and answers with the subscription', async () => {
    const { call, registry } = await apiWithSubscription({ ttl: 60, options: { raw_delivery: true } });
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { id: 'id-1', subscriber: `${HOOK}/2`, ttl: 60, options: { raw_delivery: true } },
    });
    expect((await call('GET', ONE)).body).toEqual(answer.body);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ expiresAt: NOON + 60_000 });
  });

  it('changes the name alone, and removes it by null', async () => {
    const { call, registry } = await apiWithSubscription({ name: 'Billing', ttl: 60 });
    const before = await registry.findSubscription('orders', 'id-1');
    expect((await call('PATCH', ONE, { ttl: 60 })).body).toMatchObject({ name: 'Billing' });
    expect((await call('PATCH', ONE, { name: 'Facturación' })).body).toMatchObject({ name: 'Facturación' });
    const answer = await call('PATCH', ONE, { name: null });
    expect(answer.status).toBe(200);
    expect(answer.body).not.toHaveProperty('name');
    const { name: _, ...unnamed } = before ?? {};
    expect(await registry.findSubscription('orders', 'id-1')).toEqual(unnamed);
  });

  it('replaces the options as a whole', async () => {
    const { call } = await apiWithSubscription({
      options: { raw_delivery: true, post_headers: { accept: 'a' } },
    });
    const { body } = await call('PATCH', ONE, { options: { post_data: 'x' } });
    expect(body).toMatchObject({ options: { post_data: 'x' } });
    expect((body as { options: object }).options).toEqual({ post_data: 'x' });
  });

  it('counts a ttl from now, and accepts null for no expiry', async () => {
    const { call, registry, time } = await apiWithSubscription({ ttl: 60 });
    time.now += 50_000;
    await call('PATCH', ONE, { ttl: 60 });
    time.now += 50_000;
    expect(await call('GET', ONE)).toMatchObject({ status: 200 });
    expect((await call('PATCH', ONE, { ttl: null })).body).toMatchObject({ ttl: null });
    const endless = await registry.findSubscription('orders', 'id-1');
    expect(endless).not.toHaveProperty('expiresAt');
    expect(endless).not.toHaveProperty('ttl');
  });

  it('answers 409 for the subscriber of another subscription, and changes nothing', async () => {
    const { call, world } = await apiWithSubscription();
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    const before = await world();
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2`, ttl: 5 });
    expect(answer).toMatchObject(refusal('conflict', 'subscriber'));
    expect(await world()).toEqual(before);
  });

  it('allows another subscription with the previous subscriber', async () => {
    const { call } = await apiWithSubscription();
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(await call('POST', SUBSCRIPTIONS, { subscriber: HOOK })).toMatchObject({ status: 201 });
  });

  it('resets the failure count if the subscriber changes', async () => {
    const { call, registry } = await apiWithSubscription();
    await registry.changeSubscription({ queue: 'orders', subscriptionId: 'id-1', now: NOON }, (current) => ({
      ...current,
      failing: { since: NOON, failures: 3 },
    }));
    expect((await call('PATCH', ONE, { ttl: 5 })).body).toMatchObject({
      failing: { since: '2026-11-21T12:00:00.000Z', failures: 3 },
    });
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).not.toHaveProperty('failing');
  });

  it.each<[string, unknown, string]>([
    ['nothing to change', {}, 'body'],
    ['a secret alone', { secret: 'keep' }, 'body'],
    ['a secret other than `keep`', { subscriber: `${HOOK}/2`, secret: 'whsec_' }, 'secret'],
    ['an unknown key', { ttl: 5, confirmed: true }, 'confirmed'],
    ['a loopback subscriber', { subscriber: 'http://127.0.0.1/' }, 'subscriber'],
    [
      'a redacted header without a stored value',
      { options: { post_headers: { accept: '***' } } },
      'options.post_headers.accept',
    ],
  ])('refuses %s', async (_name, body, field) => {
    const { call, world } = await apiWithSubscription();
    const before = await world();
    expect(await call('PATCH', ONE, body)).toMatchObject(invalid(field));
    expect(await world()).toEqual(before);
  });

  it('refuses a contradictory retry policy', async () => {
    const { call } = await apiWithSubscription();
    expect(await call('PATCH', ONE, { options: { _retry_policy: { minimum_delay: 31 } } })).toMatchObject(
      refusal('invalid_retry_policy', 'options._retry_policy.maximum_delay'),
    );
  });
});

describe.each([
  ['PATCH', '', { ttl: 5 }],
  ['POST', '/enable', undefined],
  ['POST', '/disable', undefined],
])('%s on a subscription%s', (method, verb, body) => {
  it.each(['id-2', 'not%20an%20id', 'x'.repeat(2000)])('answers 404 for %s', async (id) => {
    const { call } = await apiWithSubscription();
    expect(await call(method, `${SUBSCRIPTIONS}/${id}${verb}`, body)).toMatchObject(refusal('not_found'));
  });

  it('answers 404 for a deleted or expired subscription', async () => {
    const { call, time } = await apiWithSubscription();
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2`, ttl: 1 });
    await call('DELETE', ONE);
    time.now += 1000;
    for (const id of ['id-1', 'id-2']) {
      expect(await call(method, `${SUBSCRIPTIONS}/${id}${verb}`, body)).toMatchObject({ status: 404 });
    }
  });
});

describe('POST …/disable and …/enable', () => {
  it('disables and enables a subscription', async () => {
    const { call } = await apiWithSubscription();
    const disabled = { reason: 'manual', at: '2026-11-21T12:00:00.000Z' };
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200, body: { disabled } });
    expect((await call('GET', ONE)).body).toMatchObject({ disabled });
    const enabled = await call('POST', `${ONE}/enable`);
    expect(enabled.status).toBe(200);
    expect(enabled.body).not.toHaveProperty('disabled');
    expect((await call('GET', ONE)).body).not.toHaveProperty('disabled');
  });

  it('keeps the reason of a disabled subscription, and enables it for any reason', async () => {
    const { call, registry } = await apiWithSubscription();
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    expect((await call('POST', `${ONE}/disable`)).body).toMatchObject({ disabled: { reason: 'gone' } });
    expect((await call('POST', `${ONE}/enable`)).body).not.toHaveProperty('disabled');
  });

  it('resets the failure count when it enables a failing subscription', async () => {
    const { call, registry } = await apiWithSubscription();
    await registry.changeSubscription({ queue: 'orders', subscriptionId: 'id-1', now: NOON }, (current) => ({
      ...current,
      failing: { since: 1, failures: 20 },
      disabled: { reason: 'failing', at: NOON },
    }));
    expect((await call('POST', `${ONE}/enable`)).body).not.toHaveProperty('failing');
  });
});

describe('DELETE /v2/queues/{queue}/subscriptions/{id}', () => {
  it('hides the subscription at once, and sends an operation that cancels its deliveries and removes it', async () => {
    const { call, registry, queued } = await apiWithSubscription();
    expect(await call('DELETE', ONE)).toMatchObject({ status: 204 });
    expect(await call('GET', ONE)).toMatchObject({ status: 404 });
    expect((await call('GET', SUBSCRIPTIONS)).body).toMatchObject({ subscriptions: [] });
    expect(queued.map(({ operation }) => operation)).toEqual([
      { kind: 'cancellation', queue: 'orders', subscriptionId: 'id-1', deletedAt: NOON },
    ]);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ deletedAt: NOON });
  });

  it('sends the same operation again for a repeat, because the first may not have been sent', async () => {
    const { call, queued, time } = await apiWithSubscription();
    await call('DELETE', ONE);
    time.now += 1000;
    await call('DELETE', ONE);
    expect(queued[1]).toEqual(queued[0]);
  });

  it('answers 204 for a subscription that does not exist, and sends no operation', async () => {
    const { call, queued } = await apiWithSubscription();
    for (const id of ['id-2', 'not%20an%20id', 'x'.repeat(2000)])
      expect(await call('DELETE', `${SUBSCRIPTIONS}/${id}`)).toMatchObject({ status: 204 });
    expect(queued).toEqual([]);
    expect(await call('GET', ONE)).toMatchObject({ status: 200 });
  });
});

describe('a subscription whose subscriber moves to another origin', () => {
  const OTHER = 'https://hooks.example:8443/orders';
  const post_headers = { Authorization: 'Bearer s3cret', 'x-api-key': 's3cret', accept: 'text/plain' };

  const moved = async (
    change: object,
    fields: object = { options: { post_headers, raw_delivery: true } },
  ) => {
    const api = await apiWithSubscription(fields);
    const before = await api.registry.findSubscription('orders', 'id-1');
    const answer = await api.call('PATCH', ONE, { subscriber: OTHER, ...change });
    return { ...api, before, answer, after: await api.registry.findSubscription('orders', 'id-1') };
  };

  it('loses stored credentials, but no other options', async () => {
    const { after } = await moved({});
    expect(after?.options).toEqual({ post_headers: { accept: 'text/plain' }, raw_delivery: true });
  });

  it('accepts new credentials in the same request', async () => {
    const { after } = await moved({ options: { post_headers: { Authorization: 'Bearer new' } } });
    expect(after?.options).toEqual({ post_headers: { Authorization: 'Bearer new' } });
  });

  it('does not accept redacted values for the stored credentials', async () => {
    const { answer, before, after } = await moved({ options: { post_headers: { Authorization: '***' } } });
    expect(answer).toMatchObject(invalid('options.post_headers.Authorization'));
    expect(after).toEqual(before);
  });

  it('gets a new secret, which only this response contains', async () => {
    const { answer, after, secrets, changes, call } = await moved({});
    const { secret } = answer.body as { secret: string };
    expect(after?.secrets).toHaveLength(1);
    const [current] = after?.secrets ?? [];
    const opened = await secrets.open({ queue: 'orders', subscriptionId: 'id-1' }, current?.sealed ?? '');
    expect(secretText(opened)).toBe(secret);
    expect(changes.slice(-2)).toMatchObject([
      {
        change: 'subscription_changed',
        changed: ['options.post_headers.Authorization', 'options.post_headers.x-api-key', 'subscriber'],
        before: { subscriber: 'https://hooks.example' },
        after: { subscriber: 'https://hooks.example:8443' },
      },
      { change: 'secret_rotated', subscriptionId: 'id-1', scheme: 'v1' },
    ]);
    expect((await call('GET', ONE)).body).not.toHaveProperty('secret');
    expect(JSON.stringify(changes)).not.toContain(secret);
  });

  it('keeps its secret on request', async () => {
    const { answer, before, after, changes } = await moved({ secret: 'keep' });
    expect(after?.secrets).toEqual(before?.secrets);
    expect(answer.body).not.toHaveProperty('secret');
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_changed' });
  });

  it.each([
    ['another path', `${HOOK}/2`],
    ['another spelling', 'HTTPS://HOOKS.example:443/orders'],
  ])('is not one with %s, which keeps secret and credentials', async (_name, subscriber) => {
    const { before, answer, after } = await moved({ subscriber });
    expect(after).toMatchObject({ options: before?.options, secrets: before?.secrets });
    expect(answer.body).not.toHaveProperty('secret');
  });

  it.each(['http://hooks.example/orders', 'https://hooks.example.test/orders'])(
    'includes %s',
    async (subscriber) => {
      const { after } = await moved({ subscriber });
      expect(after?.options.post_headers).toEqual({ accept: 'text/plain' });
    },
  );
});
