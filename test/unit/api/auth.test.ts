import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { tokenUrlFault } from '../../../shared/adapters/http/guarded-fetch.ts';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import { findAuth } from '../../../shared/domain/subscription/destination.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { spellingsOf } from '../../support/planted-secrets.ts';
import {
  apiUnderTest,
  apiWithSubscription,
  HOOK,
  invalid,
  it,
  NOON,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';
import { openedAuth } from '../../../shared/steps/sign-request.ts';

const DAY_MS = 86_400_000;
const IMPORT = `${QUEUE}/import`;

const authority = certificateAuthority('Receivers');
const issue = (from: number, until: number) => {
  const { cert, key } = authority.issue({
    names: ['client'],
    notBefore: new Date(NOON + from * DAY_MS),
    notAfter: new Date(NOON + until * DAY_MS),
  });
  return { certificate: cert, private_key: key };
};
const client = issue(-1, 90);
const keyIn = (options: object) =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ format: 'pem', type: 'pkcs1', ...options })
    .toString();

const header = { type: 'header', name: 'x-api-key', value: 'k-1' };
const basic = { type: 'basic', username: 'ada', password: 'first' } as const;
const mtls = { type: 'mtls', ...client };
const oauth2 = {
  type: 'oauth2_client_credentials',
  token_url: 'https://login.example/a',
  client_id: 'posthaste',
  client_secret: 's-1',
} as const;
const { client_secret: _, ...oauth2WithoutSecret } = oauth2;
const certified = { ...oauth2WithoutSecret, ...client };

