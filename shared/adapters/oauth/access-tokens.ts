import { createPrivateKey, hash, type KeyObject, subtle, type webcrypto, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import * as oauth from 'oauth4webapi';
import * as z from 'zod';
import type { OAuth2Auth } from '../../domain/subscription/auth.ts';
import type { Clock } from '../../ports/clock.ts';
import { type AccessTokens, RequestNotSentError, type TokenResult } from '../../ports/subscriber.ts';
import { type GuardedFetch, NoResponse } from '../http/guarded-fetch.ts';

export type AccessTokenOptions = { fetch: GuardedFetch; clock: Pick<Clock, 'now'>; userAgent: string };

/** Milliseconds that an exchange may take, and its share of the attempt: the rest is for the request. */
const MAX_EXCHANGE_MS = 5_000;
const MAX_OF_ATTEMPT = 0.5;

/** Milliseconds for which a token is used at most, and before its end at which it is renewed. */
const MAX_AGE_MS = 60 * 60 * 1000;
const RENEWED_BEFORE_MS = 60_000;

/** Assumed lifetime of a token without `expires_in`. A 401 renews it sooner. */
const UNKNOWN_LIFETIME_MS = 5 * 60 * 1000;

/**
 * Milliseconds after an answer before the server is asked again: a failure counts for all attempts of the subscription,
 * and a subscriber that refuses a new token would refuse every token.
 */
const ASKED_AGAIN_AFTER_MS = 5_000;

/** Milliseconds that a renewal needs. With less it would fail, and its failure would count for other attempts. */
const LEAST_RENEWAL_MS = 1_000;

/** Each takes 8 KB at most. */
const MAX_RESULTS = 1_000;

type Kept = { result: TokenResult; answeredAt: number; until: number };

/** Access tokens by OAuth 2 client credentials (RFC 6749 §4.4), with a cache per subscription and credentials. */
export function oauthAccessTokens({ clock, ...sender }: AccessTokenOptions): AccessTokens {
  const results = new LRUCache<string, Kept>({ max: MAX_RESULTS });
  const exchanges = new Map<string, Promise<TokenResult>>();

  const exchange = async (name: string, auth: OAuth2Auth, timeoutMs: number): Promise<TokenResult> => {
    const startedAt = clock.now();
    const { lifetimeMs, ...result } = await requestToken(sender, auth, timeoutMs);
    const answeredAt = clock.now();
    const until =
      result.kind === 'token' ? startedAt + usableMs(lifetimeMs) : answeredAt + ASKED_AGAIN_AFTER_MS;
    results.set(name, { result, answeredAt, until });
    return result;
  };

  const newExchange = (name: string, auth: OAuth2Auth, timeoutMs: number): Promise<TokenResult> => {
    const started = exchange(name, auth, timeoutMs).finally(() => exchanges.delete(name));
    exchanges.set(name, started);
    return started;
  };

  return {
    tokenFor: async (subscription, auth, { timeoutMs, refused }) => {
      const name = hashCredentials(subscription, auth);
      const kept = results.get(name);
      if (kept !== undefined && isUsable(kept, clock.now(), refused)) return kept.result;
      results.delete(name);
      const limitMs = Math.min(MAX_EXCHANGE_MS, timeoutMs * MAX_OF_ATTEMPT);
      const running = exchanges.get(name);
      if (running !== undefined) return within(limitMs, running);
      return refused !== undefined && limitMs < LEAST_RENEWAL_MS
        ? { kind: 'failed', detail: 'no time left to renew the token' }
        : newExchange(name, auth, limitMs);
    },
  };
}

/** Different for each subscription, and for each change of its credentials. */
function hashCredentials(subscription: { queue: string; subscriptionId: string }, auth: OAuth2Auth): string {
  const { queue, subscriptionId } = subscription;
  return hash('sha256', JSON.stringify([queue, subscriptionId, auth]), 'base64');
}

function isUsable({ result, answeredAt, until }: Kept, now: number, refused: string | undefined): boolean {
  if (now < answeredAt || now >= until) return false;
  return result.kind === 'failed' || result.token !== refused || now - answeredAt < ASKED_AGAIN_AFTER_MS;
}

/** Milliseconds for which a token is used. One that lives for less than two minutes is used for half of its life. */
function usableMs(lifetimeMs = UNKNOWN_LIFETIME_MS): number {
  return Math.min(MAX_AGE_MS, Math.max(lifetimeMs - RENEWED_BEFORE_MS, lifetimeMs / 2));
}

/** The result, or a failure after `timeoutMs`: another attempt may have started the exchange, with more time. */
async function within(timeoutMs: number, result: Promise<TokenResult>): Promise<TokenResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<TokenResult>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, { kind: 'failed', detail: 'timeout: before an answer' });
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `lifetimeMs`: from the time of the request; undefined if the server does not say. */
type IssuedToken = TokenResult & { lifetimeMs?: number };

/** In characters. A receiver reads headers of 8 KB, hardly more. */
const MAX_TOKEN = 8 * 1024;

/** RFC 6749 appendix A.12, without the blank, which would end the token (RFC 6750 §2.1). */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Asks a token endpoint for a token. Everything that it does is a result within `timeoutMs`. No detail contains what it
 * sent, because an answer may repeat the secret.
 * @throws RequestNotSentError
 */
