import type { SubscriptionView } from '../shared/wire/views/subscription.ts';
import type { ApiClient } from './api-client.ts';
import { findMessage, type ShownMessage } from './messages.ts';
import { listSubscriptions } from './operations.ts';
import { isNotFound, orElse } from './refusal.ts';

/** `message`: absent if the queue has none with this id. `more`: further subscriptions match. */
export type SearchedQueue = { message?: ShownMessage; subscriptions: SubscriptionView[]; more: boolean };

/** Subscriptions per queue that a search reports. */
export const MAX_PER_QUEUE = 10;

/** What a search says where it reports fewer than it found. */
export function cutText(what: 'messages' | 'subscriptions', queue: string, most = MAX_PER_QUEUE): string {
  return `${most} of more ${what} shown in ${queue}`;
}

/**
 * Looks in a queue for the message with this id, and for subscriptions whose id begins with the text or whose name or
 * URL contains it. Two requests.
 */
export async function searchQueue(
  api: ApiClient,
  queue: string,
  text: string,
  { most = MAX_PER_QUEUE, signal }: { most?: number; signal?: AbortSignal } = {},
): Promise<SearchedQueue> {
  const [message, { items: subscriptions, more }] = await Promise.all([
    findMessage(api, queue, text, signal),
    // A deleted queue has messages, and no subscriptions.
    api
      .items(listSubscriptions, { path: { queue }, query: { match: text }, most, signal })
      .catch(orElse(isNotFound, { items: [], more: false })),
  ]);
  return { ...(message && { message }), subscriptions, more };
}
