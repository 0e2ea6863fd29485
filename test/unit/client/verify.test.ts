import fc from 'fast-check';
import { Headers as HeadersOfUndici } from 'undici';
import { describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookVerificationError } from '../../../client/verify.ts';
import {
  makeSecret,
  publicKeyText,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import type { SigningScheme } from '../../../shared/domain/subscription/vocabulary.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { webhookRequest } from '../../../shared/domain/delivery/webhook-request.ts';
import { standardBody } from '../../../shared/domain/message/payload.ts';

const secretOf = (scheme: SigningScheme, fill = 1) =>
  makeSecret(scheme, (count) => Buffer.alloc(count, fill));

/** What a receiver holds of a secret. */
const keyOf = (secret: SigningSecret): string => publicKeyText(secret) ?? secretText(secret);

const sentBy = (secrets: readonly SigningSecret[], { data = '{"text":"é"}', ageSeconds = 0 } = {}) =>
  webhookRequest(aMessage(), { body: Buffer.from(standardBody(aMessage({ data }))) }, aSubscription(), {
    startedAt: Date.now() - ageSeconds * 1000,
    userAgent: 'Posthaste/test',
    secrets,
  });

describe.each<SigningScheme>(['v1', 'v1a'])('a request signed by %s', (scheme) => {
  const secret = secretOf(scheme);
  const key = keyOf(secret);

  it('is accepted as bytes and as text, with its id, time and body', () => {
    const { headers, body } = sentBy([secret]);
    const webhook = verifyWebhook(body, headers, key);
    expect(webhook).toEqual({
      id: 'message-1',
      timestamp: new Date(Number(headers['webhook-timestamp']) * 1000),
      body: body.toString(),
    });
    expect(verifyWebhook(body.toString(), headers, key)).toEqual(webhook);
    expect(verifyWebhook(new Uint8Array(body), headers, key)).toEqual(webhook);
  });

  it('is accepted with headers in any case, as a list of values, or as Headers', () => {
    const { headers, body } = sentBy([secret]);
    const entries = Object.entries(headers);
    const lists = Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), [value]]));
    expect(verifyWebhook(body, lists, key).id).toBe('message-1');
    expect(verifyWebhook(body, new Headers(headers), key).id).toBe('message-1');
    expect(verifyWebhook(body, new HeadersOfUndici(headers), key).id).toBe('message-1');
  });

  it('is accepted for any data', () => {
    fc.assert(
      fc.property(fc.json(), (data) => {
        const { headers, body } = sentBy([secret], { data });
        return verifyWebhook(body, headers, key).body === body.toString();
      }),
      { numRuns: 50 },
    );
  });

  it('is accepted by one fitting key of several, and with one fitting signature of several', () => {
    const other = secretOf(scheme, 2);
    const byBoth = sentBy([other, secret]);
    expect(verifyWebhook(byBoth.body, byBoth.headers, key).id).toBe('message-1');
    const { headers, body } = sentBy([secret]);
    expect(verifyWebhook(body, headers, [keyOf(other), key]).id).toBe('message-1');
  });

  const otherScheme = scheme === 'v1' ? 'v1a' : 'v1';

  it('is accepted during a change to the other scheme', () => {
    const other = secretOf(otherScheme);
    const { headers, body } = sentBy([secret, other]);
    expect(verifyWebhook(body, headers, key).id).toBe('message-1');
    expect(verifyWebhook(body, headers, keyOf(other)).id).toBe('message-1');
  });

  const { headers, body } = sentBy([secret]);
  const { 'webhook-timestamp': time = '', 'webhook-signature': signature = '' } = headers;

  it.each<[string, Record<string, string>, { body?: string; key?: string }?]>([
    ['another body', {}, { body: `${body.toString()} ` }],
    ['another id', { 'webhook-id': 'message-2' }],
    ['another time', { 'webhook-timestamp': String(Number(time) - 1) }],
    ['text after the time', { 'webhook-timestamp': `${time}x` }],
    ['a fraction after the time', { 'webhook-timestamp': `${time}.5` }],
    ['a signature that is cut off', { 'webhook-signature': `${scheme},` }],
    ['a signature without a scheme', { 'webhook-signature': 'abc' }],
    ['the name of another scheme', { 'webhook-signature': signature.replace(/^\w+/, otherScheme) }],
    ['another key', {}, { key: keyOf(secretOf(scheme, 2)) }],
    ['a key of the other scheme', {}, { key: keyOf(secretOf(otherScheme)) }],
  ])('is refused with %s', (_, changed, other) => {
    const request = { body, key, ...other };
    const verify = () => verifyWebhook(request.body, { ...headers, ...changed }, request.key);
    expect(verify).toThrow(WebhookVerificationError);
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('names a missing %s', (name) => {
    expect(() => verifyWebhook(body, { ...headers, [name]: '' }, key)).toThrow(/^A header .+ is missing$/);
  });

  it('is refused over five minutes before or after its time', () => {
    for (const ageSeconds of [302, -302]) {
      const { headers, body } = sentBy([secret], { ageSeconds });
      expect(() => verifyWebhook(body, headers, key)).toThrow('The timestamp is over five minutes away');
    }
    const { headers, body } = sentBy([secret], { ageSeconds: 298 });
    expect(verifyWebhook(body, headers, key).id).toBe('message-1');
  });
});

