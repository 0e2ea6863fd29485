import { createHash, createPrivateKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { SigningScheme } from './vocabulary.ts';

/** A secret that requests are signed with. A KeyObject reveals nothing when printed or serialised. */
export type SigningSecret = { scheme: SigningScheme; key: KeyObject };

const SECRET_PREFIX = 'whsec_';
const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';

/** Bounds of a v1 secret in bytes (Standard Webhooks specification). */
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Bytes of a generated v1 secret: the length of the hash; more adds nothing (RFC 2104 §3). */
const GENERATED_BYTES = 32;

/** Bytes of an ed25519 seed and of its public key (RFC 8032 §5.1.5). */
const ED25519_BYTES = 32;

/** DER prefix of the seed in an ed25519 private key (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

export const SECRET_RULE = `must be ${SECRET_PREFIX} and the base64 of ${MIN_BYTES} to ${MAX_BYTES} bytes, or ${PRIVATE_PREFIX} and the base64 of an ed25519 private key (its ${ED25519_BYTES} bytes, or these and the ${ED25519_BYTES} of its public key)`;

/** A new secret. `random` returns the requested number of cryptographically random bytes. */
export function makeSecret(scheme: SigningScheme, random: (bytes: number) => Uint8Array): SigningSecret {
  return scheme === 'v1' ? sharedSecret(random(GENERATED_BYTES)) : privateKey(random(ED25519_BYTES));
}

/** Parses `whsec_…` or `whsk_…`; undefined for anything else (SECRET_RULE). */
export function parseSecret(text: string): SigningSecret | undefined {
  if (text.startsWith(SECRET_PREFIX)) return parseShared(text.slice(SECRET_PREFIX.length));
  if (text.startsWith(PRIVATE_PREFIX)) return parsePrivate(text.slice(PRIVATE_PREFIX.length));
  return undefined;
}

/** The secret as text: `whsec_…`, or `whsk_…` with the seed and the public key, the usual form. */
export function secretText({ scheme, key }: SigningSecret): string {
  if (scheme === 'v1') return `${SECRET_PREFIX}${key.export().toString('base64')}`;
  const { d, x } = toJwk(key);
  return `${PRIVATE_PREFIX}${Buffer.concat([decodeBase64url(d), decodeBase64url(x)]).toString('base64')}`;
}

/** The public key as text (`whpk_…`, not secret); undefined for `v1`, which has none. */
export function publicKeyText({ scheme, key }: SigningSecret): string | undefined {
  return scheme === 'v1' ? undefined : `${PUBLIC_PREFIX}${decodeBase64url(toJwk(key).x).toString('base64')}`;
}

/** A public key (`whpk_…`) as a JWK (RFC 8037 §2). `kid` is its thumbprint (RFC 7638 §3). */
export function publicJwk(text: string) {
  const x = Buffer.from(text.slice(PUBLIC_PREFIX.length), 'base64').toString('base64url');
  const members = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x });
  const kid = createHash('sha256').update(members).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' } as const;
}

function parseShared(base64: string): SigningSecret | undefined {
  const bytes = decoded(base64);
  if (bytes === undefined || bytes.length < MIN_BYTES || bytes.length > MAX_BYTES) return undefined;
  return sharedSecret(bytes);
}

function parsePrivate(base64: string): SigningSecret | undefined {
  const bytes = decoded(base64);
  if (bytes?.length !== ED25519_BYTES && bytes?.length !== 2 * ED25519_BYTES) return undefined;
  const secret = privateKey(bytes.subarray(0, ED25519_BYTES));
  const given = bytes.subarray(ED25519_BYTES);
  // With a mismatched public key every receiver would reject the signatures.
  return given.length === 0 || given.equals(decodeBase64url(toJwk(secret.key).x)) ? secret : undefined;
}

function sharedSecret(bytes: Uint8Array): SigningSecret {
  return { scheme: 'v1', key: createSecretKey(bytes) };
}

function privateKey(seed: Uint8Array): SigningSecret {
  return {
    scheme: 'v1a',
    key: createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' }),
  };
}

/** The bytes of canonical, padded standard base64; undefined for anything else. */
function decoded(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes : undefined;
}

/** RFC 8037: `d` is the seed, `x` the public key. */
function toJwk(key: KeyObject): JsonWebKey {
  return key.export({ format: 'jwk' });
}

function decodeBase64url(base64url = ''): Buffer {
  return Buffer.from(base64url, 'base64url');
}
