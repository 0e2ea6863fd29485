import { authOf } from '../../../shared/domain/subscription/destination.ts';
import { describe, expect, it } from 'vitest';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import { openedAuth } from '../../../shared/steps/sign-request.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const ONE = `${SUBSCRIPTIONS}/id-1`;
const SUBSCRIBER = 'https://hooks.example/orders';

const basic = { type: 'basic', username: 'ada', password: 'first' } as const;
const oauth2 = {
  type: 'oauth2_client_credentials',
  token_url: 'https://login.example/a',
  client_id: 'posthaste',
  client_secret: 's-1',
} as const;

const subscribed = async (auth: Auth, overrides = {}) => {
  const api = apiUnderTest(overrides);
  await api.call('POST', SUBSCRIPTIONS, { subscriber: SUBSCRIBER, options: { auth, raw_delivery: true } });
  const stored = async () => {
    const found = await api.registry.findSubscription('orders', 'id-1');
    if (found === undefined) throw new Error('There is no subscription.');
    return { auth: authOf(found.destination), opened: await openedAuth(api.secrets, found) };
  };
  return { ...api, stored };
};

describe('changing the credentials of a subscription', () => {
  it('leaves them as they are if they are sent back as they were shown', async () => {
    const { call, stored, changes } = await subscribed(basic);
    const before = await stored();
    await call('PATCH', ONE, { options: { raw_delivery: true, auth: { ...basic, password: '***' } } });
    await call('PATCH', ONE, { name: 'ACME', ttl: 60 });
    expect(await stored()).toEqual(before);
    expect(changes.filter(({ change }) => change === 'subscription_changed')).toMatchObject([
      { changed: ['name', 'ttl'] },
    ]);
  });

  it('replaces them, and dates the change', async () => {
    const { call, stored, changes, time } = await subscribed(basic);
    time.now -= 5_000;
    await call('PATCH', ONE, { options: { auth: { ...basic, username: 'bob' } } });
    expect(await stored()).toMatchObject({
      auth: { at: NOON + 1, shown: { username: 'bob', password: '***' } },
      opened: { ...basic, username: 'bob' },
    });
    expect(changes.at(-1)).toMatchObject({
      changed: ['options.auth', 'options.raw_delivery'],
      after: { auth: 'basic' },
    });
  });

  it('removes them where the options come without', async () => {
    const { call, stored } = await subscribed(basic);
    await call('PATCH', ONE, { options: {} });
    expect(await stored()).toEqual({ auth: undefined, opened: undefined });
  });

  it('does not send them to another origin', async () => {
    const { call, stored } = await subscribed(basic);
    const moved = { subscriber: 'https://other.example/' };
    const redacted = { ...moved, options: { auth: { ...basic, password: '***' } } };
    expect(await call('PATCH', ONE, redacted)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'options.auth.password'),
    });
    expect(await call('PATCH', ONE, moved)).toMatchObject({ status: 200 });
    expect(await stored()).toEqual({ auth: undefined, opened: undefined });
  });

  const moreOf = (auth: Auth, more: object) => ({ ...auth, ...more });

  it.each([
    [
      'the origin of token_url',
      moreOf(oauth2, { token_url: 'https://evil.example/a', client_secret: '***' }),
    ],
    [
      'the tenant in its path',
      moreOf(oauth2, { token_url: 'https://login.example/b', client_secret: '***' }),
    ],
    ['client_id', moreOf(oauth2, { client_id: 'other', client_secret: '***' })],
    ['scope', moreOf(oauth2, { scope: 'admin', client_secret: '***' })],
    ['audience', moreOf(oauth2, { audience: 'https://evil.example', client_secret: '***' })],
    ['ca', moreOf(oauth2, { ca: certificateAuthority('Evil').cert, client_secret: '***' })],
    ['the type', { type: 'header', name: 'x-key', value: '***' }],
  ])('needs the secret again where a change concerns %s', async (_, auth) => {
    const { call, stored } = await subscribed(oauth2);
    const before = await stored();
    expect(await call('PATCH', ONE, { options: { raw_delivery: true, auth } })).toMatchObject({
      status: 400,
    });
    expect(await stored()).toEqual(before);
  });

  it.each([
    [{ type: 'header', name: 'x-key', value: 'k-1' }, { name: 'x-other' }, 'value'],
    [basic, { username: 'bob' }, 'password'],
  ] as const)('needs the secret again for another name: %j', async (auth, change, secret) => {
    const { call } = await subscribed(auth);
    const options = { auth: { ...auth, ...change, [secret]: '***' } };
    expect(await call('PATCH', ONE, { options })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', `options.auth.${secret}`),
    });
  });

  it('opens nothing', async () => {
    const { call, secrets } = await subscribed(basic);
    secrets.outage = new Error('not allowed to open');
    const shown = { ...basic, password: '***' };
    for (const auth of [shown, { ...basic, username: 'bob', password: 'second' }])
      expect(await call('PATCH', ONE, { options: { auth } })).toMatchObject({ status: 200 });
  });

  it('is refused if they changed in the meantime', async () => {
    const api = await subscribed(basic);
    const sealAuth = api.secrets.sealAuth.bind(api.secrets);
    api.secrets.sealAuth = async (...given) => {
      api.secrets.sealAuth = sealAuth;
      await api.call('PATCH', ONE, { options: { auth: { ...basic, password: 'second' } } });
      return sealAuth(...given);
    };
    const patch = { options: { auth: { ...basic, username: 'bob' } } };
    expect(await api.call('PATCH', ONE, patch)).toMatchObject({ status: 409, body: faultOf('conflict') });
    expect(await api.stored()).toMatchObject({ opened: { ...basic, password: 'second' } });
  });

  it('does not tell callers whether given credentials are the stored ones', async () => {
    const results = async (password: string, key: string) => {
      const api = apiUnderTest();
      const options = (one: string, other: string) => ({
        auth: { ...basic, password: one },
        post_headers: { 'x-api-key': other },
      });
      await api.call('POST', SUBSCRIPTIONS, { subscriber: SUBSCRIBER, options: options('first', 'k-1') });
      const guess = { subscriber: SUBSCRIBER, options: options(password, key) };
      const path = '/v2/queues/orders/import';
      return [
        await api.call('POST', SUBSCRIPTIONS, guess),
        await api.call('POST', path, JSON.stringify(guess)),
        await api.call('POST', `${path}?replace=true`, JSON.stringify(guess)),
        await api.call('PATCH', ONE, { options: guess.options }),
      ];
    };
    const right = await results('first', 'k-1');
    for (const [password, key] of [
      ['wrong', 'k-1'],
      ['first', 'wrong'],
    ] as const)
      expect(await results(password, key)).toEqual(right);
  });

  it('happens by an import with replace; credentials that it does not replace are unchanged', async () => {
    const { call, stored, text } = await subscribed(basic);
    const before = await stored();
    const line = (password: string) =>
      JSON.stringify({
        subscriber: SUBSCRIBER,
        options: { raw_delivery: true, auth: { ...basic, password } },
      });
    const run = async (password: string, query = '') =>
      (await call('POST', `/v2/queues/orders/import${query}`, line(password))).body;
    for (const password of ['first', '***', 'second'])
      expect(await run(password)).toMatchObject({ unchanged: 1 });
    expect(await run('***', '?replace=true')).toMatchObject({ unchanged: 1 });
    expect(await stored()).toEqual(before);
    expect(await run('second', '?replace=true')).toMatchObject({ replaced: 1 });
    expect(await stored()).toMatchObject({ opened: { password: 'second' } });
    expect(await text('GET', '/v2/queues/orders/export')).toContain('"password":"***"');
  });

  it('takes what the credentials route exports, in another deployment', async () => {
    const { call } = await subscribed(oauth2);
    const exported = (await call('POST', '/v2/credentials/orders')).body;
    const other = apiUnderTest();
    expect((await other.call('POST', '/v2/queues/orders/import', exported)).body).toMatchObject({
      imported: 1,
    });
    const found = await other.registry.findSubscription('orders', 'id-1');
    expect(found && (await openedAuth(other.secrets, found))).toEqual(oauth2);
  });
});
