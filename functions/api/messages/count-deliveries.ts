import { bucketsOf } from '../../../shared/domain/delivery/fan-out.ts';
import {
  NO_DELIVERIES,
  type StatusCounts,
  sumOfStatusCounts,
} from '../../../shared/domain/delivery/books.ts';
import type { DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';

/** Buckets of a message that a request counts: some 10,000 deliveries. More would hold the function. */
export const MAX_COUNTED_BUCKETS = 40;

/** `next`: the first bucket that is not counted; undefined: all are. */
export type DeliveryCount = { counts: StatusCounts; next?: number };

/** Counts the deliveries of a message, or goes on after `from`. */
export async function countDeliveries(
  listings: Pick<DeliveryListings, 'tally'>,
  message: MessageRecord,
  from: { counts: StatusCounts; next: number } | undefined,
): Promise<DeliveryCount> {
  const all = bucketsOf(message);
  const first = Math.max(all.first, from?.next ?? 0);
  const end = Math.min(all.end, first + MAX_COUNTED_BUCKETS);
  const counts = sumOfStatusCounts(
    from?.counts ?? NO_DELIVERIES,
    await listings.tally(message, { first, end }),
  );
  return end < all.end ? { counts, next: end } : { counts };
}
