import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { signatureHeader } from '../../../shared/domain/delivery/webhook-request.ts';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import {
  makeSecret,
  parseSecret,
  publicJwk,
  publicKeyText,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import {
  MAX_SECRETS,
  rotateSecrets,
  type SealedSecret,
  secretsInForce,
} from '../../../shared/domain/subscription/secret-rotation.ts';
import { anyCharacter } from '../../support/any-character.ts';

const given = (text: string): SigningSecret => {
  const secret = parseSecret(text);
  if (secret === undefined) throw new Error('The text is not a valid secret.');
  return secret;
};

const secretOf = (fill: number): SigningSecret => makeSecret('v1', (count) => Buffer.alloc(count, fill));
const keyOf = (fill: number): SigningSecret => makeSecret('v1a', (count) => Buffer.alloc(count, fill));
const now = Math.floor(Date.now() / 1000);
const content = (fields: Partial<{ id: string; timestamp: number; body: string }> = {}) => ({
  id: 'order-17',
  timestamp: now,
  body: '{"total":12345678901234567890}',
  ...fields,
});

type Headers = { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string };

const headersOf = (secrets: readonly SigningSecret[], of = content()): Headers => ({
  'webhook-id': of.id,
  'webhook-timestamp': String(of.timestamp),
  'webhook-signature': signatureHeader(secrets, of),
});

/** Whether the official library accepts a JSON body. */
const accepts = (secret: SigningSecret, body: string | Buffer, headers: Headers): boolean => {
  try {
    new Webhook(secretText(secret)).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

describe('a v1 signature', () => {
  it("matches the specification's test vector", () => {
    const of = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };
    expect(signatureHeader([given('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')], of)).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('is accepted by the official library for any body and secret', () => {
    const texts = fc.oneof(
      fc.json(),
      fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
    );
    fc.assert(
      fc.property(texts, fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, bytes) => {
        const secret = given(`whsec_${Buffer.from(bytes).toString('base64')}`);
        const headers = headersOf([secret], content({ body }));
        expect(accepts(secret, Buffer.from(body), headers)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('covers the sent bytes of a text with a lone surrogate', () => {
    const body = '"half \ud800"';
    expect(accepts(secretOf(1), Buffer.from(body), headersOf([secretOf(1)], content({ body })))).toBe(true);
  });
});

describe('the official library and a signed request', () => {
  const secret = secretOf(1);
  const headers = headersOf([secret]);
  const { body } = content();

  it.each<[string, string, Partial<Headers>]>([
    ['the id', body, { 'webhook-id': 'order-18' }],
    ['the timestamp', body, { 'webhook-timestamp': String(now + 1) }],
    ['a byte of the body', body.replace('1', '2'), {}],
    ['a blank in the body', `${body} `, {}],
    ['the signature', body, { 'webhook-signature': headersOf([secretOf(3)])['webhook-signature'] }],
    ['the version', body, { 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v1a,') }],
    ['the boundary between timestamp and body', body.slice(1), { 'webhook-timestamp': `${now}.{` }],
  ])('refuses a change of %s', (_what, received, changed) => {
    expect(accepts(secret, received, { ...headers, ...changed })).toBe(false);
  });
});

it('the signed content is unambiguous: message ids contain no full stop', () => {
  fc.assert(
    fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (id, source) => {
      const safe = toMessageId({ id, ...(source === undefined ? {} : { source }) });
      expect(safe.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    }),
  );
});

describe('several secrets', () => {
  it('give one signature each, in order, and any of them suffices', () => {
    const secrets = [secretOf(1), secretOf(2), secretOf(3)];
    const headers = headersOf(secrets);
    expect(headers['webhook-signature'].split(' ')).toEqual(
      secrets.map((secret) => signatureHeader([secret], content())),
    );
    for (const secret of secrets) expect(accepts(secret, content().body, headers)).toBe(true);
    expect(accepts(secretOf(4), content().body, headers)).toBe(false);
  });

  it('may have different schemes', () => {
    const headers = headersOf([keyOf(5), secretOf(1)]);
    expect(headers['webhook-signature']).toMatch(/^v1a,[\w+/]{86}== v1,[\w+/]{43}=$/);
    expect(accepts(secretOf(1), content().body, headers)).toBe(true);
  });

  it('may be empty, which gives no signature', () => {
    expect(signatureHeader([], content())).toBe('');
  });
});

describe('a v1a signature', () => {
  const publicKeyOf = ({ key }: SigningSecret): KeyObject =>
    createPublicKey(key.export({ format: 'pem', type: 'pkcs8' }));
  const bytesOf = (header: string): Buffer => Buffer.from(header.replace('v1a,', ''), 'base64');

  it('is valid only for the signed id, timestamp, body and key', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const signature = bytesOf(signatureHeader([keyOf(7)], content({ body })));
        const signed = (text: string) => Buffer.from(text);
        const isGood = (data: Buffer, secret = keyOf(7)) =>
          verify(null, data, publicKeyOf(secret), signature);
        expect(isGood(signed(`order-17.${now}.${body}`))).toBe(true);
        expect(isGood(signed(`order-18.${now}.${body}`))).toBe(false);
        expect(isGood(signed(`order-17.${now + 1}.${body}`))).toBe(false);
        expect(isGood(signed(`order-17.${now}.${body} `))).toBe(false);
        expect(isGood(signed(`order-17.${now}.${body}`), keyOf(8))).toBe(false);
      }),
      { numRuns: 25 },
    );
  });
});

const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, (_, index) => index));
const whsec = (count: number): string => `whsec_${bytes(count).toString('base64')}`;

/** RFC 8032 §7.1, test 1. */
const SEED = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
const PUBLIC_KEY = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
const whsk = (...parts: Buffer[]): string => `whsk_${Buffer.concat(parts).toString('base64')}`;

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

const NOW = 1_790_000_000_000;
const HOUR = 3_600_000;

const rotated = (secrets: readonly SealedSecret[], sealed: string, now: number, graceMs: number) => {
  const rotation = rotateSecrets(secrets, { sealed }, { now, graceMs });
  if (rotation.kind !== 'rotated') throw new Error('There are too many secrets.');
  return rotation;
};

const namesAt = (secrets: readonly SealedSecret[], now: number): string[] =>
  secretsInForce(secrets, now).map(({ sealed }) => sealed);

describe('a replaced secret', () => {
  it('is in force until the exact end of its grace period', () => {
    const { secrets, previousExpiresAt } = rotated([{ sealed: 'old' }], 'new', NOW, 24 * HOUR);
    expect(previousExpiresAt).toBe(NOW + 24 * HOUR);
    expect(namesAt(secrets, NOW)).toEqual(['new', 'old']);
    expect(namesAt(secrets, NOW + 24 * HOUR - 1)).toEqual(['new', 'old']);
    expect(namesAt(secrets, NOW + 24 * HOUR)).toEqual(['new']);
  });

  it('is none for the first one', () => {
    expect(rotated([], 'new', NOW, HOUR)).toEqual({ kind: 'rotated', secrets: [{ sealed: 'new' }] });
  });

  it('ends at once with a grace of 0', () => {
    const ended = { kind: 'rotated', secrets: [{ sealed: 'new' }], previousExpiresAt: NOW };
    expect(rotated([{ sealed: 'old' }], 'new', NOW, 0)).toEqual(ended);
  });

  it('keeps its end if the next grace is longer, and ends earlier if that is shorter', () => {
    const first = rotated([{ sealed: 'a' }], 'b', NOW, HOUR).secrets;
    expect(rotated(first, 'c', NOW + 1, 2 * HOUR).secrets).toEqual([
      { sealed: 'c' },
      { sealed: 'b', expiresAt: NOW + 1 + 2 * HOUR },
      { sealed: 'a', expiresAt: NOW + HOUR },
    ]);
    expect(rotated(first, 'c', NOW + 1, 5).secrets).toEqual([
      { sealed: 'c' },
      { sealed: 'b', expiresAt: NOW + 6 },
      { sealed: 'a', expiresAt: NOW + 6 },
    ]);
  });

  it('is removed after its grace period', () => {
    const first = rotated([{ sealed: 'a' }], 'b', NOW, HOUR).secrets;
    expect(namesAt(rotated(first, 'c', NOW + HOUR, HOUR).secrets, 0)).toEqual(['c', 'b']);
  });
});

describe('too many secrets', () => {
  const full = (): readonly SealedSecret[] => {
    let secrets: readonly SealedSecret[] = [{ sealed: '1' }];
    for (let count = 2; count <= MAX_SECRETS; count += 1)
      secrets = rotated(secrets, String(count), NOW + count, HOUR).secrets;
    return secrets;
  };

  it('are refused with the time at which one expires', () => {
    expect(full()).toHaveLength(MAX_SECRETS);
    expect(rotateSecrets(full(), { sealed: 'more' }, { now: NOW + 10, graceMs: HOUR })).toEqual({
      kind: 'too_many',
      until: NOW + 2 + HOUR,
    });
    expect(rotateSecrets(full(), { sealed: 'more' }, { now: NOW + 2 + HOUR, graceMs: HOUR }).kind).toBe(
      'rotated',
    );
  });

  it('do not prevent a rotation with a grace of 0, which ends all but the new one', () => {
    expect(rotated(full(), 'new', NOW + 10, 0).secrets).toEqual([{ sealed: 'new' }]);
  });
});

const steps = fc.array(fc.record({ after: fc.nat(100), grace: fc.nat(300) }), { maxLength: 30 });

it('after any rotations only the newest secret, the first, has no end, and the number stays within the limit', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      let secrets: readonly SealedSecret[] = [];
      let now = NOW;
      for (const [index, { after, grace }] of taken.entries()) {
        now += after;
        const rotation = rotateSecrets(secrets, { sealed: String(index) }, { now, graceMs: grace });
        if (rotation.kind === 'too_many') {
          expect(rotation.until).toBeGreaterThan(now);
          continue;
        }
        ({ secrets } = rotation);
        const [current, ...replaced] = secrets;
        expect(current).toEqual({ sealed: String(index) });
        expect(secrets.length).toBeLessThanOrEqual(MAX_SECRETS);
        for (const { expiresAt } of replaced) {
          expect(expiresAt).toBeGreaterThan(now);
          expect(expiresAt).toBeLessThanOrEqual(now + grace);
        }
      }
    }),
  );
});
