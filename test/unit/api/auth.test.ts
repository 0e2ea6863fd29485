import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { tokenUrlFault } from '../../../shared/adapters/http/guarded-fetch.ts';
import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import { authOf } from '../../../shared/domain/subscription/destination.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { spellingsOf } from '../../support/planted-secrets.ts';
import { apiUnderTest, HOOK, invalid, it, NOON, ONE, refusal, SUBSCRIPTIONS } from './api-test.ts';
import { openedAuth } from '../../../shared/steps/sign-request.ts';
const DAY_MS = 86_400_000;

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

const subscribe = (auth: unknown, more: object = {}, subscriber = HOOK) =>
  apiUnderTest().call('POST', SUBSCRIPTIONS, { subscriber, options: { auth, ...more } });

describe('options.auth', () => {
  it.each([
    ['a header', header],
    ['basic', basic],
    ['basic with an empty password, beyond ASCII', { ...basic, username: 'zoë', password: '' }],
    ['mtls', mtls],
    ['mtls with authorities', { ...mtls, ca: authority.cert.repeat(2) }],
    ['OAuth 2 with a secret', { ...oauth2, scope: 'a b', audience: 'https://hooks.example' }],
    ['OAuth 2 with a key', { ...oauth2WithoutSecret, private_key: keyIn({}) }],
    [
      'OAuth 2 with a key, its name, certificate and audience',
      { ...certified, key_id: 'k-1', issuer: 'https://login.example/' },
    ],
  ])('can be %s', async (_name, auth) => {
    expect(await subscribe(auth)).toMatchObject({ status: 201 });
  });

  it.each<[string, unknown, string, RegExp]>([
    ['another type', { type: 'digest' }, 'options.auth.type', /must be one of header, basic/],
    ['an unknown field', { ...header, realm: 'a' }, 'options.auth.realm', /not a known field/],
    ['a reserved header', { ...header, name: 'Webhook-Id' }, 'options.auth.name', /reserved/],
    ['an invalid header name', { ...header, name: 'x key' }, 'options.auth.name', /not a valid header name/],
    ['a line break in a header', { ...header, value: 'a\r\nx: b' }, 'options.auth.value', /printable ASCII/],
    ['an empty header', { ...header, value: '' }, 'options.auth.value', /1 to 8192/],
    ['a colon in the user name', { ...basic, username: 'a:b' }, 'options.auth.username', /colon/],
    ['a control character', { ...basic, password: 'a\u0000' }, 'options.auth.password', /control/],
    ['a redacted value', { ...basic, password: '***' }, 'options.auth.password', /no stored value/],
    [
      'a key beside the certificate, which is shown',
      { ...mtls, certificate: `${client.certificate}${client.private_key}` },
      'options.auth.certificate',
      /certificates only/,
    ],
    ['a long certificate', { ...mtls, certificate: 'a'.repeat(8193) }, 'options.auth.certificate', /8192/],
    [
      'no key',
      { ...mtls, private_key: client.certificate },
      'options.auth.private_key',
      /private key in PEM/,
    ],
    [
      'an encrypted key',
      { ...mtls, private_key: keyIn({ type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'a' }) },
      'options.auth.private_key',
      /must not be encrypted/,
    ],
    [
      "another certificate's key",
      { ...mtls, private_key: issue(-1, 1).private_key },
      'options.auth.private_key',
      /does not belong/,
    ],
    [
      'a key on another curve',
      {
        ...mtls,
        private_key: generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString(),
      },
      'options.auth.private_key',
      /P-256/,
    ],
    [
      'an expired certificate',
      { type: 'mtls', ...issue(-2, -1) },
      'options.auth.certificate',
      /expired at 2026-11-20/,
    ],
    [
      'a certificate that is not valid yet',
      { type: 'mtls', ...issue(1, 2) },
      'options.auth.certificate',
      /not valid before 2026-11-22/,
    ],
    ['an authority that is none', { ...mtls, ca: 'x' }, 'options.auth.ca', /in PEM/],
    [
      'a token URL without TLS',
      { ...oauth2, token_url: 'http://login.example/token' },
      'options.auth.token_url',
      /https/,
    ],
    [
      'a private token URL',
      { ...oauth2, token_url: 'https://10.0.0.1/token' },
      'options.auth.token_url',
      /private or reserved/,
    ],
    ['secret and key', { ...oauth2, private_key: client.private_key }, 'options.auth', /either/],
    ['a key id without key', { ...oauth2, key_id: 'k-1' }, 'options.auth', /private_key for key_id/],
    ['a scope with a line break', { ...oauth2, scope: 'a\nb' }, 'options.auth.scope', /printable ASCII/],
  ])('is refused with %s, by name', async (_fault, auth, field, message) => {
    expect(await subscribe(auth)).toMatchObject({
      status: 400,
      body: { error: { fields: [{ field, message: expect.stringMatching(message) as unknown }] } },
    });
  });

  it('needs TLS for a token URL at a private address that a setting allows, too', async () => {
    const { call } = apiUnderTest({
      tokenUrlFault: (url) => tokenUrlFault(url, { allowedAddresses: ['10.0.0.0/8'] }),
    });
    const subscribeAt = (scheme: string) => {
      const auth = { ...oauth2, token_url: `${scheme}://10.0.0.1/token` };
      return call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: { auth } });
    };
    const refused = invalid('options.auth.token_url');
    expect(await subscribeAt('http')).toMatchObject(refused);
    expect(await subscribeAt('https')).toMatchObject({ status: 201 });
  });

  it.each([
    [header, 'X-Api-Key'],
    [basic, 'authorization'],
    [oauth2, 'Authorization'],
  ])('is refused beside a header of the same name: $type', async (auth, name) => {
    expect(await subscribe(auth, { post_headers: { [name]: 'a' } })).toMatchObject(
      invalid(`options.post_headers.${name}`),
    );
  });

  it('is refused for a pull subscription, and with certificates that no connection uses', async () => {
    const refused = invalid('options.auth');
    expect(await subscribe(header, {}, 'pull:')).toMatchObject(refused);
    const [ca, withoutTls] = [authority.cert, 'http://hooks.example/'];
    for (const auth of [mtls, { ...header, ca }, { ...basic, ca }])
      expect(await subscribe(auth, {}, withoutTls)).toMatchObject(refused);
    expect(await subscribe({ ...oauth2, ca }, {}, withoutTls)).toMatchObject({ status: 201 });
  });

  it.for([
    ['mtls', { ...mtls, ca: authority.cert }],
    ['OAuth 2', { ...certified, ca: authority.cert }],
  ] as const)(
    'shows certificates and authorities, and until when that of %s is valid',
    async ([_type, auth], { call }) => {
      await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: { auth } });
      expect(await call('GET', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({
        body: {
          options: { auth: { ...auth, private_key: '***' } },
          certificateExpiresAt: new Date(NOON + 90 * DAY_MS).toISOString(),
        },
      });
    },
  );

  it('stores private keys in one form', async ({ call, registry, secrets }) => {
    const key = createPrivateKey(client.private_key).export({ type: 'sec1', format: 'pem' });
    await call('POST', SUBSCRIPTIONS, {
      subscriber: HOOK,
      options: { auth: { ...mtls, private_key: key } },
    });
    const stored = await registry.findSubscription('orders', 'id-1');
    const opened = await secrets.openAuth(
      { queue: 'orders', subscriptionId: 'id-1' },
      (stored && authOf(stored.destination))?.sealed ?? '',
    );
    expect(opened).toEqual(mtls);
    expect(stored && authOf(stored.destination)).toMatchObject({ at: NOON, notAfter: NOON + 90 * DAY_MS });
  });
});

