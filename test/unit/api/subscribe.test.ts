import { describe, expect } from 'vitest';
import * as z from 'zod';
import { openedSecrets } from '../../../shared/steps/sign-request.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  type Answer,
  type Api,
  apiUnderTest,
  apiWithSubscription,
  HOOK,
  invalid,
  it,
  NOON,
  NOTHING,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';
import { RETRY_POLICY_PRESETS } from '../../../shared/domain/retry/policy.ts';

const KEY = { queue: 'orders', subscriptionId: 'id-1', now: NOON };
const REDACTED = { options: { post_headers: { accept: '***' } } };

describe('POST /v2/queues/{queue}/subscriptions', () => {
  it('answers 201 with the id and the path of the subscription', async ({ subscribe }) => {
    const answer = await subscribe();
    expect(answer).toMatchObject({ status: 201, body: { subscription_id: 'id-1' } });
    expect(answer.headers.get('location')).toBe(ONE);
  });

  it('creates a missing queue, and keeps an existing one', async ({ call, subscribe, registry }) => {
    await subscribe();
    const created = { name: 'orders', metadata: {}, createdAt: NOON };
    expect(await registry.findQueue('orders')).toEqual(created);
    await call('PUT', QUEUE, { team: 'red' });
    await subscribe({ subscriber: `${HOOK}/2` });
    expect(await registry.findQueue('orders')).toEqual({ ...created, metadata: { team: 'red' } });
  });

  const options = {
    _retry_policy: { minimum_delay: 1, maximum_delay: 2 },
    post_headers: { Authorization: 'Bearer s3cret', 'X-Empty': '', 'content-type': 'text/x-mine' },
    post_data: '{"wrapped": "$zaqar_message$"}',
    raw_delivery: false,
  };

  it.for([
    ['all options, and the expiry from the ttl', { ttl: 3600, options }, { expiresAt: NOON + 3_600_000 }],
    ['no expiry without a ttl', {}, {}],
  ] as const)('stores %s', async ([, fields, expiry], { subscribe, stored }) => {
    await subscribe(fields);
    const destination = parseDestination(HOOK);
    const made = { id: 'id-1', queue: 'orders', createdAt: NOON, secrets: [{ sealed: 'sealed-1' }] };
    expect(await stored()).toEqual({ ...made, destination, options: {}, ...fields, ...expiry });
  });

  it('stores and shows the full policy in place of the name of a preset', async ({ api }) => {
    const options = { _retry_policy: RETRY_POLICY_PRESETS['standard-webhooks'] };
    await api.subscribe({ options: { _retry_policy: 'standard-webhooks' } });
    expect(await api.stored()).toMatchObject({ options });
    expect(await api.get(ONE)).toMatchObject({ options });
    expect(await api.call('PATCH', ONE, { options: { _retry_policy: 'patiant' } })).toMatchObject(
      refusal('invalid_retry_policy', 'options._retry_policy'),
    );
  });

  it('answers 409 for an existing subscriber, and writes nothing', async ({ subscribe, world }) => {
    await subscribe();
    const before = await world();
    const answer = await subscribe({ ttl: 60 });
    expect(answer).toMatchObject(refusal('conflict', 'subscriber'));
    expect(JSON.stringify(answer.body)).toContain('id-1');
    expect(await world()).toEqual(before);
  });

  it('accepts a subscriber again in another queue, and after its subscription has ended', async ({ api }) => {
    const { call, subscribe, time } = api;
    await subscribe();
    const elsewhere = await call('POST', '/v2/queues/bills/subscriptions', { subscriber: HOOK });
    await call('DELETE', ONE);
    const deleted = await subscribe({ ttl: 5 });
    time.now += 5000;
    expect([elsewhere, deleted, await subscribe()].map(({ status }) => status)).toEqual([201, 201, 201]);
  });

  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1']));

  it.for<[string, object]>([
    ['a ttl of a second', { ttl: 1 }],
    ['a ttl of ten years', { ttl: 315_360_000 }],
    ['50 headers', { options: { post_headers: headers(50) } }],
    ['8 KiB of headers', { options: { post_headers: { 'x-a': '1'.repeat(8189) } } }],
    ['tab, blank and every printable character', { options: { post_headers: { 'x-a': '\t !"#~' } } }],
    ['64 KiB of options', { options: { post_data: 'x'.repeat(65_536 - '{"post_data":""}'.length) } }],
  ])('accepts %s', async ([, fields], { subscribe }) => {
    expect(await subscribe(fields)).toMatchObject({ status: 201 });
  });

  it('answers 409 if the queue is deleted at the same moment', async ({ registry }) => {
    const { subscribe } = apiUnderTest({ registry: { ...registry, ensureQueue: () => Promise.resolve() } });
    expect(await subscribe()).toMatchObject(refusal('conflict'));
  });
});

