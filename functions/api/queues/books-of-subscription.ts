import { deliveryKeyIn, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import {
  type Books,
  booksOfMatch,
  booksOfMessage,
  isBalanced,
  type SubscriptionMatch,
} from '../../../shared/domain/message/books.ts';
import { wasActiveAt } from '../../../shared/domain/message/matching.ts';
import type { Deliveries, DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import type { NamedSubscription } from './existing-queue.ts';

type MatchContext = {
  deliveries: Pick<Deliveries, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
};

/** Returns the reconciliation report of a message for one subscription. */
export function countFor(context: MatchContext, subscription: NamedSubscription) {
  return async (message: MessageRecord): Promise<Books> =>
    booksOfMatch(message, await matchOf(context, message, subscription));
}

/**
 * Reads the other deliveries of a message only if the subscription has none of it: if all that matched are on record,
 * the subscription did not match.
 */
async function matchOf(
  { deliveries, deliveryListings }: MatchContext,
  message: MessageRecord,
  { id, record: subscription }: NamedSubscription,
): Promise<SubscriptionMatch> {
  const delivery = await deliveries.find(deliveryKeyIn(message, id));
  if (delivery !== undefined) return delivery.status;
  const { listedAt } = partWith(message, id);
  if (subscription !== undefined && subscription.createdAt > listedAt) return 'unmatched';
  if (!isBalanced(booksOfMessage(message, await deliveryListings.tally(message)))) return 'unfinished';
  const wasSubscribed = subscription !== undefined && wasActiveAt(subscription, { ...message, listedAt });
  return wasSubscribed ? 'filtered' : 'unmatched';
}
