import { timeText } from '../shared/wire/fields.ts';
import type { DeliveryView } from '../shared/wire/views/delivery.ts';
import type { ListedDelivery } from './operations.ts';

export type DeliveryAddress = { queue: string; messageId: string; subscriptionId: string };

/** The parameters of the operations on one delivery. */
export function deliveryPath({ queue, messageId, subscriptionId }: DeliveryAddress) {
  return { path: { queue, message: messageId, subscription: subscriptionId } };
}

/** Times in milliseconds since the epoch. `deleted`: of a deleted queue. */
export type DeliveryFilter = Partial<
  Record<'since' | 'until', number | undefined> & Record<'status' | 'subscription', string | undefined>
> & { deleted?: boolean | undefined };

/** The filter as a query of a listing. */
export function deliveryQuery({ since, until, deleted, ...filter }: DeliveryFilter) {
  return {
    ...filter,
    since: since === undefined ? undefined : timeText(since),
    until: until === undefined ? undefined : timeText(until),
    deleted: deleted === true ? true : undefined,
  };
}

/** The same as in the listing of the queue, without its waits. */
export function toSummary({ attempts, nextAttempt, ...view }: DeliveryView): ListedDelivery {
  const lastAttempt = attempts.at(-1);
  return {
    ...view,
    acceptedAt: view.acceptedAt ?? '',
    attemptCount: attempts.length,
    ...(lastAttempt && { lastAttempt }),
    ...(nextAttempt?.waiting && { waiting: nextAttempt.waiting }),
  };
}
