import * as z from 'zod';
import { toSubscriber } from '../../domain/subscription/destination.ts';
import type {
  ArchivedQueue,
  ArchivedSubscription,
  Deletion,
} from '../../domain/subscription/subscription.ts';
import { timeText, timeView } from '../fields.ts';

const deletionView = { deletedAt: timeView, restorableUntil: timeView };

/** A deleted queue that can be restored. */
export const archivedQueueSchema = z.object({ name: z.string(), ...deletionView });

/** A deleted subscription that can be restored. */
export const archivedSubscriptionSchema = z.object({
  id: z.string(),
  name: z.string().exactOptional(),
  subscriber: z.string(),
  ...deletionView,
});

export type ArchivedQueueView = z.infer<typeof archivedQueueSchema>;
export type ArchivedSubscriptionView = z.infer<typeof archivedSubscriptionSchema>;

/** `restoring`: operate still brings its subscriptions back; the queue appears with the last one. */
export const restoredQueueSchema = z.object({ name: z.string(), state: z.enum(['restored', 'restoring']) });

/** Headers of the response to a deletion: until when it can be undone, if it can, and when the last request has ended. */
export const RESTORABLE_UNTIL = 'restorable-until';
export const REQUESTS_END_WITHIN_SECONDS = 'requests-end-within-seconds';

export function deletionHeaders(requestsEndWithin: number, restorableUntil?: number): Record<string, string> {
  return {
    [REQUESTS_END_WITHIN_SECONDS]: String(requestsEndWithin),
    ...(restorableUntil !== undefined && { [RESTORABLE_UNTIL]: timeText(restorableUntil) }),
  };
}

export function archivedQueueView({ queue: { name }, ...deletion }: ArchivedQueue): ArchivedQueueView {
  return { name, ...timesOf(deletion) };
}

export function archivedSubscriptionView({
  subscription: { id, name, destination },
  ...deletion
}: ArchivedSubscription): ArchivedSubscriptionView {
  const named = name === undefined ? {} : { name };
  return { id, ...named, subscriber: toSubscriber(destination), ...timesOf(deletion) };
}

function timesOf({ deletedAt, restorableUntil }: Deletion) {
  return { deletedAt: timeText(deletedAt), restorableUntil: timeText(restorableUntil) };
}
