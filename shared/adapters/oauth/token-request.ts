import { createPrivateKey, type KeyObject, subtle, type webcrypto } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import type { OAuth2Auth } from '../../domain/subscription/auth.ts';
import { RequestNotSentError, type TokenResult } from '../../ports/subscriber.ts';
import { type GuardedFetch, NoResponse } from '../http/guarded-fetch.ts';

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
export async function requestToken(
  { fetch, userAgent }: { fetch: GuardedFetch; userAgent: string },
  auth: OAuth2Auth,
  timeoutMs: number,
): Promise<IssuedToken> {
  const server = { issuer: auth.token_url, token_endpoint: auth.token_url };
  const client = { client_id: auth.client_id };
  let response: Response;
  try {
    response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      await authenticationOf(auth),
      parametersOf(auth),
      {
        headers: { 'user-agent': userAgent },
        [oauth.customFetch]: (url, init) => fetch(url, init, timeoutMs),
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

/**
 * `client_secret_basic`, which every server supports (RFC 6749 §2.3.1), or `private_key_jwt` (RFC 7523 §2.2). The
 * audience of the assertion is the token endpoint, because the issuer is not known.
 * @throws UnusableKey
 */
async function authenticationOf({ client_secret, private_key }: OAuth2Auth): Promise<oauth.ClientAuth> {
  if (private_key === undefined) return oauth.ClientSecretBasic(client_secret ?? '');
  const key = await signingKey(private_key);
  return oauth.PrivateKeyJwt(key, {
    [oauth.modifyAssertion]: (header) => {
      // The usual name. The one of RFC 9864, which the library uses, is too new for many servers.
      if (header['alg'] === 'Ed25519') header['alg'] = 'EdDSA';
    },
  });
}

function parametersOf({ scope, audience }: OAuth2Auth): Record<string, string> {
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
    return await subtle.importKey('pkcs8', der, algorithmOf(key), false, ['sign']);
  } catch {
    // No cause: messages of OpenSSL may quote the input.
    throw new UnusableKey();
  }
}

/** For RS256, ES256, ES384, ES512 and EdDSA. */
function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
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
