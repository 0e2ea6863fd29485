import * as z from 'zod';
import { confirmationSchema, subscriptionViewSchema } from '../../../shared/wire/views/subscription.ts';
import { RefusedRequest } from '../errors.ts';
import { linksSchema } from '../paging.ts';

/** Answer to subscribing. The secret is shown here and never again; `confirmation` where the subscriber is asked first. */
export const subscribedSchema = z.object({
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
  confirmation: confirmationSchema.exactOptional(),
});

export const subscriptionListSchema = z.object({
  subscriptions: z.array(subscriptionViewSchema),
  links: linksSchema,
});

export const confirmedSchema = z.object({ confirmed: z.literal(true) });

/** A subscriber is unique on its queue. */
export function subscriberTaken(subscriptionId: string): RefusedRequest {
  return new RefusedRequest('conflict', `the queue has this subscriber: subscription ${subscriptionId}`, [
    { field: 'subscriber', message: 'is on this queue already' },
  ]);
}
