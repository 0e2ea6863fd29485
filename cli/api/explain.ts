import * as z from 'zod';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import { explainedSchema } from '../../shared/wire/views/explanation.ts';
import { messageSummarySchema } from '../../shared/wire/views/message.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import type { DeliveryAddress } from './deliveries.ts';
import { linksSchema, listing } from './listing.ts';

/** What became of a message for one subscription. */
export type Explained = z.infer<typeof explainedSchema>;

const pageSchema = z
  .object({ message: messageSummarySchema, subscriptions: z.array(explainedSchema), links: linksSchema })
  .transform(({ subscriptions, links }) => ({ items: subscriptions, links }));

/** What became of a message for each subscription of its queue, or for one. */
export function explainMessage(
  api: ApiClient,
  { queue, messageId, subscriptionId }: Omit<DeliveryAddress, 'subscriptionId'> & { subscriptionId?: string },
  most?: number,
): AsyncGenerator<Explained, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages/${messageId}/explain`,
    query: { subscription: subscriptionId },
    schema: pageSchema,
    ...(most === undefined ? {} : { most }),
  });
}

/** Sends a message to one subscription. Requested once: a repeated request could start a second round. */
export function sendDelivery(
  api: ApiClient,
  { queue, messageId, subscriptionId }: DeliveryAddress,
): Promise<DeliveryView> {
  const path = apiPath`/v2/queues/${queue}/messages/${messageId}/deliveries/${subscriptionId}/send`;
  return api.call({ method: 'POST', path }, deliveryViewSchema);
}
