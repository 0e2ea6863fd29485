import { verifyWebhook, WebhookVerificationError } from '../../../client/verify.ts';
import { Problem } from '../../../local/install/problem.mjs';

export type Verdict = { verified: true } | { verified: false; why: string };

export type Verifier = (body: Buffer, headers: Record<string, string>) => Verdict;

/**
 * A verifier for `whsec_…` (shared secret, v1) or `whpk_…` (public key, v1a; Standard Webhooks).
 * @throws Problem without the secret in it
 */
export function verifierFor(key: string): Verifier {
  const verdictOn: Verifier = (body, headers) => {
    try {
      verifyWebhook(body, headers, key);
      return { verified: true };
    } catch (error) {
      if (error instanceof WebhookVerificationError) return { verified: false, why: error.message };
      throw error;
    }
  };
  try {
    // A malformed key fails here, not at the first webhook.
    verdictOn(Buffer.alloc(0), {});
  } catch (cause) {
    throw new Problem('The key has the wrong form. Expected whsec_ or whpk_, followed by base64.', { cause });
  }
  return verdictOn;
}