async function requestToken(
  { fetch, userAgent }: { fetch: GuardedFetch; userAgent: string },
  auth: OAuth2Auth,
  timeoutMs: number,
): Promise<IssuedToken> {
  const { token_url, client_id, ca } = auth;
  // The issuer becomes the audience of an assertion.
  const server = { issuer: auth.issuer ?? token_url, token_endpoint: token_url };
  const client = { client_id };
  const sending = { timeoutMs, ...(ca !== undefined && { tls: { ca } }) };
  let response: Response;
  try {
    response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      await createAuthentication(auth),
      buildParameters(auth),
      {
        headers: { 'user-agent': userAgent },
        [oauth.customFetch]: async (url, init) => keepUsedFields(await fetch(url, init, sending)),
      },
    );
  } catch (error) {
    if (error instanceof RequestNotSentError) throw error;
    return failed(requestFault(error));
  }
  try {
    return issuedToken(await oauth.processClientCredentialsResponse(server, client, response));
  } catch (error) {
    return failed(answerFault(error, response.status));
  }
}

const usedFields = z
  .object({ access_token: z.unknown(), token_type: z.unknown(), expires_in: z.unknown(), error: z.unknown() })
  .partial();

/** Without the other fields, such as an unwanted ID token: the library would refuse the token for a fault in them. */
async function keepUsedFields(response: Response): Promise<Response> {
  const answer: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const used = usedFields.safeParse(answer);
  return used.success ? Response.json(used.data, response) : response;
}

/**
 * `client_secret_basic`, which every server supports (RFC 6749 §2.3.1), or `private_key_jwt` (RFC 7523 §2.2).
 * @throws UnusableKey
 */
async function createAuthentication(auth: OAuth2Auth): Promise<oauth.ClientAuth> {
  const { client_secret, private_key, key_id, certificate } = auth;
  if (private_key === undefined) return oauth.ClientSecretBasic(client_secret ?? '');
  const key = await signingKey(private_key);
  const known = {
    typ: 'JWT',
    kid: key_id,
    ...(certificate !== undefined && computeThumbprints(certificate)),
  };
  return oauth.PrivateKeyJwt(key, {
    [oauth.modifyAssertion]: (header) => {
      Object.assign(header, known);
      // The usual name. The one of RFC 9864, which the library uses, is too new for many servers.
      if (header['alg'] === 'Ed25519') header['alg'] = 'EdDSA';
    },
  });
}

/** RFC 7515 §4.1.7 and §4.1.8. Microsoft Entra ID documents the second; AD FS and older servers know the first only. */
function computeThumbprints(certificate: string): { x5t: string; 'x5t#S256': string } {
  const { raw } = new X509Certificate(certificate);
  const digest = (algorithm: string): string => hash(algorithm, raw, 'base64url');
  return { x5t: digest('sha1'), 'x5t#S256': digest('sha256') };
}

function buildParameters({ scope, audience }: OAuth2Auth): Record<string, string> {
  return { ...(scope === undefined ? {} : { scope }), ...(audience === undefined ? {} : { audience }) };
}

/** The text of a private key has no usable key in it. */
class UnusableKey extends Error {
  override readonly name = 'UnusableKey';
}

async function signingKey(pem: string): Promise<webcrypto.CryptoKey> {
  try {
    const key = createPrivateKey(pem);
    const der = key.export({ type: 'pkcs8', format: 'der' });
    return await subtle.importKey('pkcs8', der, chooseAlgorithm(key), false, ['sign']);
  } catch {
    // No cause: messages of OpenSSL may quote the input.
    throw new UnusableKey();
  }
}

/** For RS256, ES256, ES384, ES512 and EdDSA. */
function chooseAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  const namedCurve = CURVES.get(asymmetricKeyDetails?.namedCurve ?? '');
  if (asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  if (asymmetricKeyType === 'ed25519') return { name: 'Ed25519' };
  if (asymmetricKeyType === 'ec' && namedCurve !== undefined) return { name: 'ECDSA', namedCurve };
  throw new UnusableKey();
}

/** Names of OpenSSL, and of the Web Cryptography API. */
const CURVES: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
]);

function issuedToken({ access_token, token_type, expires_in }: oauth.TokenEndpointResponse): IssuedToken {
  // Of the types that the library knows, DPoP binds a token to a key.
  if (token_type !== 'bearer') return failed(NOT_BEARER);
  if (access_token.length > MAX_TOKEN) return failed('token too long');
  if (!TOKEN.test(access_token)) return failed('token contains forbidden characters');
  if (expires_in === 0) return failed('token has already expired');
  return {
    kind: 'token',
    token: access_token,
    ...(expires_in === undefined ? {} : { lifetimeMs: expires_in * 1000 }),
  };
}

const NOT_BEARER = 'token type not Bearer';

function failed(detail: string): IssuedToken {
  return { kind: 'failed', detail };
}

function requestFault(error: unknown): string {
  if (error instanceof NoResponse) return error.message;
  if (error instanceof UnusableKey) return 'private key unusable';
  return error instanceof oauth.OperationProcessingError ? 'token URL unusable' : 'credentials unusable';
}

function answerFault(error: unknown, status: number): string {
  if (error instanceof oauth.ResponseBodyError && ERROR_CODES.has(error.error)) return error.error;
  if (status !== 200) return `status ${status}`;
  return error instanceof oauth.UnsupportedOperationError ? NOT_BEARER : 'invalid token response';
}

/** RFC 6749 §5.2. A server could put the secret into any other text. */
const ERROR_CODES: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);
