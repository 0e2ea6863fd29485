import { createHash, timingSafeEqual } from 'node:crypto';
import { REDACTED } from './credential-headers.ts';
import type { Message } from '../message/message.ts';

/** The message that asks a subscriber whether it wants to be one. */
export const CONFIRMATION_TYPE = 'posthaste.subscription_confirmation';

const CONFIRMATION_PREFIX = 'confirm_';

/** The member of a queue's metadata that asks for confirmation of its subscriptions. */
export const CONFIRM_SUBSCRIPTIONS = '_confirm_subscriptions';

/** What is kept of the token in a confirmation's link. */
export function tokenHashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Takes as long for a token that is nearly right as for any other. */
export function isTokenOf({ tokenHash }: { tokenHash: string }, token: string): boolean {
  const [kept, given] = [Buffer.from(tokenHash), Buffer.from(tokenHashOf(token))];
  return kept.length === given.length && timingSafeEqual(kept, given);
}

/**
 * The id of the message that carries the token. Told from all others by it alone, a request for confirmation passes where
 * nothing else does, on each of its retries, until another token takes its place.
 */
export function confirmationIdOf({ tokenHash }: { tokenHash: string }): string {
  return `${CONFIRMATION_PREFIX}${tokenHash}`;
}

/** Whether it begins as the ids of requests for confirmation do, and no others: subscribers know them by that. */
export function isConfirmationId(messageId: string): boolean {
  return messageId.startsWith(CONFIRMATION_PREFIX);
}

/** The data of a request for confirmation as others than its subscriber may see it: whoever has the link can confirm. */
export function withoutLink(data: string): string {
  return JSON.stringify({ ...JSON.parse(data), confirmUrl: REDACTED });
}

/** `askedAt` is in milliseconds since the epoch. */
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