describe('options.auth', () => {
  it.for<[string, object]>([
    ['a header', header],
    ['basic', basic],
    ['basic with an empty password, beyond ASCII', { ...basic, username: 'zoë', password: '' }],
    ['mtls', mtls],
    ['mtls with authorities', { ...mtls, ca: authority.cert.repeat(2) }],
    ['OAuth 2 with a secret', { ...oauth2, scope: 'a b', audience: 'https://hooks.example' }],
    ['OAuth 2 with a key', { ...oauth2WithoutSecret, private_key: keyIn({}) }],
    [
      'OAuth 2 with a key and all about it',
      { ...certified, key_id: 'k-1', issuer: 'https://login.example/' },
    ],
  ])('can be %s', async ([, auth], { subscribe }) => {
    expect(await subscribe({ options: { auth } })).toMatchObject({ status: 201 });
  });

  const withKey = `${client.certificate}${client.private_key}`;
  const encrypted = keyIn({ type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'a' });
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();

  it.for<[string, object, string, RegExp]>([
    ['another type', { type: 'digest' }, '.type', /must be one of header, basic/],
    ['an unknown field', { ...header, realm: 'a' }, '.realm', /not a known field/],
    ['a reserved header', { ...header, name: 'Webhook-Id' }, '.name', /reserved/],
    ['an invalid header name', { ...header, name: 'x key' }, '.name', /not a valid header name/],
    ['a line break in a header', { ...header, value: 'a\r\nx: b' }, '.value', /printable ASCII/],
    ['an empty header', { ...header, value: '' }, '.value', /1 to 8192/],
    ['a colon in the user name', { ...basic, username: 'a:b' }, '.username', /colon/],
    ['a control character', { ...basic, password: 'a\u0000' }, '.password', /control/],
    ['a redacted value', { ...basic, password: '***' }, '.password', /no stored value/],
    ['a key in what is shown', { ...mtls, certificate: withKey }, '.certificate', /certificates only/],
    ['a long certificate', { ...mtls, certificate: 'a'.repeat(8193) }, '.certificate', /8192/],
    ['no key', { ...mtls, private_key: client.certificate }, '.private_key', /private key in PEM/],
    ['an encrypted key', { ...mtls, private_key: encrypted }, '.private_key', /must not be encrypted/],
    ["another certificate's key", { ...mtls, private_key: keyIn({}) }, '.private_key', /does not belong/],
    ['a key on another curve', { ...mtls, private_key: otherCurve }, '.private_key', /P-256/],
    ['an expired certificate', { ...mtls, ...issue(-2, -1) }, '.certificate', /expired at 2026-11-20/],
    ['a certificate too early', { ...mtls, ...issue(1, 2) }, '.certificate', /not valid before 2026-11-22/],
    ['an authority that is none', { ...mtls, ca: 'x' }, '.ca', /in PEM/],
    [
      'a token URL without TLS',
      { ...oauth2, token_url: 'http://login.example/token' },
      '.token_url',
      /https/,
    ],
    [
      'a private token URL',
      { ...oauth2, token_url: 'https://10.0.0.1/' },
      '.token_url',
      /private or reserved/,
    ],
    ['secret and key', { ...oauth2, private_key: client.private_key }, '', /either/],
    ['a key id without key', { ...oauth2, key_id: 'k-1' }, '', /private_key for key_id/],
    ['a scope with a line break', { ...oauth2, scope: 'a\nb' }, '.scope', /printable ASCII/],
  ])('is refused with %s, by name', async ([, auth, field, message], { subscribe }) => {
    const fields = [{ field: `options.auth${field}`, message: expect.stringMatching(message) as unknown }];
    expect(await subscribe({ options: { auth } })).toMatchObject({
      status: 400,
      body: { error: { fields } },
    });
  });

  it('needs TLS for a token URL at a private address that a setting allows, too', async () => {
    const allowed = { allowedAddresses: ['10.0.0.0/8'] };
    const { subscribe } = apiUnderTest({ tokenUrlFault: (url) => tokenUrlFault(url, allowed) });
    const at = (token_url: string) => subscribe({ options: { auth: { ...oauth2, token_url } } });
    expect(await at('http://10.0.0.1/token')).toMatchObject(invalid('options.auth.token_url'));
    expect(await at('https://10.0.0.1/token')).toMatchObject({ status: 201 });
  });

  it.for([
    { auth: header, name: 'X-Api-Key' },
    { auth: basic, name: 'authorization' },
    { auth: oauth2, name: 'Authorization' },
  ])('is refused beside a header of the same name: $auth.type', async ({ auth, name }, { subscribe }) => {
    const answer = await subscribe({ options: { auth, post_headers: { [name]: 'a' } } });
    expect(answer).toMatchObject(invalid(`options.post_headers.${name}`));
  });

  const { cert: ca } = authority;

  it.for<[string, object]>([
    ['pull:', header],
    ['http://hooks.example/', mtls],
    ['http://hooks.example/', { ...header, ca }],
    ['http://hooks.example/', { ...basic, ca }],
  ])('is refused where no connection uses it: %s, %j', async ([subscriber, auth], { subscribe }) => {
    expect(await subscribe({ subscriber, options: { auth } })).toMatchObject(invalid('options.auth'));
    const forTokens = { subscriber: 'http://hooks.example/', options: { auth: { ...oauth2, ca } } };
    expect(await subscribe(forTokens)).toMatchObject({ status: 201 });
  });

  it.for([{ auth: { ...mtls, ca } }, { auth: { ...certified, ca } }])(
    'shows certificates and authorities, and until when they are valid: $auth.type',
    async ({ auth }, { get, subscribe }) => {
      await subscribe({ options: { auth } });
      expect(await get(ONE)).toMatchObject({
        options: { auth: { ...auth, private_key: '***' } },
        certificateExpiresAt: new Date(NOON + 90 * DAY_MS).toISOString(),
      });
    },
  );

  it('stores private keys in one form', async ({ subscribe, secrets, stored }) => {
    const key = createPrivateKey(client.private_key).export({ type: 'sec1', format: 'pem' });
    await subscribe({ options: { auth: { ...mtls, private_key: key } } });
    const subscription = await stored();
    expect(await openedAuth(secrets, subscription)).toEqual(mtls);
    expect(findAuth(subscription.destination)).toMatchObject({ at: NOON, notAfter: NOON + 90 * DAY_MS });
  });
});

const subscribed = async (auth: Auth) => {
  const api = await apiWithSubscription({ options: { auth, raw_delivery: true } });
  const held = async () => {
    const found = await api.stored();
    return { auth: findAuth(found.destination), opened: await openedAuth(api.secrets, found) };
  };
  return { ...api, held };
};

