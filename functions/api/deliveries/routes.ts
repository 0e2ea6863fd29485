import * as z from 'zod';
import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { type DeliveryDetail, plannedAttempts } from '../../../shared/domain/delivery/explain.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import { LISTED_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { withoutLink } from '../../../shared/domain/message/confirmation-request.ts';
import { isExpired, type MessageKey } from '../../../shared/domain/message/message.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import { policyFor, type RetryDefaults } from '../../../shared/domain/subscription/delivery-policy.ts';
import type { DeliverySelection } from '../../../shared/ports/deliveries.ts';
import type { MessageWindow } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { readMessage } from '../../../shared/steps/keep-message.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import {
  deliveryDetailSchema,
  deliverySummarySchema,
  deliveryViewSchema,
  subscriptionDeliverySchema,
} from '../../../shared/wire/views/delivery.ts';
import {
  deliveryDetailView,
  deliverySummary,
  deliveryView,
  subscriptionDeliveryView,
} from '../../../shared/wire/views/shown-delivery.ts';
import { payloadSchema } from '../../../shared/wire/views/message.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import {
  deletedField,
  deletedSubscriptionField,
  existingMessage,
  existingQueue,
  existingSubscription,
  findWithQueue,
} from '../existing.ts';
import { completeWindow, windowed, windowFields } from '../fields.ts';
import { listing, pageFields, pageQuery, pageWithinAnswerSize } from '../paging.ts';
import { isSubscriptionId, messageKey, queuePath, subscriptionIdField, subscriptionKey } from '../paths.ts';
import { type AddRoute, json, jsonAnswer, withLinks } from '../route.ts';

const MESSAGE_DELIVERIES = '/v2/queues/{queue}/messages/{message}/deliveries';

const DELIVERY_OPERATIONS = ['getDelivery', 'retryDelivery', 'sendDelivery', 'cancelDelivery'];

const undelivered = listing('deliveries', deliverySummarySchema);
const deliveriesOfMessage = listing('deliveries', deliveryViewSchema);
const deliveriesOfSubscription = listing('deliveries', subscriptionDeliverySchema);