describe('a fault of the receiver is a TypeError, which is not answered with 401', () => {
  const secret = secretOf('v1');
  const { headers, body } = sentBy([secret]);

  it.each([
    ['no key', [], 'There is no key to verify with.'],
    ['a key without its prefix', keyOf(secret).slice('whsec_'.length), 'A key begins with whsec_ or whpk_.'],
    ['a private key', secretText(secretOf('v1a')), 'A key begins with whsec_ or whpk_.'],
    ['a secret that is not base64', 'whsec_ü', 'What follows whsec_ is not the base64 of a key.'],
    ['an empty secret', 'whsec_', 'A key begins with whsec_ or whpk_.'],
    ['a public key of another length', 'whpk_AAAA', 'What follows whpk_ is not the base64 of a key.'],
    ['one malformed key of several', [keyOf(secret), 'whpk_AAAA'], 'What follows whpk_'],
  ])('%s', (_, keys, message) => {
    const verify = () => verifyWebhook(body, headers, keys);
    expect(verify).toThrow(TypeError);
    expect(verify).toThrow(message);
  });

  it('a body that is parsed already', () => {
    const parsed: unknown = JSON.parse(body.toString());
    // @ts-expect-error: what express.json() makes of the request
    expect(() => verifyWebhook(parsed, headers, keyOf(secret))).toThrow(TypeError);
  });

  it('and a key that an environment variable lacks', () => {
    // @ts-expect-error: a caller in JavaScript
    expect(() => verifyWebhook(body, headers, process.env['NO_SUCH_KEY'])).toThrow(TypeError);
  });
});

it('throws only these two errors, for any request and key', () => {
  const anything = fc.oneof(fc.string(), fc.constantFrom('v1,', 'v1a,', 'é\0\ud800'));
  const anyKey = fc.oneof(
    fc.constantFrom(keyOf(secretOf('v1')), keyOf(secretOf('v1a'))),
    fc.tuple(fc.constantFrom('whsec_', 'whpk_', ''), anything).map((parts) => parts.join('')),
  );
  const now = String(Math.floor(Date.now() / 1000));
  fc.assert(
    fc.property(anything, anything, anything, anyKey, (body, id, signature, key) => {
      const headers = { 'webhook-id': id, 'webhook-timestamp': now, 'webhook-signature': signature };
      try {
        verifyWebhook(body, headers, key);
        return false;
      } catch (error) {
        return error instanceof WebhookVerificationError || error instanceof TypeError;
      }
    }),
  );
});