describe('changing the credentials of a subscription', () => {
  it('leaves them as they are if they are sent back as they were shown', async () => {
    const { patch, held, changes } = await subscribed(basic);
    const before = await held();
    await patch({ options: { raw_delivery: true, auth: { ...basic, password: '***' } } });
    await patch({ name: 'ACME', ttl: 60 });
    expect(await held()).toEqual(before);
    expect(changes.filter(({ change }) => change === 'subscription_changed')).toMatchObject([
      { changed: ['name', 'ttl'] },
    ]);
  });

  it('replaces them, and dates the change', async () => {
    const { patch, held, changes, time } = await subscribed(basic);
    time.now -= 5_000;
    await patch({ options: { auth: { ...basic, username: 'bob' } } });
    expect(await held()).toMatchObject({
      auth: { at: NOON + 1, shown: { username: 'bob', password: '***' } },
      opened: { ...basic, username: 'bob' },
    });
    expect(changes.at(-1)).toMatchObject({
      changed: ['options.auth', 'options.raw_delivery'],
      after: { auth: 'basic' },
    });
  });

  it('removes them where the options come without', async () => {
    const { patch, held } = await subscribed(basic);
    await patch({ options: {} });
    expect(await held()).toEqual({ auth: undefined, opened: undefined });
  });

  it('does not send them to another origin', async () => {
    const { patch, held } = await subscribed(basic);
    const moved = { subscriber: 'https://other.example/' };
    const redacted = { ...moved, options: { auth: { ...basic, password: '***' } } };
    expect(await patch(redacted)).toMatchObject(invalid('options.auth.password'));
    expect(await patch(moved)).toMatchObject({ status: 200 });
    expect(await held()).toEqual({ auth: undefined, opened: undefined });
  });

  const redacted = (more: object) => ({ ...oauth2, client_secret: '***', ...more });

  it.each([
    ['the origin of token_url', redacted({ token_url: 'https://evil.example/a' })],
    ['the tenant in its path', redacted({ token_url: 'https://login.example/b' })],
    ['client_id', redacted({ client_id: 'other' })],
    ['scope', redacted({ scope: 'admin' })],
    ['audience', redacted({ audience: 'https://evil.example' })],
    ['ca', redacted({ ca: certificateAuthority('Evil').cert })],
    ['the type', { type: 'header', name: 'x-key', value: '***' }],
  ])('needs the secret again where a change concerns %s', async (_, auth) => {
    const { patch, held } = await subscribed(oauth2);
    const before = await held();
    expect(await patch({ options: { raw_delivery: true, auth } })).toMatchObject({ status: 400 });
    expect(await held()).toEqual(before);
  });

  it.each([
    [{ type: 'header', name: 'x-key', value: 'k-1' }, { name: 'x-other' }, 'value'],
    [basic, { username: 'bob' }, 'password'],
  ] as const)('needs the secret again for another name: %j', async (auth, change, secret) => {
    const { patch } = await subscribed(auth);
    const options = { auth: { ...auth, ...change, [secret]: '***' } };
    expect(await patch({ options })).toMatchObject(invalid(`options.auth.${secret}`));
  });

  it('opens nothing', async () => {
    const { patch, secrets } = await subscribed(basic);
    secrets.outage = new Error('not allowed to open');
    const shown = { ...basic, password: '***' };
    for (const auth of [shown, { ...basic, username: 'bob', password: 'second' }])
      expect(await patch({ options: { auth } })).toMatchObject({ status: 200 });
  });

  it('is refused if they changed in the meantime', async () => {
    const api = await subscribed(basic);
    const sealAuth = api.secrets.sealAuth.bind(api.secrets);
    api.secrets.sealAuth = async (...given) => {
      api.secrets.sealAuth = sealAuth;
      await api.patch({ options: { auth: { ...basic, password: 'second' } } });
      return sealAuth(...given);
    };
    const patch = { options: { auth: { ...basic, username: 'bob' } } };
    expect(await api.patch(patch)).toMatchObject(refusal('conflict'));
    expect(await api.held()).toMatchObject({ opened: { ...basic, password: 'second' } });
  });

  it('does not tell callers whether given credentials are the stored ones', async () => {
    const optionsOf = (password: string, key: string) => ({
      options: { auth: { ...basic, password }, post_headers: { 'x-api-key': key } },
    });
    const results = async (password: string, key: string) => {
      const { call, subscribe, patch } = await apiWithSubscription(optionsOf('first', 'k-1'));
      const guess = optionsOf(password, key);
      const line = JSON.stringify({ subscriber: HOOK, ...guess });
      return [
        await subscribe(guess),
        await call('POST', IMPORT, line),
        await call('POST', `${IMPORT}?replace=true`, line),
        await patch(guess),
      ];
    };
    const right = await results('first', 'k-1');
    expect(await results('wrong', 'k-1')).toEqual(right);
    expect(await results('first', 'wrong')).toEqual(right);
  });

  it('happens by an import with replace; credentials that it does not replace are unchanged', async () => {
    const { call, held, text } = await subscribed(basic);
    const before = await held();
    const run = async (password: string, query = '') => {
      const options = { raw_delivery: true, auth: { ...basic, password } };
      return (await call('POST', `${IMPORT}${query}`, { subscriber: HOOK, options })).body;
    };
    for (const password of ['first', '***', 'second'])
      expect(await run(password)).toMatchObject({ unchanged: 1 });
    expect(await run('***', '?replace=true')).toMatchObject({ unchanged: 1 });
    expect(await held()).toEqual(before);
    expect(await run('second', '?replace=true')).toMatchObject({ replaced: 1 });
    expect(await held()).toMatchObject({ opened: { password: 'second' } });
    expect(await text('GET', `${QUEUE}/export`)).toContain('"password":"***"');
  });

  it('takes what the credentials route exports, in another deployment', async () => {
    const { call } = await subscribed(oauth2);
    const exported = (await call('POST', '/v2/credentials/orders')).body;
    const other = apiUnderTest();
    expect((await other.call('POST', IMPORT, exported)).body).toMatchObject({ imported: 1 });
    expect(await openedAuth(other.secrets, await other.stored())).toEqual(oauth2);
  });
});

