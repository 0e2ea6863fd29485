import * as z from 'zod';
import { endOfAttempt } from '../../domain/delivery/attempt.ts';
import type { Delivery } from '../../domain/delivery/delivery.ts';
import { deliverySummary, deliverySummarySchema } from './delivery-summary.ts';

/** A delivery in the listing of its subscription, which contains delivered ones too. */
export const subscriptionDeliverySchema = deliverySummarySchema.extend({
  messageType: z.string().exactOptional(),
  /** Of the last attempt, in milliseconds. */
  durationMs: z.number().exactOptional(),
  /** From the acceptance of the message to the answer of the first successful attempt, in milliseconds. */
  deliveredAfterMs: z.number().exactOptional(),
});

export type SubscriptionDeliveryView = z.infer<typeof subscriptionDeliverySchema>;

export function subscriptionDeliveryView(
  delivery: Delivery,
  messageType: string | undefined,
): SubscriptionDeliveryView {
  const { attempts, lateResults, acceptedAt } = delivery;
  const last = attempts.at(-1);
  const success = [...attempts, ...lateResults].find(({ outcome }) => outcome === 'delivered');
  return {
    ...deliverySummary(delivery),
    ...(messageType !== undefined && { messageType }),
    ...(last !== undefined && { durationMs: last.durationMs }),
    ...(success !== undefined && {
      deliveredAfterMs: Math.max(0, endOfAttempt(success) - acceptedAt),
    }),
  };
}
