import { listDeliveriesOfMessage, type ListedMessage, listMessages } from '../../../api-client/operations.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import type { PageClient } from './page-client.ts';

/** A message and its deliveries, at most `MAX_DELIVERIES` of them. */
export type RecentMessage = { message: ListedMessage; deliveries: DeliveryView[] };

const MAX_DELIVERIES = 100;

/** Finished deliveries change only on a manual retry or a recovery, so they are read again after a minute. */
const FRESH_MS = 60_000;

type CachedDeliveries = { at: number; counts: string; deliveries: DeliveryView[] };

/** Returns a reader of the newest messages with their deliveries. It caches messages whose deliveries are finished. */
export function recentReader(api: PageClient, queue: string) {
  const cache = new Map<string, CachedDeliveries>();

  const deliveriesOf = async (message: ListedMessage, signal: AbortSignal): Promise<DeliveryView[]> => {
    const counts = JSON.stringify([message.deliveries, message.duplicates]);
    const before = cache.get(message.id);
    if (before?.counts === counts && Date.now() - before.at < FRESH_MS) return before.deliveries;
    const path = { queue, message: message.id };
    const listed = await api.items(listDeliveriesOfMessage, { path, most: MAX_DELIVERIES, signal });
    const { items: deliveries } = listed;
    if (isFinished(message)) cache.set(message.id, { at: Date.now(), counts, deliveries });
    return deliveries;
  };

  return async (most: number, signal: AbortSignal): Promise<RecentMessage[]> => {
    const { items } = await api.items(listMessages, { path: { queue }, most, signal });
    return Promise.all(
      items.map(async (message) => ({ message, deliveries: await deliveriesOf(message, signal) })),
    );
  };
}

function isFinished({ matched, deliveries, unfinished }: ListedMessage): boolean {
  if (deliveries === undefined || unfinished === true) return false;
  const { pending, retrying, ...ends } = deliveries;
  return pending + retrying === 0 && Object.values(ends).reduce((sum, count) => sum + count, 0) >= matched;
}
