import { hashToken, isTokenOf } from './confirmation.ts';
import type { PullDestination } from './destination.ts';
import { secretsInForce } from './secret-rotation.ts';

type PullToken = NonNullable<PullDestination['tokens']>[number];

const PREFIX = 'phpull_';

/** As long as the hash that is stored instead. */
const TOKEN_BYTES = 32;

/** A new token for a subscriber, and its stored form. `randomBytes` must be cryptographically secure. */
export function makePullToken(randomBytes: (bytes: number) => Uint8Array): {
  token: string;
  stored: PullToken;
} {
  const token = `${PREFIX}${Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url')}`;
  return { token, stored: { tokenHash: hashToken(token) } };
}

/** Whether a text has the form of a token; another cannot be one, so nothing needs to be read for it. */
export function hasPullTokenForm(text: string): boolean {
  return /^phpull_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Whether a token is one of these and in force. Compares with each in constant time. */
export function isPullTokenOf(tokens: readonly PullToken[], token: string, now: number): boolean {
  return secretsInForce(tokens, now).filter((one) => isTokenOf(one, token)).length > 0;
}
