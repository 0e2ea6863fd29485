import { createHash, timingSafeEqual } from 'node:crypto';
import { REDACTED } from './credential-headers.ts';
import type { Message } from '../message/message.ts';

/** Type of the message that asks a subscriber to confirm. */
export const CONFIRMATION_TYPE = 'posthaste.subscription_confirmation';

const CONFIRMATION_PREFIX = 'confirm_';

/** Metadata field of a queue that requires confirmation of its subscriptions. */
export const CONFIRM_SUBSCRIPTIONS = '_confirm_subscriptions';

/** The stored hash of the token in a confirmation link. */
export function tokenHashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Compares in constant time. */
export function isTokenOf({ tokenHash }: { tokenHash: string }, token: string): boolean {
  const [kept, given] = [Buffer.from(tokenHash), Buffer.from(tokenHashOf(token))];
  return kept.length === given.length && timingSafeEqual(kept, given);
}

/**
 * Id of the message with the token. It identifies a confirmation request, including its retries, which is delivered
 * despite the missing confirmation until a new token replaces it.
 */
export function confirmationIdOf({ tokenHash }: { tokenHash: string }): string {
  return `${CONFIRMATION_PREFIX}${tokenHash}`;
}

/** Whether an id is that of a confirmation request. No other ids have this prefix; subscribers rely on it. */
export function isConfirmationId(messageId: string): boolean {
  return messageId.startsWith(CONFIRMATION_PREFIX);
}

/** Data of a confirmation request for display: the link is redacted, because it allows its holder to confirm. */
export function withoutLink(data: string): string {
  return JSON.stringify({ ...JSON.parse(data), confirmUrl: REDACTED });
}

/** The confirmation request to a subscriber. `askedAt`: milliseconds since the epoch. */
export function confirmationMessage(
  subscription: { queue: string; id: string },
  link: { tokenHash: string; confirmUrl: string },
  askedAt: number,
): Message {
  return {
    queue: subscription.queue,
    id: confirmationIdOf(link),
    type: CONFIRMATION_TYPE,
    timestamp: new Date(askedAt).toISOString(),
    data: JSON.stringify({
      queue: subscription.queue,
      subscriptionId: subscription.id,
      confirmUrl: link.confirmUrl,
    }),
  };
}