/** The part of a PEM that no other key has. */
const keyBody = client.private_key.split('\n')[2] ?? '';

const secret = fc.integer({ min: 8, max: 60 }).map((bytes) => randomBytes(bytes).toString('base64url'));
const names = fc.constantFrom('x-api-key', 'authorization', 'X-Odd');

/** Credentials of every type, with what of them is secret. */
const credentials = fc.oneof(
  fc.tuple(names, secret).map(([name, value]) => ({
    secret: value,
    auth: { type: 'header', name, value: `Bearer ${value}` },
  })),
  secret.map((password) => ({ secret: password, auth: { ...basic, password } })),
  fc.constantFrom(mtls, { ...certified, key_id: 'k-1' }).map((auth) => ({ secret: keyBody, auth })),
  secret.map((value) => ({ secret: value, auth: { ...oauth2, client_secret: value } })),
);

/** What makes valid credentials invalid. */
const spoiled = fc.constantFrom<object>(
  { type: 'other' },
  { extra: 1 },
  { name: 'host', username: 'a:b', certificate: 'none', token_url: 'http://login.example' },
  { type: 'basic' },
);

it('a secret of options.auth is in no answer, audit entry, error or record, except in an export of credentials', async () => {
  await fc.assert(
    fc.asyncProperty(credentials, spoiled, async ({ secret: planted, auth }, wrong) => {
      const api = apiUnderTest();
      const line = (more: object) =>
        JSON.stringify({ subscriber: HOOK, options: { auth: { ...auth, ...more } } });
      const exchanges = [
        await api.call('POST', SUBSCRIPTIONS, line({})),
        await api.call('POST', SUBSCRIPTIONS, line({})),
        await api.call('POST', SUBSCRIPTIONS, line(wrong)),
        await api.call('PATCH', ONE, line(wrong)),
        await api.patch({ options: { auth, raw_delivery: true } }),
        await api.call('POST', IMPORT, `${line({})}\n${line(wrong)}\n`),
        await api.call('POST', `${IMPORT}?replace=true`, line({})),
        await api.call('GET', ONE),
        await api.call('GET', SUBSCRIPTIONS),
        await api.call('GET', `${QUEUE}/export`),
      ];
      expect((await api.call('POST', '/v2/credentials/orders')).body).toContain(planted.slice(0, 8));
      api.secrets.outage = new Error('KMS does not respond');
      exchanges.push(
        await api.call('POST', '/v2/credentials/orders'),
        await api.call('PATCH', ONE, { options: { auth: { ...auth, password: '***' } } }),
      );
      exchanges.push(await api.call('DELETE', ONE));
      const { changes, subscriptions } = await api.world();
      const output = inspect(
        { exchanges, changes, subscriptions, faults: api.faults },
        { depth: 20, maxArrayLength: null, maxStringLength: null },
      );
      for (const spelling of spellingsOf(Buffer.from(planted))) expect(output).not.toContain(spelling);
    }),
    { numRuns: 16 },
  );
});
