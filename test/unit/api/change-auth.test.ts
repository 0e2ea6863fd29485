import { describe, expect, it } from 'vitest';
import { type Auth, unredactedAuth } from '../../../shared/domain/subscription/auth.ts';
import { UnknownCredentialsError } from '../../../shared/domain/subscription/credential-headers.ts';
import { openedAuth } from '../../../shared/steps/authorise.ts';
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
    return { auth: found.auth, opened: await openedAuth(api.secrets, found) };
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

  it('replaces them, with what was redacted as stored, and dates the change', async () => {
    const { call, stored, changes, time } = await subscribed(basic);
    time.now -= 5_000;
    await call('PATCH', ONE, { options: { auth: { ...basic, username: 'bob', password: '***' } } });
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

  it('does not use the key of a certificate for an authorisation server', () => {
    const { client_secret: _, ...withKey } = { ...oauth2, private_key: '***' };
    const mtls = { type: 'mtls', certificate: 'c', private_key: 'k' } as const;
    expect(() => unredactedAuth(withKey, mtls)).toThrow(UnknownCredentialsError);
  });

  it('does not send a secret to a server at another origin or of another authority, nor as another type', async () => {
    const { call, stored } = await subscribed(oauth2);
    const patch = (auth: object) => call('PATCH', ONE, { options: { auth } });
    for (const auth of [
      { ...oauth2, token_url: 'https://evil.example/a', client_secret: '***' },
      { ...oauth2, ca: certificateAuthority('Evil').cert, client_secret: '***' },
      { type: 'header', name: 'x-key', value: '***' },
    ])
      expect(await patch(auth)).toMatchObject({ status: 400 });
    expect(
      await patch({ ...oauth2, token_url: 'https://login.example/b', client_secret: '***' }),
    ).toMatchObject({
      status: 200,
    });
    expect(await stored()).toMatchObject({ opened: { ...oauth2, token_url: 'https://login.example/b' } });
  });

  it('is refused if they changed in the meantime, so that the stored values are not mixed', async () => {
    const api = await subscribed(basic);
    const sealAuth = api.secrets.sealAuth.bind(api.secrets);
    api.secrets.sealAuth = async (...given) => {
      api.secrets.sealAuth = sealAuth;
      await api.call('PATCH', ONE, { options: { auth: { ...basic, password: 'second' } } });
      return sealAuth(...given);
    };
    const patch = { options: { auth: { ...basic, username: 'bob', password: '***' } } };
    expect(await api.call('PATCH', ONE, patch)).toMatchObject({ status: 409, body: faultOf('conflict') });
    expect(await api.stored()).toMatchObject({ opened: { ...basic, password: 'second' } });
  });

  it('replaces what cannot be opened', async () => {
    const { call, stored, secrets } = await subscribed(basic);
    secrets.outage = new Error('sealed for another subscription');
    const second = { ...basic, username: 'bob', password: 'second' };
    expect(await call('PATCH', ONE, { options: { auth: { ...second, password: '***' } } })).toMatchObject({
      status: 500,
    });
    expect(await call('PATCH', ONE, { options: { auth: second } })).toMatchObject({ status: 200 });
    secrets.outage = undefined;
    expect(await stored()).toMatchObject({ opened: second });
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