describe('POST /v2/queues/{queue}/subscriptions refuses', () => {
  const valid = { subscriber: HOOK };
  const withOptions = (options: unknown) => ({ subscriber: HOOK, options });
  const withHeaders = (headers: unknown) => withOptions({ post_headers: headers });
  const TWICE = '["$zaqar_message$", "$zaqar_message$"]';
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
    ['the header name __proto__', withHeaders(JSON.parse('{"__proto__": "x"}')), 'options.post_headers'],
    ['a template with the message twice', withOptions({ post_data: TWICE }), 'options.post_data'],
    ['a line break in a value', withHeaders({ 'x-a': '1\r\nx-b: 2' }), 'options.post_headers.x-a'],
    ['a value beyond ASCII', withHeaders({ 'x-a': 'grün' }), 'options.post_headers.x-a'],
    ['a blank in a name', withHeaders({ 'x a': '1' }), 'options.post_headers.x a'],
    ['an empty name', withHeaders({ '': '1' }), 'options.post_headers.'],
    ['a reserved header', withHeaders({ 'webhook-id': '1' }), 'options.post_headers.webhook-id'],
    ['a reserved one in capitals', withHeaders({ 'WEBHOOK-ID': '1' }), 'options.post_headers.WEBHOOK-ID'],
    ['the host', withHeaders({ Host: 'other.example' }), 'options.post_headers.Host'],
    ['one header twice', withHeaders({ 'x-a': '1', 'X-A': '2' }), 'options.post_headers.X-A'],
    ['too many headers', withHeaders(manyHeaders), 'options.post_headers'],
    ['headers too long in all', withHeaders({ 'x-a': '1'.repeat(8190) }), 'options.post_headers'],
    ['post_data that is not text', withOptions({ post_data: { a: 1 } }), 'options.post_data'],
    ['raw_delivery as text', withOptions({ raw_delivery: 'true' }), 'options.raw_delivery'],
  ];

  it.for(refused)('%s', async ([_name, body, field], { call, world }) => {
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(invalid(field));
    expect(await world()).toEqual(NOTHING);
  });

  it('a partial policy that contradicts the defaults of the deployment', async ({ dependencies }) => {
    const { settings } = dependencies;
    const defaultRetryPolicy = { ...settings.defaultRetryPolicy, maximum_delay: 60 };
    const { subscribe, world } = apiUnderTest({ settings: { ...settings, defaultRetryPolicy } });
    const policy = (minimum_delay: number) => ({ options: { _retry_policy: { minimum_delay } } });
    expect(await subscribe(policy(61))).toMatchObject(
      refusal('invalid_retry_policy', 'options._retry_policy.maximum_delay'),
    );
    expect(await world()).toEqual(NOTHING);
    expect(await subscribe(policy(60))).toMatchObject({ status: 201 });
  });

  it('several invalid fields, and names all of them', async ({ call }) => {
    const body = { subscriber: 'ftp://hooks.example/', ttl: 0, options: { speed: 1, raw_delivery: 'no' } };
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(
      invalid('subscriber', 'ttl', 'options.raw_delivery', 'options.speed'),
    );
  });

  it('a field that breaks one rule in two ways, and names it once', async ({ call }) => {
    const body = { subscriber: HOOK, name: `a${'\n'.repeat(128)}b`, ttl: 1e30 };
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(invalid('name', 'ttl'));
  });

  it('options over 64 KiB', async ({ subscribe, world }) => {
    const options = { post_data: 'x'.repeat(65_537 - '{"post_data":""}'.length) };
    expect(await subscribe({ options })).toMatchObject(refusal('too_large'));
    expect(await world()).toEqual(NOTHING);
  });

  it('header values without repeating them', async ({ subscribe }) => {
    const { body } = await subscribe({ options: { post_headers: { Authorization: 'Bearer s3cret\n' } } });
    expect(JSON.stringify(body)).not.toContain('s3cret');
  });

  it('a policy nested so deep that serialising it would exhaust the stack', async ({ call }) => {
    const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const body = `{"subscriber": "${HOOK}", "options": {"_retry_policy": ${nested}}}`;
    expect(await call('POST', SUBSCRIPTIONS, body)).toMatchObject(invalid('options'));
  });
});

