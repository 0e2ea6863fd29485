import { authOf } from '../../../shared/domain/subscription/destination.ts';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tokenUrlFault } from '../../../shared/adapters/http/guarded-fetch.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const SUBSCRIBER = 'https://hooks.example/orders';
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
const basic = { type: 'basic', username: 'ada', password: 'p' };
const mtls = { type: 'mtls', ...client };
const oauth2 = {
  type: 'oauth2_client_credentials',
  token_url: 'https://login.example/token',
  client_id: 'posthaste',
  client_secret: 's-1',
};
const { client_secret: _, ...oauth2WithoutSecret } = oauth2;
const certified = { ...oauth2WithoutSecret, ...client };

const subscribe = (auth: unknown, more: object = {}, subscriber = SUBSCRIBER) =>
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
      return call('POST', SUBSCRIPTIONS, { subscriber: SUBSCRIBER, options: { auth } });
    };
    const refused = { status: 400, body: faultOf('invalid_request', 'options.auth.token_url') };
    expect(await subscribeAt('http')).toMatchObject(refused);
    expect(await subscribeAt('https')).toMatchObject({ status: 201 });
  });

  it.each([
    [header, 'X-Api-Key'],
    [basic, 'authorization'],
    [oauth2, 'Authorization'],
  ])('is refused beside a header of the same name: $type', async (auth, name) => {
    expect(await subscribe(auth, { post_headers: { [name]: 'a' } })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', `options.post_headers.${name}`),
    });
  });

  it('is refused for a pull subscription, and with certificates that no connection uses', async () => {
    const refused = { status: 400, body: faultOf('invalid_request', 'options.auth') };
    expect(await subscribe(header, {}, 'pull:')).toMatchObject(refused);
    const [ca, withoutTls] = [authority.cert, 'http://hooks.example/'];
    for (const auth of [mtls, { ...header, ca }, { ...basic, ca }])
      expect(await subscribe(auth, {}, withoutTls)).toMatchObject(refused);
    expect(await subscribe({ ...oauth2, ca }, {}, withoutTls)).toMatchObject({ status: 201 });
  });

  it.each([
    ['mtls', { ...mtls, ca: authority.cert }],
    ['OAuth 2', { ...certified, ca: authority.cert }],
  ])('shows certificates and authorities, and until when that of %s is valid', async (_type, auth) => {
    const { call } = apiUnderTest();
    await call('POST', SUBSCRIPTIONS, { subscriber: SUBSCRIBER, options: { auth } });
    expect(await call('GET', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({
      body: {
        options: { auth: { ...auth, private_key: '***' } },
        certificateExpiresAt: new Date(NOON + 90 * DAY_MS).toISOString(),
      },
    });
  });

  it('stores private keys in one form', async () => {
    const { call, registry, secrets } = apiUnderTest();
    const key = createPrivateKey(client.private_key).export({ type: 'sec1', format: 'pem' });
    await call('POST', SUBSCRIPTIONS, {
      subscriber: SUBSCRIBER,
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