const subscribed = async (auth: Auth, overrides = {}) => {
  const api = apiUnderTest(overrides);
  await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: { auth, raw_delivery: true } });
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
    expect(await call('PATCH', ONE, redacted)).toMatchObject(invalid('options.auth.password'));
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
    expect(await call('PATCH', ONE, { options })).toMatchObject(invalid(`options.auth.${secret}`));
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
    expect(await api.call('PATCH', ONE, patch)).toMatchObject(refusal('conflict'));
    expect(await api.stored()).toMatchObject({ opened: { ...basic, password: 'second' } });
  });

  it('does not tell callers whether given credentials are the stored ones', async () => {
    const results = async (password: string, key: string) => {
      const api = apiUnderTest();
      const options = (one: string, other: string) => ({
        auth: { ...basic, password: one },
        post_headers: { 'x-api-key': other },
      });
      await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK, options: options('first', 'k-1') });
      const guess = { subscriber: HOOK, options: options(password, key) };
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
        subscriber: HOOK,
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

/** The part of a PEM that no other key has. */
const keyBody = client.private_key.split('\n')[2] ?? '';

const secret = fc.integer({ min: 8, max: 60 }).map((bytes) => randomBytes(bytes).toString('base64url'));
const names = fc.constantFrom('x-api-key', 'authorization', 'X-Odd');

/** Credentials of every type, with what of them is secret. */
const credentials = fc.oneof(
  fc
    .tuple(names, secret)
    .map(([name, value]) => ({ secret: value, auth: { type: 'header', name, value: `Bearer ${value}` } })),
  secret.map((password) => ({ secret: password, auth: { type: 'basic', username: 'ada', password } })),
  fc.constant({
    secret: keyBody,
    auth: { type: 'mtls', certificate: client.certificate, private_key: client.private_key },
  }),
  fc.constantFrom('client_secret', 'private_key').chain((field) =>
    secret.map((value) => ({
      secret: field === 'private_key' ? keyBody : value,
      auth: {
        type: 'oauth2_client_credentials',
        token_url: 'https://login.example/token',
        client_id: 'posthaste',
        ...(field === 'private_key'
          ? { private_key: client.private_key, certificate: client.certificate, key_id: 'k-1' }
          : { client_secret: value }),
      },
    })),
  ),
);

/** What makes valid credentials invalid. */
const spoiled = fc.constantFrom<object>(
  { type: 'other' },
  { extra: 1 },
  { name: 'host', username: 'a:b', certificate: 'none', token_url: 'http://login.example' },
  { type: 'basic' },
);

describe('what is secret in options.auth', () => {
  it('appears in no answer, audit entry, error or record, except in an export of credentials', async () => {
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
          await api.call('PATCH', ONE, { options: { auth, raw_delivery: true } }),
          await api.call('POST', '/v2/queues/orders/import', `${line({})}\n${line(wrong)}\n`),
          await api.call('POST', '/v2/queues/orders/import?replace=true', line({})),
          await api.call('GET', ONE),
          await api.call('GET', SUBSCRIPTIONS),
          await api.call('GET', '/v2/queues/orders/export'),
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
});
