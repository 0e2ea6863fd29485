import { createHash, generateKeyPairSync, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import { type AccessTokenOptions, oauthAccessTokens } from '../../../shared/adapters/oauth/access-tokens.ts';
import type { OAuth2Auth } from '../../../shared/domain/subscription/auth.ts';
import { RequestNotSentError, type TokenResult } from '../../../shared/ports/subscriber.ts';
import { type AuthorisationServer, startAuthorisationServer } from '../../support/authorisation-server.ts';
import { anOAuth2Auth } from '../../support/builders.ts';
import { bundle } from '../../support/bundle.ts';
import { certificateAuthority } from '../../support/certificates.ts';

const TIMEOUT_MS = 10_000;
const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const partOf = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());

describe('access tokens', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  type Fetched = Parameters<AccessTokenOptions['fetch']>;
  /** Tokens of a stubbed endpoint, which issues `token-1`, `token-2` … or what `answer` returns. */
  const tokensOf = (answer: (count: number) => object | Promise<Response> = () => ({ expires_in: 3600 })) => {
    const fetched: Fetched[] = [];
    const clock = { at: 1_000_000, now: () => clock.at };
    const tokens = oauthAccessTokens({
      clock,
      userAgent: 'Posthaste/1',
      fetch: async (...args) => {
        fetched.push(args);
        const answered = answer(fetched.length);
        if (answered instanceof Promise) return answered;
        const access_token = `token-${fetched.length}`;
        return Response.json({ access_token, token_type: 'Bearer', ...answered });
      },
    });
    const tokenFor = async (
      options: Partial<Parameters<typeof tokens.tokenFor>[2]> = {},
      { auth = anOAuth2Auth(), owner = OWNER } = {},
    ): Promise<string> => {
      const result = await tokens.tokenFor(owner, auth, { timeoutMs: TIMEOUT_MS, ...options });
      return result.kind === 'token' ? result.token : result.detail;
    };
    return { fetched, clock, tokenFor };
  };

  it('are asked for once, by the client, scope and audience of the subscription', async () => {
    const { fetched, tokenFor } = tokensOf();
    const auth = anOAuth2Auth({ scope: 'a b', audience: 'https://hooks.example' });
    const asked = await Promise.all([tokenFor({}, { auth }), tokenFor({}, { auth })]);
    expect([...asked, await tokenFor({}, { auth })]).toEqual(['token-1', 'token-1', 'token-1']);
    const authorization = `Basic ${Buffer.from('posthaste:open+sesame').toString('base64')}`;
    const body = { grant_type: 'client_credentials', scope: 'a b', audience: 'https://hooks.example' };
    expect(fetched.map(([url, init]) => [url, init.headers, Object.fromEntries(init.body)])).toEqual([
      [auth.token_url, expect.objectContaining({ authorization, 'user-agent': 'Posthaste/1' }), body],
    ]);
  });

  it('are not shared with another subscription or queue, nor used after the credentials have changed', async () => {
    const { tokenFor } = tokensOf();
    const asked = [
      await tokenFor(),
      await tokenFor({}, { owner: { ...OWNER, subscriptionId: 'subscription-2' } }),
      await tokenFor({}, { owner: { ...OWNER, queue: 'invoices' } }),
      await tokenFor({}, { auth: anOAuth2Auth({ client_secret: 'changed' }) }),
      await tokenFor(),
    ];
    expect(asked).toEqual(['token-1', 'token-2', 'token-3', 'token-4', 'token-1']);
  });

  it.each([
    ['60 s before their end', 3600, 3_540],
    ['after an hour', 1e12, 3_600],
    ['after half of a life of less than two minutes', 90, 45],
    ['after four minutes if their life is not known', undefined, 240],
    ['60 s before an end that is given as text', '600', 540],
  ])('are renewed %s', async (_when, expires_in, seconds) => {
    const { clock, tokenFor } = tokensOf(() => ({ expires_in }));
    await tokenFor();
    clock.at += seconds * 1000 - 1;
    expect(await tokenFor()).toBe('token-1');
    clock.at += 1;
    expect(await tokenFor()).toBe('token-2');
  });

  it('are renewed by one request if several attempts were refused', async () => {
    const { clock, fetched, tokenFor } = tokensOf();
    await tokenFor();
    clock.at += 5_000;
    const refused = 'token-1';
    const renewed = await Promise.all([tokenFor({ refused }), tokenFor({ refused })]);
    expect([...renewed, await tokenFor({ refused })]).toEqual(['token-2', 'token-2', 'token-2']);
    expect(fetched).toHaveLength(2);
  });

  it('are not renewed within 5 s, even if the subscriber refuses them', async () => {
    const { clock, tokenFor } = tokensOf();
    await tokenFor();
    clock.at += 4_999;
    expect(await tokenFor({ refused: 'token-1' })).toBe('token-1');
  });

  it('are renewed by the next attempt if a refusal leaves a request less than a second', async () => {
    const { clock, fetched, tokenFor } = tokensOf();
    await tokenFor();
    clock.at += 5_000;
    const refused = { refused: 'token-1', timeoutMs: 1_999 };
    expect(await tokenFor(refused)).toBe('no time left to renew the token');
    expect(fetched).toHaveLength(1);
    expect(await tokenFor()).toBe('token-2');
    clock.at += 5_000;
    expect(await tokenFor({ refused: 'token-2', timeoutMs: 2_000 })).toBe('token-3');
  });

  it('are not asked for again within 5 s of a failure', async () => {
    const { clock, fetched, tokenFor } = tokensOf((count) =>
      count === 1 ? Promise.resolve(new Response('', { status: 503 })) : { expires_in: 3600 },
    );
    expect(await tokenFor()).toBe('status 503');
    clock.at += 4_999;
    expect(await tokenFor()).toBe('status 503');
    expect(fetched).toHaveLength(1);
    clock.at += 1;
    expect(await tokenFor()).toBe('token-2');
  });

  it('may take half of an attempt, and 5 s at most', async () => {
    const { fetched, tokenFor } = tokensOf(() => ({ expires_in: 0 }));
    await tokenFor({ timeoutMs: 30_000 });
    await tokenFor({ timeoutMs: 4_000 }, { owner: { ...OWNER, queue: 'invoices' } });
    expect(fetched.map(([, , { timeoutMs }]) => timeoutMs)).toEqual([5_000, 2_000]);
  });

  it('are not awaited beyond half of an attempt, if another attempt with more time has asked', async () => {
    vi.useFakeTimers();
    let answer: (response: Response) => void = () => undefined;
    const { tokenFor } = tokensOf(() => new Promise((resolve) => (answer = resolve)));
    const first = tokenFor();
    const second = tokenFor({ timeoutMs: 4_000 });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await second).toBe('timeout: before an answer');
    answer(Response.json({ access_token: 'late', token_type: 'bearer' }));
    expect(await first).toBe('late');
  });

  it('are asked for again at once if the request could not be sent', async () => {
    const { tokenFor } = tokensOf((count) =>
      count === 1 ? Promise.reject(new RequestNotSentError('EMFILE')) : { expires_in: 3600 },
    );
    await expect(tokenFor()).rejects.toThrow(RequestNotSentError);
    expect(await tokenFor()).toBe('token-2');
  });

  it('are forgotten, the oldest first, beyond 1,000', async () => {
    const { tokenFor } = tokensOf();
    const ask = (index: number) => tokenFor({}, { owner: { ...OWNER, subscriptionId: `s-${index}` } });
    for (let index = 1; index <= 1_001; index += 1) await ask(index);
    expect(await ask(2)).toBe('token-2');
    expect(await ask(1)).toBe('token-1002');
  });

  it('are asked for by an assertion that the public key verifies, with names of the key and an audience', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { cert } = certificateAuthority('Us').certify({ names: ['posthaste'], publicKey });
    const { client_secret: _, ...auth } = anOAuth2Auth({
      private_key: pemOf(privateKey),
      certificate: cert,
      key_id: 'key-1',
      issuer: 'https://login.example/',
    });
    const { fetched, tokenFor } = tokensOf();
    await tokenFor({}, { auth });
    const assertion = fetched[0]?.[1].body.get('client_assertion') ?? '';
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const { raw } = new X509Certificate(cert);
    const thumbprint = (algorithm: string) => createHash(algorithm).update(raw).digest('base64url');
    const thumbprints = { x5t: thumbprint('sha1'), 'x5t#S256': thumbprint('sha256') };
    expect(partOf(header)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1', ...thumbprints });
    const client = { iss: 'posthaste', sub: 'posthaste' };
    expect(partOf(claims)).toMatchObject({ ...client, aud: 'https://login.example/' });
    const signed = Buffer.from(`${header}.${claims}`);
    expect(verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('are asked for by an assertion for the token URL, unless there is an issuer', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const private_key = pemOf(privateKey);
    const { client_secret: _, ...auth } = anOAuth2Auth({ private_key });
    const { fetched, tokenFor } = tokensOf();
    await tokenFor({}, { auth });
    const assertion = fetched[0]?.[1].body.get('client_assertion') ?? '';
    const [header = '', claims = ''] = assertion.split('.');
    expect(partOf(header)).toEqual({ alg: 'EdDSA', typ: 'JWT' });
    expect(partOf(claims)).toMatchObject({ aud: auth.token_url });
  });

  it('are never asked for without TLS', async () => {
    const { fetched, tokenFor } = tokensOf();
    const auth = anOAuth2Auth({ token_url: 'http://login.example/token' });
    expect(await tokenFor({}, { auth })).toBe('token URL unusable');
    expect(fetched).toEqual([]);
  });
});

