import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';
import { ApiRefusal, isNotFound } from './api-refusal.ts';
import type { ApiClient } from './api-request.ts';
import { itemsOf, type Listed } from './listing.ts';
import { showMessage, type ShownMessage } from './messages.ts';
import { listSubscriptions } from './subscriptions.ts';

/** `message`: absent if the queue has none with this id. `more`: further subscriptions match. */
export type SearchedQueue = { message?: ShownMessage; subscriptions: SubscriptionView[]; more: boolean };

/** Subscriptions per queue that a search reports. */
export const MOST_PER_QUEUE = 10;

/** What a search says where it reports fewer than it found. */
export function cutText(what: 'messages' | 'subscriptions', queue: string): string {
  return `${MOST_PER_QUEUE} of more ${what} shown in ${queue}.`;
}

/**
 * Looks in a queue for the message with this id, and for subscriptions whose id begins with the text or whose name or
 * URL contains it. Two requests.
 */
export async function searchQueue(
  api: ApiClient,
  queue: string,
  text: string,
  signal?: AbortSignal,
): Promise<SearchedQueue> {
  const [message, { items: subscriptions, more }] = await Promise.all([
    findMessage(api, queue, text, signal),
    subscriptionsLike(api, queue, text),
  ]);
  return { ...(message && { message }), subscriptions, more };
}

/** Undefined: the queue has no such message. */
export async function findMessage(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<ShownMessage | undefined> {
  try {
    return await showMessage(api, queue, id, signal);
  } catch (error) {
    // 400: the text cannot be the id of a message.
    if (isNotFound(error) || (error instanceof ApiRefusal && error.status === 400)) return undefined;
    throw error;
  }
}

async function subscriptionsLike(
  api: ApiClient,
  queue: string,
  text: string,
): Promise<Listed<SubscriptionView>> {
  try {
    return await itemsOf(listSubscriptions(api, queue, { most: MOST_PER_QUEUE, match: text }));
  } catch (error) {
    // A deleted queue has messages, and no subscriptions.
    if (isNotFound(error)) return { items: [], more: false };
    throw error;
  }
}