describe('PATCH /v2/queues/{queue}/subscriptions/{id}', () => {
  it('changes only the given fields, and answers with the subscription', async ({ api }) => {
    await api.subscribe({ ttl: 60, options: { raw_delivery: true } });
    const answer = await api.patch({ subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { id: 'id-1', subscriber: `${HOOK}/2`, ttl: 60, options: { raw_delivery: true } },
    });
    expect(await api.get(ONE)).toEqual(answer.body);
    expect(await api.stored()).toMatchObject({ expiresAt: NOON + 60_000 });
  });

  it('changes the name alone, and removes it by null', async ({ subscribe, patch, stored }) => {
    await subscribe({ name: 'Billing', ttl: 60 });
    const { name: _, ...unnamed } = await stored();
    expect((await patch({ ttl: 60 })).body).toMatchObject({ name: 'Billing' });
    expect((await patch({ name: 'Facturación' })).body).toMatchObject({ name: 'Facturación' });
    expect((await patch({ name: null })).body).not.toHaveProperty('name');
    expect(await stored()).toEqual(unnamed);
  });

  it('replaces the options as a whole', async ({ subscribe, patch }) => {
    await subscribe({ options: { raw_delivery: true, post_headers: { accept: 'a' } } });
    const { body } = await patch({ options: { post_data: 'x' } });
    expect(body).toHaveProperty('options', { post_data: 'x' });
  });

  it('counts a ttl from now, and accepts null for no expiry', async ({ api }) => {
    await api.subscribe({ ttl: 60 });
    api.time.now += 50_000;
    await api.patch({ ttl: 60 });
    api.time.now += 50_000;
    expect(await api.get(ONE)).toMatchObject({ ttl: 60 });
    expect((await api.patch({ ttl: null })).body).toMatchObject({ ttl: null });
    expect(await api.stored()).not.toHaveProperty('expiresAt');
    expect(await api.stored()).not.toHaveProperty('ttl');
  });

  it('takes no subscriber of another subscription, but one that another had before', async ({ api }) => {
    await api.subscribe();
    await api.subscribe({ subscriber: `${HOOK}/2` });
    const before = await api.world();
    const change = { subscriber: `${HOOK}/2`, ttl: 5 };
    expect(await api.patch(change)).toMatchObject(refusal('conflict', 'subscriber'));
    expect(await api.world()).toEqual(before);
    await api.patch({ subscriber: `${HOOK}/3` });
    expect(await api.subscribe()).toMatchObject({ status: 201 });
  });

  it.for<[string, unknown, string]>([
    ['nothing to change', {}, 'body'],
    ['a secret alone', { secret: 'keep' }, 'body'],
    ['a secret other than `keep`', { subscriber: `${HOOK}/2`, secret: 'whsec_' }, 'secret'],
    ['an unknown key', { ttl: 5, confirmed: true }, 'confirmed'],
    ['a loopback subscriber', { subscriber: 'http://127.0.0.1/' }, 'subscriber'],
    ['a redacted header without a stored value', REDACTED, 'options.post_headers.accept'],
  ])('refuses %s', async ([, body, field], { call, subscribe, world }) => {
    await subscribe();
    const before = await world();
    expect(await call('PATCH', ONE, body)).toMatchObject(invalid(field));
    expect(await world()).toEqual(before);
  });
});

describe.each<[string, string, unknown?]>([
  ['GET', ''],
  ['PATCH', '', { ttl: 5 }],
  ['POST', '/enable'],
  ['POST', '/disable'],
  ['POST', '/test'],
  ['POST', '/secret/rotate'],
])('%s on a subscription%s', (method, verb, body) => {
  it("answers 404 for a deleted or expired subscription, and for another queue's", async ({ api }) => {
    const { call, subscribe, time } = api;
    await subscribe();
    await subscribe({ subscriber: `${HOOK}/2`, ttl: 1 });
    await subscribe({ subscriber: `${HOOK}/3` });
    await call('PUT', '/v2/queues/bills');
    await call('DELETE', ONE);
    time.now += 1000;
    for (const path of ['orders/subscriptions/id-1', 'orders/subscriptions/id-2', 'bills/subscriptions/id-3'])
      expect(await call(method, `/v2/queues/${path}${verb}`, body), path).toMatchObject(refusal('not_found'));
  });
});

