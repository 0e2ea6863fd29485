import type { StatusCounts } from '../domain/books.ts';
import type { Delivery, DeliveryKey, Status } from '../domain/delivery.ts';
import type { MessageKey } from '../domain/message.ts';
import type { Page, PageRequest } from './page.ts';

/** Which deliveries of a queue. Times are milliseconds since the epoch, by when the message was accepted. */
export type DeliverySelection = {
  queue: string;
  subscriptionId?: string;
  status?: Exclude<Status, 'delivered'>;
  /** At or after. */
  since?: number;
  /** Before. */
  until?: number;
};

/** `unreadable`: not what this version of the code, or the one before, wrote; read again it is the same. */
export type DeliveryRecords = {
  deliveries: readonly Delivery[];
  unreadable: readonly { key: DeliveryKey; error: Error }[];
};

export type ListedDelivery = { key: DeliveryKey; acceptedAt: number; status: Status };

/**
 * Deliveries that are not delivered, from their first failure or an end other than `delivered` on. Read from the indexes, so
 * a second or so behind the records. A key's place in the listing never changes, so that a page goes on where the last ended
 * whatever becomes of the deliveries in between.
 *
 * What one page reads is bounded. Where a selection leaves out nearly everything, a page is short, or empty, and has a
 * marker all the same: only a page without a marker is the last.
 */
export interface DeliveryListings {
  /** Newest first. @throws InvalidMarkerError */
  newest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** Oldest first: for a job that works its way through a window. @throws InvalidMarkerError */
  oldest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** The records of up to 100 keys, in no order; strongly consistent. One that is gone is left out. */
  records(keys: readonly DeliveryKey[]): Promise<DeliveryRecords>;
  /**
   * Every recorded delivery of a message, delivered or not: bucket by bucket, and by subscription in each. Strongly
   * consistent. @throws InvalidMarkerError
   */
  ofMessage(message: MessageKey, buckets: number, page: PageRequest): Promise<Page<Delivery>>;
  /** How the recorded deliveries of a message stand; strongly consistent, and small however many they are. */
  tally(message: MessageKey, buckets: number): Promise<StatusCounts>;
}
