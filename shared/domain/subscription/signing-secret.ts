import { createPrivateKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { SigningScheme } from '../vocabulary.ts';

/** What requests are signed with. A KeyObject shows nothing of itself when it is printed or turned into JSON. */
export type SigningSecret = { scheme: SigningScheme; key: KeyObject };

const SECRET_PREFIX = 'whsec_';
const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';

/** Bytes; the specification's bounds of a v1 secret. */
const SHORTEST = 24;
const LONGEST = 64;

/** Bytes of a v1 secret that we make: as long as the hash, more adds nothing (RFC 2104 §3). */
const MADE = 32;

/** Bytes of an ed25519 seed, and of its public key (RFC 8032 §5.1.5). */
const ED25519 = 32;

/** What stands before the seed of an ed25519 private key in DER (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

export const SECRET_RULE = `must be ${SECRET_PREFIX} and the base64 of ${SHORTEST} to ${LONGEST} bytes, or ${PRIVATE_PREFIX} and the base64 of an ed25519 private key (its ${ED25519} bytes, or these and the ${ED25519} of its public key)`;

/** `random` gives as many bytes as it is asked for, which nobody can guess. */
export function makeSecret(scheme: SigningScheme, random: (bytes: number) => Uint8Array): SigningSecret {
  return scheme === 'v1' ? sharedSecret(random(MADE)) : privateKey(random(ED25519));
}

/** Reads `whsec_…` or `whsk_…`. Undefined for anything else: see SECRET_RULE. */
export function parseSecret(text: string): SigningSecret | undefined {
  if (text.startsWith(SECRET_PREFIX)) return parseShared(text.slice(SECRET_PREFIX.length));
  if (text.startsWith(PRIVATE_PREFIX)) return parsePrivate(text.slice(PRIVATE_PREFIX.length));
  return undefined;
}

/** `whsec_…`, or `whsk_…` with the seed and the public key, as others write it. The secret itself. */
export function secretText({ scheme, key }: SigningSecret): string {
  if (scheme === 'v1') return `${SECRET_PREFIX}${key.export().toString('base64')}`;
  const { d, x } = jwkOf(key);
  return `${PRIVATE_PREFIX}${Buffer.concat([bytesOf(d), bytesOf(x)]).toString('base64')}`;
}

/** `whpk_…`, which is no secret; undefined for `v1`, which has no public key. */
export function publicKeyText({ scheme, key }: SigningSecret): string | undefined {
  return scheme === 'v1' ? undefined : `${PUBLIC_PREFIX}${bytesOf(jwkOf(key).x).toString('base64')}`;
}

function parseShared(base64: string): SigningSecret | undefined {
  const bytes = decoded(base64);
  if (bytes === undefined || bytes.length < SHORTEST || bytes.length > LONGEST) return undefined;
  return sharedSecret(bytes);
}

function parsePrivate(base64: string): SigningSecret | undefined {
  const bytes = decoded(base64);
  if (bytes?.length !== ED25519 && bytes?.length !== 2 * ED25519) return undefined;
  const secret = privateKey(bytes.subarray(0, ED25519));
  const given = bytes.subarray(ED25519);
  // A public key that is not the seed's own would have every receiver refuse what we sign.
  return given.length === 0 || given.equals(bytesOf(jwkOf(secret.key).x)) ? secret : undefined;
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

/** Standard base64 with its padding, the one way to write these bytes; undefined for anything else. */
function decoded(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64') === base64 ? bytes : undefined;
}

/** RFC 8037: `d` is the seed, `x` the public key. */
function jwkOf(key: KeyObject): JsonWebKey {
  return key.export({ format: 'jwk' });
}

function bytesOf(base64url = ''): Buffer {
  return Buffer.from(base64url, 'base64url');
}
