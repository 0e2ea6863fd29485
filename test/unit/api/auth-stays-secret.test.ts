import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { certificateAuthority } from '../../support/certificates.ts';
import { spellingsOf } from '../../support/planted-secrets.ts';
import { apiUnderTest, NOON } from './api-under-test.ts';

const SUBSCRIPTIONS = '/v2/queues/orders/subscriptions';
const ONE = `${SUBSCRIPTIONS}/id-1`;
const SUBSCRIBER = 'https://hooks.example/orders';

const client = certificateAuthority('Receivers').issue({
  names: ['client'],
  notBefore: new Date(NOON - 1000),
  notAfter: new Date(NOON + 1000),
});
/** The part of a PEM that no other key has. */
const keyBody = client.key.split('\n')[2] ?? '';

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
    auth: { type: 'mtls', certificate: client.cert, private_key: client.key },
  }),
  fc.constantFrom('client_secret', 'private_key').chain((field) =>
    secret.map((value) => ({
      secret: field === 'private_key' ? keyBody : value,
      auth: {
        type: 'oauth2_client_credentials',
        token_url: 'https://login.example/token',
        client_id: 'posthaste',
        ...(field === 'private_key'
          ? { private_key: client.key, certificate: client.cert, key_id: 'k-1' }
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
          JSON.stringify({ subscriber: SUBSCRIBER, options: { auth: { ...auth, ...more } } });
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