describe('POST …/disable and …/enable', () => {
  it('disables and enables a subscription', async ({ call, get, subscribe }) => {
    await subscribe();
    const disabled = { reason: 'manual', at: '2026-11-21T12:00:00.000Z' };
    expect(await call('POST', `${ONE}/disable`)).toMatchObject({ status: 200, body: { disabled } });
    expect(await get(ONE)).toMatchObject({ disabled });
    const enabled = await call('POST', `${ONE}/enable`);
    expect(enabled.body).not.toHaveProperty('disabled');
    expect(await get(ONE)).toEqual(enabled.body);
  });

  it('keeps the reason of a disabled subscription, and enables it for any reason', async ({ api }) => {
    const { call, subscribe, registry } = api;
    await subscribe();
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON - 1 });
    expect((await call('POST', `${ONE}/disable`)).body).toMatchObject({ disabled: { reason: 'gone' } });
    expect((await call('POST', `${ONE}/enable`)).body).not.toHaveProperty('disabled');
  });
});

it.for<[string, (api: Api) => Promise<Answer>]>([
  ['the subscriber changes', ({ patch }) => patch({ subscriber: `${HOOK}/2` })],
  ['the subscription is enabled', ({ call }) => call('POST', `${ONE}/enable`)],
])('the failure count is reset if %s, and by no other change', async ([, change], { api }) => {
  await api.subscribe();
  await api.registry.changeSubscription(KEY, (current) => ({
    ...current,
    failing: { since: NOON, failures: 20 },
    disabled: { reason: 'failing', at: NOON },
  }));
  expect((await api.patch({ ttl: 5 })).body).toMatchObject({ failing: { failures: 20 } });
  expect((await change(api)).body).not.toHaveProperty('failing');
});

