import { createPublicKey, verify as isSignedBy } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

export { WebhookVerificationError };

/** Header values by name, as `node:http` and Lambda have them, or a `Headers` object. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A verified request. `id` is the same in every attempt: compare it, because a webhook may come twice. */
export type VerifiedWebhook = { id: string; timestamp: Date; body: string };

/** The greatest difference of the clocks, as in the library. */
const TOLERANCE_MS = 300_000;

/**
 * Verifies a request after Standard Webhooks, with either signature scheme.
 * @param body the raw body, before parsing
 * @param keys `whsec_…` (v1, HMAC-SHA256) or `whpk_…` (v1a, ed25519). Of several, one has to fit
 * @throws WebhookVerificationError, also if the request is over five minutes old: answer 401. TypeError for a body that
 * is parsed already or a malformed key, which is a fault of the receiver: answer 500
 */
export function verifyWebhook(
  body: string | Uint8Array,
  headers: RequestHeaders,
  keys: string | readonly string[],
): VerifiedWebhook {
  const checks = [keys].flat().map(createCheck);
  if (checks.length === 0) throw new TypeError('There is no key to verify with.');
  const request = signedRequest(body, headers);
  if (!checks.some((isSigned) => isSigned(request)))
    throw new WebhookVerificationError('No signature fits the body and a key');
  return { id: request.id, timestamp: request.timestamp, body: request.body };
}

type SignedRequest = { id: string; seconds: string; timestamp: Date; signatures: string; body: string };

function signedRequest(given: unknown, headers: RequestHeaders): SignedRequest {
  const id = findHeader(headers, 'webhook-id');
  const seconds = findHeader(headers, 'webhook-timestamp');
  const signatures = findHeader(headers, 'webhook-signature');
  if (id === '' || seconds === '' || signatures === '')
    throw new WebhookVerificationError(
      'A header webhook-id, webhook-timestamp or webhook-signature is missing',
    );
  // Digits alone: the library signs its own form of the time, so that others would pass unsigned.
  const timestamp = new Date(/^\d+$/.test(seconds) ? Number(seconds) * 1000 : NaN);
  if (!(Math.abs(Date.now() - timestamp.getTime()) <= TOLERANCE_MS))
    throw new WebhookVerificationError('The timestamp is over five minutes away');
  return { id, seconds, timestamp, signatures, body: decodeBody(given) };
}

/** Signed bodies are UTF-8. */
function decodeBody(body: unknown): string {
  if (typeof body === 'string') return body;
  // Not instanceof: test environments such as Jest have their own Uint8Array.
  if (!ArrayBuffer.isView(body))
    throw new TypeError('The body must be the raw text or bytes, before parsing.');
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

function findHeader(headers: RequestHeaders, name: string): string {
  // Not instanceof: libraries such as undici have their own Headers.
  if (typeof headers.get === 'function') return headers.get(name) ?? '';
  const [, value = ''] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return [value].flat().join(' ');
}

type Check = (request: SignedRequest) => boolean;

function createCheck(key: unknown): Check {
  const [, kind, base64 = ''] = /^(whsec_|whpk_)(.+)$/s.exec(String(key)) ?? [];
  try {
    if (kind === 'whsec_') return sharedSecretCheck(base64);
    if (kind === 'whpk_') return publicKeyCheck(base64);
  } catch (cause) {
    throw new TypeError(`What follows ${kind} is not the base64 of a key.`, { cause });
  }
  throw new TypeError('A key begins with whsec_ or whpk_.');
}

function sharedSecretCheck(base64: string): Check {
  const webhook = new Webhook(base64);
  return ({ id, seconds, signatures, body }) => {
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'webhook-signature': signatures,
    };
    try {
      webhook.verify(body, headers, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  };
}

/** Ours, because the library does not know v1a. */
function publicKeyCheck(base64: string): Check {
  const x = Buffer.from(base64, 'base64').toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return ({ id, seconds, signatures, body }) => {
    const content = Buffer.from(`${id}.${seconds}.${body}`);
    return signatures
      .split(' ')
      .filter((signature) => signature.startsWith('v1a,'))
      .some((signature) =>
        isSignedBy(null, content, publicKey, Buffer.from(signature.slice('v1a,'.length), 'base64')),
      );
  };
}
