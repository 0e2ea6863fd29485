import { createHmac, sign } from 'node:crypto';
import type { SigningSecret } from './signing-secret.ts';

/** What a signature covers. */
export type SignedContent = {
  /** `webhook-id`. A message id holds no full stop (`messageIdOf`), so the three parts cannot run into each other. */
  id: string;
  /** `webhook-timestamp`: the attempt's start, in whole seconds since the epoch. */
  timestamp: number;
  /** The text whose UTF-8 bytes are sent. */
  body: string;
};

/**
 * `webhook-signature` after the Standard Webhooks specification: a signature for each secret, in their order, so that a
 * receiver that knows one of them finds its own while another takes its place.
 */
export const signatureHeader = (secrets: readonly SigningSecret[], content: SignedContent): string => {
  const signed = Buffer.from(`${content.id}.${content.timestamp}.${content.body}`);
  return secrets.map((secret) => `${secret.scheme},${signatureOf(secret, signed)}`).join(' ');
};

const signatureOf = ({ scheme, key }: SigningSecret, signed: Buffer): string => {
  switch (scheme) {
    case 'v1':
      return createHmac('sha256', key).update(signed).digest('base64');
    case 'v1a':
      return sign(null, signed, key).toString('base64');
  }
};
