import { buildConfirmationId, CONFIRMATION_TYPE, isConfirmationId } from '../subscription/confirmation.ts';
import { REDACTED } from '../subscription/credential-headers.ts';
import type { Message } from './message.ts';

/** Data of a confirmation request for display: the link is redacted, because it allows its holder to confirm. */
export function withoutLink(data: string): string {
  return JSON.stringify({ ...JSON.parse(data), confirmUrl: REDACTED });
}

/** The token of its link, which answers can repeat; of another message nothing. */
export function linkTokens({ id, data }: Pick<Message, 'id' | 'data'>): readonly string[] {
  return isConfirmationId(id) ? (/(?<=token=)[\w-]+/.exec(data) ?? []) : [];
}

/** The confirmation request to a subscriber. `askedAt`: milliseconds since the epoch. */
export function confirmationMessage(
  subscription: { queue: string; id: string },
  link: { tokenHash: string; confirmUrl: string },
  askedAt: number,
): Message {
  return {
    queue: subscription.queue,
    id: buildConfirmationId(link),
    type: CONFIRMATION_TYPE,
    timestamp: new Date(askedAt).toISOString(),
    data: JSON.stringify({
      queue: subscription.queue,
      subscriptionId: subscription.id,
      confirmUrl: link.confirmUrl,
    }),
  };
}
