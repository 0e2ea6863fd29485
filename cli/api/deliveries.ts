import * as z from 'zod';
import { deliveryDetailSchema } from '../../shared/wire/views/delivery-detail.ts';
import { deliverySummarySchema } from '../../shared/wire/views/delivery-summary.ts';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  subscriptionDeliverySchema,
  type SubscriptionDeliveryView,
} from '../../shared/wire/views/subscription-delivery.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, listing } from './listing.ts';

/** A delivery in the listing of its queue, which omits delivered ones. */
export type ListedDelivery = z.infer<typeof deliverySummarySchema>;

const listedPage = z
  .object({ deliveries: z.array(deliverySummarySchema), links: linksSchema })
  .transform(({ deliveries, links }) => ({ items: deliveries, links }));

const ofMessagePage = z
  .object({ deliveries: z.array(deliveryViewSchema), links: linksSchema })
  .transform(({ deliveries, links }) => ({ items: deliveries, links }));

/** Times in milliseconds since the epoch. */
export type DeliveryFilter = {
  status?: string;
  subscription?: string;
  since?: number;
  until?: number;
  /** List those of a deleted queue. */
  deleted?: boolean;
};

type Most = { most?: number; signal?: AbortSignal };

/** Open and failed deliveries of a queue, newest first. */
export function listDeliveries(
  api: ApiClient,
  queue: string,
  { since, until, deleted, ...filter }: DeliveryFilter,
  { most, signal }: Most = {},
): AsyncGenerator<ListedDelivery, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/deliveries`,
    query: {
      ...filter,
      since: textOf(since),
      until: textOf(until),
      deleted: deleted === true ? 'true' : undefined,
    },
    schema: listedPage,
    ...(most === undefined ? {} : { most }),
    ...(signal && { signal }),
  });
}

const ofSubscriptionPage = z
  .object({ deliveries: z.array(subscriptionDeliverySchema), links: linksSchema })
  .transform(({ deliveries, links }) => ({ items: deliveries, links }));

/** All deliveries of a subscription, including delivered ones, newest message first. */
export function deliveriesOfSubscription(
  api: ApiClient,
  { queue, subscriptionId }: Pick<DeliveryAddress, 'queue' | 'subscriptionId'>,
  { since, until, deleted }: Pick<DeliveryFilter, 'since' | 'until' | 'deleted'>,
  { most, signal }: Most = {},
): AsyncGenerator<SubscriptionDeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/subscriptions/${subscriptionId}/deliveries`,
    query: {
      since: textOf(since),
      until: textOf(until),
      deleted: deleted === true ? 'true' : undefined,
    },
    schema: ofSubscriptionPage,
    ...(most === undefined ? {} : { most }),
    ...(signal && { signal }),
  });
}

function textOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** All deliveries of a message, including delivered ones. */
export function deliveriesOfMessage(
  api: ApiClient,
  { queue, messageId }: { queue: string; messageId: string },
  { most, signal }: Most = {},
): AsyncGenerator<DeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages/${messageId}/deliveries`,
    schema: ofMessagePage,
    ...(most === undefined ? {} : { most }),
    ...(signal && { signal }),
  });
}

export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

export type DeliveryAddress = { queue: string; messageId: string; subscriptionId: string };

function pathOf({ queue, messageId, subscriptionId }: DeliveryAddress): string {
  return apiPath`/v2/queues/${queue}/messages/${messageId}/deliveries/${subscriptionId}`;
}

export function showDelivery(
  api: ApiClient,
  address: DeliveryAddress,
  signal?: AbortSignal,
): Promise<DeliveryDetail> {
  return api.call({ method: 'GET', path: pathOf(address), ...(signal && { signal }) }, deliveryDetailSchema);
}

/** Sent once: a repeated request could open a second round if the first one has already ended. */
export function retryDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/retry` }, deliveryViewSchema);
}

export function cancelDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/cancel` }, deliveryViewSchema);
}