export function addDeliveryRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { deliveryListings } = dependencies;

  addRoute({
    key: 'GET /v2/queues/{queue}/deliveries',
    id: 'listDeliveries',
    summary: 'Lists the deliveries of a queue that have not succeeded, newest first',
    query: undeliveredQuery,
    answers: {
      200: withLinks(
        DELIVERY_OPERATIONS,
        {
          message: '$response.body#/deliveries/0/messageId',
          subscription: '$response.body#/deliveries/0/subscriptionId',
        },
        json('A page of deliveries.', undelivered.schema),
      ),
    },
    handle: async ({ path, params, query, raw }) => {
      const { limit, marker, deleted, subscription, ...selection } = query;
      const queue = await existingQueue(dependencies, params.queue, { deleted });
      const page = await pageWithinAnswerSize(
        { limit, marker },
        (asked) =>
          listUndelivered(dependencies, { queue, subscriptionId: subscription, ...selection }, asked),
        deliverySummary,
      );
      return undelivered.answer(path, page, raw.query);
    },
  });

  addRoute({
    key: `GET ${MESSAGE_DELIVERIES}`,
    id: 'listDeliveriesOfMessage',
    summary: 'Lists the deliveries of a message, one for each subscription',
    query: pageQuery,
    answers: {
      200: withLinks(
        DELIVERY_OPERATIONS,
        { message: '$request.path.message', subscription: '$response.body#/deliveries/0/subscriptionId' },
        json('A page of deliveries.', deliveriesOfMessage.schema),
      ),
    },
    handle: async ({ params, query }) => {
      const message = messageKey(params);
      const record = await existingMessage(dependencies, message);
      const page = await pageWithinAnswerSize(
        query,
        (asked) => deliveryListings.ofMessage(record, asked),
        deliveryView,
      );
      const path = `${queuePath(message.queue)}/messages/${message.messageId}/deliveries`;
      return deliveriesOfMessage.answer(path, page, { limit: query.limit });
    },
  });

  addRoute({
    key: `GET ${MESSAGE_DELIVERIES}/{subscription}`,
    id: 'getDelivery',
    summary: 'Shows one delivery with its attempts, past and planned',
    answers: { 200: json('The delivery.', deliveryDetailSchema) },
    handle: async ({ params }) => {
      const { subscription: id } = params;
      const message = messageKey(params);
      const found = isSubscriptionId(id) ? await findDelivery(dependencies, message, id) : undefined;
      if (found === undefined) throw notFound('such delivery');
      const { delivery, expiresAt } = found;
      const { policy, policySource } = await findPolicy(dependencies, delivery);
      const planned = plannedAttempts(delivery, policy).filter(
        ({ dueAt }) => !isExpired({ expiresAt }, dueAt),
      );
      return jsonAnswer(deliveryDetailView({ delivery, policy, policySource, planned }));
    },
  });

  addRoute({
    key: `GET ${MESSAGE_DELIVERIES}/{subscription}/payload`,
    id: 'getPayload',
    summary: 'Shows what a subscription gets of a message',
    description:
      'Rendered by the options of the subscription as they are now, whether or not it was sent. `body` is absent while the message is not stored, and where it cannot be rendered: `fault` says why.',
    answers: { 200: json('The payload.', payloadSchema) },
    handle: async ({ params }) => {
      const { subscription: id } = params;
      const message = messageKey(params);
      const payload = isSubscriptionId(id) ? await payloadFor(dependencies, message, id) : undefined;
      if (payload === undefined) throw notFound('such message or subscription');
      return jsonAnswer(payload);
    },
  });

  addRoute({
    key: 'GET /v2/queues/{queue}/subscriptions/{subscription}/deliveries',
    id: 'listDeliveriesOfSubscription',
    summary: 'Lists all deliveries of a subscription, delivered ones too, newest message first',
    description:
      'Looks through the messages of the queue, so a page may be short, or empty, and still have a link to the next.',
    query: subscriptionDeliveriesQuery,
    answers: {
      200: withLinks(
        ['getDelivery', 'retryDelivery', 'cancelDelivery'],
        {
          message: '$response.body#/deliveries/0/messageId',
          subscription: '$request.path.subscription',
        },
        json('A page of deliveries.', deliveriesOfSubscription.schema),
      ),
    },
    handle: async ({ path, params, query: { limit, marker, deleted, ...asked } }) => {
      const { subscriptionId } = subscriptionKey(params);
      const queue = await existingQueue(dependencies, params.queue, { deleted });
      await existingSubscription(dependencies, { queue, subscriptionId }, { deleted });
      const window = { queue, ...completeWindow(asked, dependencies.clock.now()) };
      const page = await listOfSubscription(dependencies, window, subscriptionId, { limit, marker });
      const [since, until] = [timeText(window.since), timeText(window.until)];
      const items = page.items.map(({ delivery, type }) => subscriptionDeliveryView(delivery, type));
      return deliveriesOfSubscription.answer(path, { ...page, items }, { limit, since, until, deleted });
    },
  });
}

/** What the subscription as it is now gets of a message. Undefined: there is no such message or subscription. */
async function payloadFor(
  { messageRecords, payloads, registry, render }: ApiDependencies,
  message: MessageKey,
  subscriptionId: string,
): Promise<z.input<typeof payloadSchema> | undefined> {
  const [record, subscription] = await Promise.all([
    messageRecords.find(message),
    registry.findSubscription(message.queue, subscriptionId),
  ]);
  if (record === undefined || subscription === undefined) return undefined;
  const kept = record.body && (await readMessage(payloads, record.body));
  if (kept === undefined) return {};
  // The link of a confirmation request allows its holder to confirm.
  const shown = isConfirmationId(kept.id) ? { ...kept, data: withoutLink(kept.data) } : kept;
  const payload = await render(shown, subscription);
  return payload.kind === 'rendered' ? { body: payload.body.toString() } : { fault: payload.detail };
}

