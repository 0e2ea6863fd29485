import { generateKeyPairSync } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { oauthAccessTokens } from '../../../shared/adapters/oauth/access-tokens.ts';
import type { OAuth2Auth } from '../../../shared/domain/subscription/auth.ts';
import type { TokenResult } from '../../../shared/ports/subscriber.ts';
import { type AuthorisationServer, startAuthorisationServer } from '../../support/authorisation-server.ts';
import { anOAuth2Auth } from '../../support/builders.ts';
import { bundle } from '../../support/bundle.ts';
import { certificateAuthority } from '../../support/certificates.ts';

const entryPoint = z.object({
  lazyAccessTokens: z.custom<typeof oauthAccessTokens>((value) => typeof value === 'function'),
});

const TIMEOUT_MS = 10_000;
const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };

describe('tokens of an authorisation server', () => {
  const authority = certificateAuthority('Authority');
  const keys = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: generateKeyPairSync('ed25519'),
  } as const;
  const next = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secret = 'blank, colon: plus+ percent% slash/ "quoted"';
  const { fetch } = httpSubscriber({
    allowedAddresses: ['127.0.0.0/8'],
    trustedCertificates: [authority.cert],
  });
  let server: AuthorisationServer;

  beforeAll(async () => {
    const signers = (['RS256', 'ES256', 'EdDSA'] as const).map((algorithm) => ({
      id: algorithm,
      algorithm,
      publicKeys: { next: next.publicKey, current: keys[algorithm].publicKey },
    }));
    server = await startAuthorisationServer(authority.issue({ names: ['127.0.0.1'] }), [
      { id: 'by:secret', secret },
      ...signers,
    ]);
  });
  afterAll(() => server.close());

  const ask = (auth: Partial<OAuth2Auth>, accessTokens = oauthAccessTokens): Promise<TokenResult> => {
    const tokens = accessTokens({ fetch, clock: { now: () => 0 }, userAgent: 'Posthaste' });
    const { client_secret: _secret, ...asked } = { ...anOAuth2Auth({ token_url: server.tokenUrl }), ...auth };
    const credentials = auth.client_secret === undefined ? {} : { client_secret: auth.client_secret };
    return tokens.tokenFor(OWNER, { ...asked, ...credentials }, { timeoutMs: TIMEOUT_MS });
  };
  const issuedBy = async (result: TokenResult) =>
    result.kind === 'token' ? server.issued(result.token) : result;

  it('are issued to a client with a secret, for the scope', async () => {
    const result = await ask({ client_id: 'by:secret', client_secret: secret, scope: 'webhooks' });
    expect(await issuedBy(result)).toMatchObject({ clientId: 'by:secret', scope: 'webhooks' });
  });

  it.each(['RS256', 'ES256', 'EdDSA'] as const)(
    'are issued to a client that signs by its private key (%s)',
    async (id) => {
      const private_key = keys[id].privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      expect(await issuedBy(await ask({ client_id: id, private_key }))).toMatchObject({ clientId: id });
    },
  );

  it('are issued to a client that names its key, and the server by its issuer', async () => {
    const private_key = next.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { issuer } = server;
    const named = (key_id: string) => ask({ client_id: 'ES256', private_key, key_id, issuer });
    expect(await issuedBy(await named('next'))).toMatchObject({ clientId: 'ES256' });
    expect(await named('current')).toEqual({ kind: 'failed', detail: 'invalid_client' });
  });

  it('are issued to the code of a bundle that is made as in a deployment', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'oauth-'));
    const file = join(folder.path, 'index.mjs');
    const entry = new URL('../../../shared/adapters/oauth/lazy-access-tokens.ts', import.meta.url);
    await bundle(entry, file);
    // As Node loads it, not Vite.
    const bundled = entryPoint.parse(createRequire(import.meta.url)(file));
    const private_key = keys.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const result = await ask({ client_id: 'ES256', private_key }, bundled.lazyAccessTokens);
    expect(await issuedBy(result)).toMatchObject({ clientId: 'ES256' });
  });

  const foreign = keys.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const named = { client_id: 'ES256', private_key: foreign };
  it.each<[string, Partial<OAuth2Auth>, string]>([
    ['another secret', { client_id: 'by:secret', client_secret: 'wrong' }, 'invalid_client'],
    ['an unknown client', { client_id: 'unknown', client_secret: secret }, 'invalid_client'],
    ['the key of another client', { client_id: 'RS256', private_key: foreign }, 'invalid_client'],
    [
      'a scope that the client may not have',
      { client_id: 'by:secret', client_secret: secret, scope: 'administration' },
      'invalid_scope',
    ],
    ['an assertion for another server', { ...named, issuer: 'https://login.example/' }, 'invalid_client'],
    ['a key that is not PEM', { client_id: 'RS256', private_key: 'key' }, 'private key unusable'],
    [
      'an RSA key for PSS only',
      {
        client_id: 'RS256',
        private_key: pss.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
      'private key unusable',
    ],
    [
      'a key on a curve without algorithm',
      {
        client_id: 'ES256',
        private_key: otherCurve.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
      'private key unusable',
    ],
  ])('are refused for %s', async (_what, auth, detail) => {
    expect(await ask(auth)).toEqual({ kind: 'failed', detail });
  });
});