const entryPoint = z.object({
  lazyAccessTokens: z.custom<typeof oauthAccessTokens>((value) => typeof value === 'function'),
});

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
      const private_key = pemOf(keys[id].privateKey);
      expect(await issuedBy(await ask({ client_id: id, private_key }))).toMatchObject({ clientId: id });
    },
  );

  it('are issued to a client that names its key, and the server by its issuer', async () => {
    const private_key = pemOf(next.privateKey);
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
    const private_key = pemOf(keys.ES256.privateKey);
    const result = await ask({ client_id: 'ES256', private_key }, bundled.lazyAccessTokens);
    expect(await issuedBy(result)).toMatchObject({ clientId: 'ES256' });
  });

  const foreign = pemOf(keys.ES256.privateKey);
  const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
  const otherCurve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const named = { client_id: 'ES256', private_key: foreign };
  const bySecret = { client_id: 'by:secret', client_secret: secret };
  it.each<[string, Partial<OAuth2Auth>, string]>([
    ['another secret', { client_id: 'by:secret', client_secret: 'wrong' }, 'invalid_client'],
    ['an unknown client', { client_id: 'unknown', client_secret: secret }, 'invalid_client'],
    ['the key of another client', { client_id: 'RS256', private_key: foreign }, 'invalid_client'],
    ['a scope that the client may not have', { ...bySecret, scope: 'administration' }, 'invalid_scope'],
    ['an assertion for another server', { ...named, issuer: 'https://login.example/' }, 'invalid_client'],
    ['a key that is not PEM', { client_id: 'RS256', private_key: 'key' }, 'private key unusable'],
    ['an RSA key for PSS only', { ...named, private_key: pemOf(pss.privateKey) }, 'private key unusable'],
    [
      'a key on a curve without algorithm',
      { ...named, private_key: pemOf(otherCurve.privateKey) },
      'private key unusable',
    ],
  ])('are refused for %s', async (_what, auth, detail) => {
    expect(await ask(auth)).toEqual({ kind: 'failed', detail });
  });
});
