import { createHash, timingSafeEqual } from 'node:crypto';

/** Type of the message that asks a subscriber to confirm. */
export const CONFIRMATION_TYPE = 'posthaste.subscription_confirmation';

const CONFIRMATION_PREFIX = 'confirm_';

/** The stored hash of the token in a confirmation link. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Compares in constant time. */
export function isTokenOf({ tokenHash }: { tokenHash: string }, token: string): boolean {
  const [kept, given] = [Buffer.from(tokenHash), Buffer.from(hashToken(token))];
  return kept.length === given.length && timingSafeEqual(kept, given);
}

/**
 * Id of the message with the token. It identifies a confirmation request, including its retries, which is delivered
 * despite the missing confirmation until a new token replaces it.
 */
export function buildConfirmationId({ tokenHash }: { tokenHash: string }): string {
  return `${CONFIRMATION_PREFIX}${tokenHash}`;
}

/** Whether an id is that of a confirmation request. No other ids have this prefix; subscribers rely on it. */
export function isConfirmationId(messageId: string): boolean {
  return messageId.startsWith(CONFIRMATION_PREFIX);
}
