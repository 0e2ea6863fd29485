import * as z from 'zod';
import { deliveryDetailSchema } from '../../shared/wire/views/delivery-detail.ts';
import { deliverySummarySchema } from '../../shared/wire/views/delivery-summary.ts';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  subscriptionDeliverySchema,
  type SubscriptionDeliveryView,
} from '../../shared/wire/views/subscription-delivery.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, listing, type ListingRequest } from './listing.ts';

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
  status?: string | undefined;
  subscription?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
  /** List those of a deleted queue. */
  deleted?: boolean | undefined;
};

type Most = Pick<ListingRequest<unknown>, 'most' | 'signal'>;

/** Open and failed deliveries of a queue, newest first. */
export function listDeliveries(
  api: ApiClient,
  queue: string,
  { since, until, deleted, ...filter }: DeliveryFilter,
  limits: Most = {},
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
    ...limits,
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
  limits: Most = {},
): AsyncGenerator<SubscriptionDeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/subscriptions/${subscriptionId}/deliveries`,
    query: {
      since: textOf(since),
      until: textOf(until),
      deleted: deleted === true ? 'true' : undefined,
    },
    schema: ofSubscriptionPage,
    ...limits,
  });
}

function textOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** All deliveries of a message, including delivered ones. */
export function deliveriesOfMessage(
  api: ApiClient,
  { queue, messageId }: { queue: string; messageId: string },
  limits: Most = {},
): AsyncGenerator<DeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages/${messageId}/deliveries`,
    schema: ofMessagePage,
    ...limits,
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
  return api.call({ method: 'GET', path: pathOf(address), signal }, deliveryDetailSchema);
}

/** Sent once: a repeated request could open a second round if the first one has already ended. */
export function retryDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/retry` }, deliveryViewSchema);
}

export function cancelDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/cancel` }, deliveryViewSchema);
}
