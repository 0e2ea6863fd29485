import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  makeSecret,
  parseSecret,
  publicJwk,
  publicKeyText,
  secretText,
} from '../../../shared/domain/subscription/signing-secret.ts';

const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, (_, index) => index));
const whsec = (count: number): string => `whsec_${bytes(count).toString('base64')}`;

/** RFC 8032 §7.1, test 1. */
const SEED = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
const PUBLIC_KEY = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
const whsk = (...parts: Buffer[]): string => `whsk_${Buffer.concat(parts).toString('base64')}`;

const given = (text: string) => {
  const secret = parseSecret(text);
  if (secret === undefined) throw new Error('The text is not a valid secret.');
  return secret;
};

describe('a v1 secret', () => {
  it('of 24 to 64 bytes is parsed and formatted unchanged', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (key) => {
        const text = `whsec_${Buffer.from(key).toString('base64')}`;
        expect(secretText(given(text))).toBe(text);
      }),
    );
  });

  it('is generated from 32 random bytes', () => {
    expect(secretText(makeSecret('v1', bytes))).toBe(whsec(32));
  });

  it('has no public key', () => {
    expect(publicKeyText(given(whsec(24)))).toBeUndefined();
  });
});

describe('a v1a secret', () => {
  it('is parsed from its seed and has the matching public key', () => {
    expect(publicKeyText(given(whsk(SEED)))).toBe(`whpk_${PUBLIC_KEY.toString('base64')}`);
  });

  it('has a public key whose thumbprint is its id (RFC 8037, appendices A.2 and A.3)', () => {
    expect(publicJwk(`whpk_${PUBLIC_KEY.toString('base64')}`)).toEqual({
      kty: 'OKP',
      crv: 'Ed25519',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
      use: 'sig',
      alg: 'EdDSA',
    });
  });

  it('is parsed with or without its public key and formatted with it', () => {
    expect(secretText(given(whsk(SEED)))).toBe(whsk(SEED, PUBLIC_KEY));
    expect(secretText(given(whsk(SEED, PUBLIC_KEY)))).toBe(whsk(SEED, PUBLIC_KEY));
  });

  it('is generated from 32 random bytes as its seed', () => {
    expect(secretText(makeSecret('v1a', () => SEED))).toBe(whsk(SEED, PUBLIC_KEY));
    expect(() => makeSecret('v1a', () => SEED.subarray(1))).toThrow();
  });
});

describe('parsing a secret', () => {
  it.each([
    ['one byte too short', whsec(23)],
    ['one byte too long', whsec(65)],
    ['without its prefix', bytes(32).toString('base64')],
    ['under another prefix', `whpk_${bytes(32).toString('base64')}`],
    ['without its padding', whsec(32).replace('=', '')],
    ['in the alphabet of URLs', `whsec_${Buffer.alloc(30, 0xff).toString('base64url')}`],
    ['with a line break', `${whsec(30).slice(0, 20)}\n${whsec(30).slice(20)}`],
    ['followed by a blank', `${whsec(24)} `],
    ['an ed25519 key with a missing byte', whsk(SEED.subarray(1))],
    ['an ed25519 key with a mismatched public key', whsk(SEED, SEED)],
    ['an ed25519 key with a part of its public key', whsk(SEED, PUBLIC_KEY.subarray(1))],
    ['the prefix alone', 'whsec_'],
    ['nothing', ''],
  ])('refuses a text: %s', (_what, text) => {
    expect(parseSecret(text)).toBeUndefined();
  });
});

describe('a secret in memory', () => {
  it.each([whsec(32), whsk(SEED)])('does not reveal the key when printed: %s', (text) => {
    const secret = given(text);
    const printed = `${inspect(secret, { depth: 9, showHidden: true })} ${JSON.stringify(secret)}`;
    const held = secret.key.type === 'secret' ? secret.key.export() : SEED;
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      expect(printed).not.toContain(held.toString(encoding).slice(0, 12));
    }
  });
});