describe('DELETE /v2/queues/{queue}/subscriptions/{id}', () => {
  it('hides the subscription at once, and sends an operation that ends its deliveries', async ({ api }) => {
    const { call, subscribe, stored, queued } = api;
    await subscribe();
    await subscribe({ subscriber: `${HOOK}/2` });
    expect(await call('DELETE', ONE)).toMatchObject({ status: 204, body: undefined });
    expect(await call('GET', ONE)).toMatchObject({ status: 404 });
    expect(await api.pages(SUBSCRIPTIONS, 'subscriptions', 'id')).toEqual([['id-2']]);
    expect(queued.map(({ operation }) => operation)).toEqual([
      { kind: 'cancellation', queue: 'orders', subscriptionId: 'id-1', deletedAt: NOON },
    ]);
    expect(await stored()).toMatchObject({ deletedAt: NOON });
  });

  it('sends the same operation for a repeat, because the first may not have been sent', async ({ api }) => {
    await api.subscribe();
    await api.call('DELETE', ONE);
    api.time.now += 1000;
    await api.call('DELETE', ONE);
    expect(api.queued[1]).toEqual(api.queued[0]);
  });

  it('answers 204 for a subscription that does not exist, and sends no operation', async ({ api }) => {
    await api.subscribe();
    for (const id of ['id-2', 'not%20an%20id', 'x'.repeat(2000)])
      expect(await api.call('DELETE', `${SUBSCRIPTIONS}/${id}`)).toMatchObject({ status: 204 });
    expect(api.queued).toEqual([]);
    expect(await api.get(ONE)).toMatchObject({ id: 'id-1' });
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
    const before = await api.stored();
    const answer = await api.patch({ subscriber: OTHER, ...change });
    return { ...api, before, answer, after: await api.stored() };
  };

  it('loses stored credentials, but no other options', async () => {
    const { after } = await moved({});
    expect(after.options).toEqual({ post_headers: { accept: 'text/plain' }, raw_delivery: true });
  });

  it('accepts new credentials in the same request', async () => {
    const { after } = await moved({ options: { post_headers: { Authorization: 'Bearer new' } } });
    expect(after.options).toEqual({ post_headers: { Authorization: 'Bearer new' } });
  });

  it('does not accept redacted values for the stored credentials', async () => {
    const { answer, before, after } = await moved({ options: { post_headers: { Authorization: '***' } } });
    expect(answer).toMatchObject(invalid('options.post_headers.Authorization'));
    expect(after).toEqual(before);
  });

  it('gets a new secret, which only this response contains', async () => {
    const { answer, after, secrets, changes, get } = await moved({});
    const { secret } = answer.body as { secret: string };
    const opened = await openedSecrets(secrets, after, NOON);
    expect(opened.map((current) => secretText(current.secret))).toEqual([secret]);
    expect(changes.slice(-2)).toMatchObject([
      {
        change: 'subscription_changed',
        changed: ['options.post_headers.Authorization', 'options.post_headers.x-api-key', 'subscriber'],
        before: { subscriber: 'https://hooks.example' },
        after: { subscriber: 'https://hooks.example:8443' },
      },
      { change: 'secret_rotated', subscriptionId: 'id-1', scheme: 'v1' },
    ]);
    expect(await get(ONE)).not.toHaveProperty('secret');
    expect(JSON.stringify(changes)).not.toContain(secret);
  });

  it('keeps its secret on request', async () => {
    const { answer, before, after, changes } = await moved({ secret: 'keep' });
    expect(after.secrets).toEqual(before.secrets);
    expect(answer.body).not.toHaveProperty('secret');
    expect(changes.at(-1)).toMatchObject({ change: 'subscription_changed' });
  });

  it.each([
    ['another path', `${HOOK}/2`],
    ['another spelling', 'HTTPS://HOOKS.example:443/orders'],
  ])('is not one with %s, which keeps secret and credentials', async (_name, subscriber) => {
    const { before, answer, after } = await moved({ subscriber });
    expect(after).toMatchObject({ options: before.options, secrets: before.secrets });
    expect(answer.body).not.toHaveProperty('secret');
  });

  it.each(['http://hooks.example/orders', 'https://hooks.example.test/orders'])(
    'is one at %s',
    async (url) => {
      const { after } = await moved({ subscriber: url });
      expect(after.options.post_headers).toEqual({ accept: 'text/plain' });
    },
  );
});

const CREDENTIALS = {
  Authorization: 'Basic s3cret',
  'Proxy-Authorization': 's3cret',
  Cookie: 'session=s3cret',
  'X-Api-Key': 's3cret',
  'x-auth': 's3cret',
  'X-GitLab-Token': 's3cret',
  'x-hub-signature': 's3cret',
  'x-shared-secret': 's3cret',
  'x-password': 's3cret',
  'x-session-id': 's3cret',
  'x-forwarded-as': 'Bearer s3cret',
  'x-jwt': 's3cret',
  'x-pwd': 's3cret',
  'x-pin': 's3cret',
  'x-pass': 's3cret',
  'x-bearer': 's3cret',
  'x-hmac': 's3cret',
  'x-acl': 'ApiKey s3cret',
  'x-grant': 'eyJs3cret.e30.s3cret',
};
const PLAIN = { accept: 'text/plain', 'x-tenant': 'red', 'x-empty': '' };

describe('headers with credentials', () => {
  it.override('api', () =>
    apiWithSubscription({ options: { post_headers: { ...CREDENTIALS, ...PLAIN }, raw_delivery: true } }),
  );

  it('are redacted, unlike all others', async ({ get }) => {
    const one = await get(ONE);
    const redacted = Object.fromEntries(Object.keys(CREDENTIALS).map((name) => [name, '***']));
    expect(one).toHaveProperty('options.post_headers', { ...redacted, ...PLAIN });
    expect(JSON.stringify([one, await get(SUBSCRIPTIONS)])).not.toContain('s3cret');
  });

  it('keep their values if redacted ones are sent back, with any spelling of the name', async ({ api }) => {
    const { options } = z.object({ options: z.looseObject({}) }).parse(await api.get(ONE));
    const { options: before } = await api.stored();
    await api.patch({ options, ttl: 60 });
    expect((await api.stored()).options).toEqual(before);
    await api.patch({ options: { post_headers: { authorization: '***', 'x-new': 'a' } } });
    expect((await api.stored()).options).toEqual({
      post_headers: { authorization: 'Basic s3cret', 'x-new': 'a' },
    });
  });

  it('are refused if they are redacted and no value is stored', async ({ patch, subscribe, world }) => {
    const before = await world();
    const options = { post_headers: { authorization: '***', 'x-other-key': '***' } };
    const [known, other] = ['options.post_headers.authorization', 'options.post_headers.x-other-key'];
    expect(await patch({ options })).toMatchObject(invalid(other));
    expect(await subscribe({ subscriber: `${HOOK}/2`, options })).toMatchObject(invalid(known, other));
    expect(await world()).toEqual(before);
  });
});