/** The query of the list of a queue's deliveries. */
const undeliveredQuery = windowed(
  z.strictObject({
    ...pageFields,
    ...windowFields,
    ...deletedField,
    status: z
      .enum(LISTED_STATUSES, `must be one of ${LISTED_STATUSES.join(', ')}`)
      .describe('Lists only deliveries with this status.')
      .exactOptional(),
    subscription: subscriptionIdField.describe('Lists only deliveries to this subscription.').exactOptional(),
  }),
);

const subscriptionDeliveriesQuery = windowed(
  z.strictObject({ ...pageFields, ...windowFields, ...deletedSubscriptionField }),
);

/**
 * Deliveries that are not delivered, newest first, as their records show them. The listing is eventually consistent, so
 * deliveries whose records no longer match are left out.
 * @throws InvalidMarkerError
 */
async function listUndelivered(
  { deliveryListings }: ApiDependencies,
  selection: DeliverySelection,
  request: PageRequest,
): Promise<Page<Delivery>> {
  const { items, ...rest } = await deliveryListings.newest(selection, request);
  const { deliveries, unreadable } = await deliveryListings.records(items.map(({ key }) => key));
  for (const { error } of unreadable) throw error;
  const byKey = new Map(deliveries.map((delivery) => [buildKey(delivery.key), delivery]));
  const listed = items.flatMap(({ key }) => byKey.get(buildKey(key)) ?? []);
  const isSelected = ({ status }: Delivery): boolean =>
    selection.status === undefined ? status !== 'delivered' : status === selection.status;
  return { ...rest, items: listed.filter(isSelected) };
}

function buildKey({ messageId, subscriptionId }: DeliveryKey): string {
  return `${messageId}#${subscriptionId}`;
}

/** The policy by which the next attempt is planned. */
export async function findPolicy(
  context: { registry: Pick<Registry, 'findQueue' | 'findSubscription'>; settings: RetryDefaults },
  { key, policy: kept }: Delivery,
): Promise<Pick<DeliveryDetail, 'policy' | 'policySource'>> {
  if (kept !== undefined) return { policy: kept, policySource: 'delivery' };
  const { policy, source } = policyFor(await findWithQueue(context, key), context.settings);
  return { policy, policySource: source };
}

/** `type`, and `expiresAt` in milliseconds since the epoch: of the message. */
type Found = { delivery: Delivery; type: string | undefined; expiresAt: number | undefined };

/** The most messages that a request looks through, and the most reads of the listing: it would hold the function. */
const MAX_MESSAGES = 100;
const MAX_READS = 10;

/**
 * The deliveries of a subscription in a window of messages, newest message first. A page is short if few of the messages
 * went to it.
 * @throws InvalidMarkerError
 */
async function listOfSubscription(
  context: ApiDependencies,
  window: MessageWindow,
  subscriptionId: string,
  { limit, marker: from }: PageRequest,
): Promise<Page<Found>> {
  const items: Found[] = [];
  let marker = from;
  let looked = 0;
  for (let reads = 0; reads < MAX_READS && looked < MAX_MESSAGES; reads += 1) {
    // No more messages than there is room for: only the listing can create the marker after the last of them.
    const room = limit - items.length;
    const page = await context.messageListings.newest(window, { limit: room, marker });
    const found = await Promise.all(page.items.map(({ key }) => findDelivery(context, key, subscriptionId)));
    items.push(...found.filter((one) => one !== undefined));
    looked += page.items.length;
    ({ marker } = page);
    // A short page looked through many hours.
    if (marker === undefined || items.length === limit || page.items.length < room) break;
  }
  return { items, ...(marker !== undefined && { marker }) };
}

/** A delivery with the type of its message. Undefined: there is no such delivery. */
async function findDelivery(
  { messageRecords, deliveries }: ApiDependencies,
  message: MessageKey,
  subscriptionId: string,
): Promise<Found | undefined> {
  const record = await messageRecords.find(message);
  const delivery = record && (await deliveries.find(deliveryKeyIn(record, subscriptionId)));
  return delivery && { delivery, type: record.type, expiresAt: record.accepted?.expiresAt };
}
