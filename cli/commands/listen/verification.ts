import { createPublicKey, verify } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { Problem } from '../../../local/install/problem.mjs';

export type Verdict = { verified: true } | { verified: false; why: string };

export type Verifier = (body: Buffer, headers: Record<string, string>) => Verdict;

const PUBLIC_PREFIX = 'whpk_';
/** The DER prefix of an Ed25519 public key (RFC 8410 §4). */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
/** Allowed clock difference in seconds, the same as in the library for shared secrets. */
const TOLERANCE = 300;

/**
 * A verifier for `whsec_…` (shared secret, v1) or `whpk_…` (public key, v1a; Standard Webhooks).
 * @throws Problem without the secret in it
 */
export function verifierFor(secret: string): Verifier {
  return secret.startsWith(PUBLIC_PREFIX)
    ? asymmetric(secret.slice(PUBLIC_PREFIX.length))
    : symmetric(secret);
}

function symmetric(secret: string): Verifier {
  const webhook = webhookWith(secret);
  return (body, headers) => {
    try {
      webhook.verify(body, headers, { jsonParse: false });
      return { verified: true };
    } catch (error) {
      if (error instanceof WebhookVerificationError) return { verified: false, why: error.message };
      throw error;
    }
  };
}

function webhookWith(secret: string): Webhook {
  try {
    return new Webhook(secret);
  } catch (cause) {
    throw new Problem('The secret has the wrong form. Expected whsec_ or whpk_, followed by base64.', {
      cause,
    });
  }
}

/** Verifies v1a signatures, which the library does not support. */
function asymmetric(base64: string): Verifier {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 32)
    throw new Problem('The public key has the wrong form. Expected whpk_, followed by 32 bytes in base64.');
  const key = createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: 'der', type: 'spki' });
  return (body, headers) => {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
    if (id === undefined || timestamp === undefined || signatures === undefined) {
      return { verified: false, why: 'Missing required headers' };
    }
    if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE)) {
      return { verified: false, why: 'Message timestamp too old or too new' };
    }
    const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
    const isSigned = signatures
      .split(' ')
      .filter((signature) => signature.startsWith('v1a,'))
      .some((signature) => verify(null, signed, key, Buffer.from(signature.slice(4), 'base64')));
    return isSigned ? { verified: true } : { verified: false, why: 'No matching signature found' };
  };
}
