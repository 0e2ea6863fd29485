import * as z from 'zod';
import { deliveryDetailSchema } from '../../shared/wire/views/delivery-detail.ts';
import { deliverySummarySchema } from '../../shared/wire/views/delivery-summary.ts';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  subscriptionDeliverySchema,
  type SubscriptionDeliveryView,
} from '../../shared/wire/views/subscription-delivery.ts';
import { timeText } from '../../shared/wire/fields.ts';
import { type ApiClient, apiPath, type ApiRequest } from './api-request.ts';
import { linksSchema, listing, type Limits } from './listing.ts';

/** A delivery in the listing of its queue, which omits delivered ones. */
export type ListedDelivery = z.infer<typeof deliverySummarySchema>;

const listedPage = z
  .object({ deliveries: z.array(deliverySummarySchema), links: linksSchema })
  .transform(({ deliveries, links }) => ({ items: deliveries, links }));

const ofMessagePage = z
  .object({ deliveries: z.array(deliveryViewSchema), links: linksSchema })
  .transform(({ deliveries, links }) => ({ items: deliveries, links }));

/** Times in milliseconds since the epoch. */
type Window = {
  since?: number | undefined;
  until?: number | undefined;
  /** List those of a deleted queue. */
  deleted?: boolean | undefined;
};

export type DeliveryFilter = Window & { status?: string | undefined; subscription?: string | undefined };

/** Open and failed deliveries of a queue, newest first. */
export function listDeliveries(
  api: ApiClient,
  queue: string,
  { status, subscription, ...window }: DeliveryFilter,
  limits: Limits = {},
): AsyncGenerator<ListedDelivery, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/deliveries`,
    query: { status, subscription, ...windowOf(window) },
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
  window: Window,
  limits: Limits = {},
): AsyncGenerator<SubscriptionDeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/subscriptions/${subscriptionId}/deliveries`,
    query: windowOf(window),
    schema: ofSubscriptionPage,
    ...limits,
  });
}

function windowOf({ since, until, deleted }: Window): NonNullable<ApiRequest['query']> {
  return {
    since: since === undefined ? undefined : timeText(since),
    until: until === undefined ? undefined : timeText(until),
    deleted: deleted === true ? 'true' : undefined,
  };
}

/** All deliveries of a message, including delivered ones. */
export function deliveriesOfMessage(
  api: ApiClient,
  { queue, messageId }: { queue: string; messageId: string },
  limits: Limits = {},
): AsyncGenerator<DeliveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/messages/${messageId}/deliveries`,
    schema: ofMessagePage,
    ...limits,
  });
}

/** The same as in the listing, without the time of acceptance. */
export function summaryOf({ attempts, nextAttempt, ...view }: DeliveryView): ListedDelivery {
  const lastAttempt = attempts.at(-1);
  return {
    ...view,
    acceptedAt: '',
    attemptCount: attempts.length,
    ...(lastAttempt && { lastAttempt }),
    ...(nextAttempt?.waiting && { waiting: nextAttempt.waiting }),
  };
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

/** Sends a message to one subscription. Requested once: a repeat starts a second round if the first one has ended. */
export function sendDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/send` }, deliveryViewSchema);
}

export function cancelDelivery(api: ApiClient, address: DeliveryAddress): Promise<DeliveryView> {
  return api.call({ method: 'POST', path: `${pathOf(address)}/cancel` }, deliveryViewSchema);
}
