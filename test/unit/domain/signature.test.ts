import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { signatureHeader } from '../../../shared/domain/delivery/webhook-request.ts';
import {
  makeSecret,
  parseSecret,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { messageIdOf } from '../../../shared/domain/message/message.ts';

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
    const secret = parseSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    expect(secret).toBeDefined();
    expect(
      signatureHeader(secret === undefined ? [] : [secret], {
        id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        timestamp: 1_614_265_330,
        body: '{"test": 2432232314}',
      }),
    ).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('is accepted by the official library for any body and secret', () => {
    const texts = fc.oneof(
      fc.json(),
      fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    );
    fc.assert(
      fc.property(texts, fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, bytes) => {
        const secret = parseSecret(`whsec_${Buffer.from(bytes).toString('base64')}`);
        if (secret === undefined) throw new Error('The text is not a valid secret.');
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

  it('accepts an unchanged request', () => {
    expect(accepts(secret, body, headers)).toBe(true);
  });

  it.each<[string, string, Partial<Headers>]>([
    ['the id', body, { 'webhook-id': 'order-18' }],
    ['the timestamp', body, { 'webhook-timestamp': String(now + 1) }],
    ['a byte of the body', body.replace('1', '2'), {}],
    ['a blank in the body', `${body} `, {}],
    [
      'the signature',
      body,
      {
        'webhook-signature': headers['webhook-signature'].replace(/^v1,./, (start) =>
          start === 'v1,A' ? 'v1,B' : 'v1,A',
        ),
      },
    ],
    ['the version', body, { 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v1a,') }],
    ['the boundary between timestamp and body', body.slice(1), { 'webhook-timestamp': `${now}.{` }],
  ])('refuses a change of %s', (_what, received, changed) => {
    expect(accepts(secret, received, { ...headers, ...changed })).toBe(false);
  });

  it('refuses the signature of another secret', () => {
    expect(accepts(secretOf(2), body, headers)).toBe(false);
  });
});

describe('the signed content', () => {
  it('is unambiguous: message ids contain no full stop', () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (id, source) => {
        const safe = messageIdOf({ id, ...(source === undefined ? {} : { source }) });
        expect(safe.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });
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
