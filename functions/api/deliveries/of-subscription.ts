import * as z from 'zod';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type { MessageWindow } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { subscriptionDeliverySchema } from '../../../shared/wire/views/delivery.ts';
import { subscriptionDeliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { deletedSubscriptionField, existingQueue, existingSubscription } from '../existing.ts';
import { completeWindow, isOrderedWindow, WINDOW_ORDER_ERROR, windowFields } from '../fields.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { subscriptionKey } from '../paths.ts';
import { type AddRoute, json, jsonAnswer, withLinks } from '../route.ts';

export function addSubscriptionDeliveriesRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/{queue}/subscriptions/{subscription}/deliveries',
      id: 'listDeliveriesOfSubscription',
      tag: 'deliveries',
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
          json('A page of deliveries.', subscriptionDeliveriesSchema),
        ),
      },
    },
    async ({ path, params, query: { limit, marker, deleted, ...asked } }) => {
      const { subscriptionId } = subscriptionKey(params);
      const queue = await existingQueue(dependencies, params.queue, { deleted });
      await existingSubscription(dependencies, { queue, subscriptionId }, { deleted });
      const window = { queue, ...completeWindow(asked, dependencies.clock.now()) };
      const page = await listOfSubscription(dependencies, window, subscriptionId, { limit, marker });
      const [since, until] = [timeText(window.since), timeText(window.until)];
      return jsonAnswer({
        deliveries: page.items.map(({ delivery, type }) => subscriptionDeliveryView(delivery, type)),
        links: nextLinks(path, page, { limit, since, until, deleted }),
      } satisfies z.input<typeof subscriptionDeliveriesSchema>);
    },
  );
}

const subscriptionDeliveriesQuery = z
  .strictObject({ ...pageFields, ...windowFields, ...deletedSubscriptionField })
  .refine(isOrderedWindow, WINDOW_ORDER_ERROR);

const subscriptionDeliveriesSchema = z.object({
  deliveries: z.array(subscriptionDeliverySchema),
  links: linksSchema,
});

/** `type`: of the message. */
type Found = { delivery: Delivery; type: string | undefined };

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
    const found = await Promise.all(
      page.items.map(({ key }) => findOfSubscription(context, key, subscriptionId)),
    );
    items.push(...found.filter((one) => one !== undefined));
    looked += page.items.length;
    ({ marker } = page);
    // A short page looked through many hours.
    if (marker === undefined || items.length === limit || page.items.length < room) break;
  }
  return { items, ...(marker !== undefined && { marker }) };
}

async function findOfSubscription(
  { messageRecords, deliveries }: ApiDependencies,
  message: MessageKey,
  subscriptionId: string,
): Promise<Found | undefined> {
  const record = await messageRecords.find(message);
  const delivery = record && (await deliveries.find(deliveryKeyIn(record, subscriptionId)));
  return delivery && { delivery, type: record.type };
}
