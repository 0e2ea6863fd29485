import * as z from 'zod';
import { contended, withRetriedWrites } from '../../../shared/domain/contention.ts';
import {
  type Chunk,
  type ChunkTransition,
  deliveryIn,
  isSuccess,
  removeMember,
  removeMemberBeforeClaim,
} from '../../../shared/domain/delivery/chunk.ts';
import {
  type ChunkKey,
  type Creation,
  type Delivery,
  type DeliveryKey,
  nameOfDelivery,
  type Transition,
} from '../../../shared/domain/delivery/delivery.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type { Chunks, Deliveries, NamedDeliveries, WriteResult } from '../../../shared/ports/deliveries.ts';
import type { MessageWindow } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { subscriptionDeliverySchema } from '../../../shared/wire/views/delivery.ts';
import { subscriptionDeliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { deletedSubscriptionField, existingQueue, existingSubscription } from '../existing.ts';
import { completeWindow, isOrderedWindow, WINDOW_ORDER_ERROR, windowFields } from '../fields.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { queuePath, subscriptionKey } from '../paths.ts';
import { parseWith } from '../request-json.ts';
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
    async (context) => {
      const { limit, marker, deleted, ...asked } = parseWith(subscriptionDeliveriesQuery, context.query);
      const { subscriptionId } = subscriptionKey(context.params);
      const queue = await existingQueue(dependencies, context.params.queue, { deleted });
      await existingSubscription(dependencies, { queue, subscriptionId }, { deleted });
      const window = { queue, ...completeWindow(asked, dependencies.clock.now()) };
      const page = await listOfSubscription(dependencies, window, subscriptionId, { limit, marker });
      const [since, until] = [timeText(window.since), timeText(window.until)];
      const path = `${queuePath(queue)}/subscriptions/${subscriptionId}/deliveries`;
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

type Records = { deliveries: Deliveries; chunks: Chunks };

/**
 * The deliveries port for callers that name a delivery: finds it in a separate record or in its chunk. Before a change,
 * it moves a delivery in a chunk to a separate record in one transaction, so that none is stored twice.
 */
export function chunkedDeliveries(records: Records): NamedDeliveries {
  const { deliveries } = records;
  return {
    find: async (key) => (await deliveries.find(key)) ?? (await findInChunk(records, key)),
    write: (transition) =>
      transition.key.chunk === undefined
        ? deliveries.write(transition)
        : writeTransition(records, transition),
    add: (delivery) => addDelivery(records, delivery),
    overdue: (before, limit) => deliveries.overdue(before, limit),
    waiting: (subscription, before, limit) => deliveries.waiting(subscription, before, limit),
  };
}

function writeTransition(records: Records, transition: Transition): Promise<WriteResult> {
  return withRetriedWrites(
    () => ('create' in transition ? createRecord(records, transition) : updateRecord(records, transition)),
    contended(nameOfDelivery(transition.key)),
  );
}

async function updateRecord(records: Records, transition: Transition): Promise<WriteResult | 'again'> {
  const result = await records.deliveries.write(transition);
  if (result.kind === 'written' || result.current !== undefined) return result;
  const found = await readChunk(records, transition.key);
  if (found?.delivery === undefined) return result;
  const { chunk, delivery } = found;
  const { subscriptionId } = delivery.key;
  const state = chunk.members?.get(subscriptionId);
  const removal = removeMember(chunk.key, subscriptionId, isSuccess(state) ? state : 'pending', delivery);
  await records.chunks.takeOut(removal, delivery);
  return 'again';
}

function createRecord(records: Records, transition: Creation): Promise<WriteResult | 'again'> {
  const { deliveries, chunks } = records;
  const { create } = transition;
  return createOnce(records, create, async (exclusion) => {
    if (exclusion === undefined) return deliveries.write(transition);
    const isWritten = (await chunks.takeOut(exclusion, create)) === 'taken_out';
    return isWritten ? { kind: 'written', delivery: create } : 'again';
  });
}

function addDelivery(records: Records, delivery: Delivery): Promise<WriteResult> {
  const add = (): Promise<WriteResult | 'again'> =>
    createOnce(records, delivery, async (exclusion) =>
      (await records.chunks.add(delivery, exclusion)) === 'added' ? { kind: 'written', delivery } : 'again',
    );
  return withRetriedWrites(add, contended(nameOfDelivery(delivery.key)));
}

/**
 * Creates a separate record unless the delivery exists. `exclusion`: marks that in its chunk if the chunk is not
 * claimed yet; the claim then skips it.
 */
async function createOnce(
  records: Records,
  delivery: Delivery,
  create: (exclusion: ChunkTransition | undefined) => Promise<WriteResult | 'again'>,
): Promise<WriteResult | 'again'> {
  const { key } = delivery;
  const current = await records.deliveries.find(key);
  if (current !== undefined) return { kind: 'refused', current };
  const found = await readChunk(records, key);
  if (found?.delivery !== undefined) return { kind: 'refused', current: found.delivery };
  const place = toChunkKey(key);
  return create(
    place === undefined || found?.chunk.members !== undefined
      ? undefined
      : removeMemberBeforeClaim(place, key.subscriptionId, delivery),
  );
}

/** Reads the separate record again, because the delivery may have left its chunk since the first read. */
async function findInChunk(records: Records, key: DeliveryKey): Promise<Delivery | undefined> {
  const found = await readChunk(records, key);
  return found && (found.delivery ?? (await records.deliveries.find(key)));
}

async function readChunk(
  { chunks }: Records,
  key: DeliveryKey,
): Promise<{ chunk: Chunk; delivery: Delivery | undefined } | undefined> {
  const place = toChunkKey(key);
  const chunk = place && (await chunks.find(place));
  if (chunk === undefined) return undefined;
  const delivery = deliveryIn(chunk, key.subscriptionId);
  return { chunk, delivery: delivery && { ...delivery, key } };
}

function toChunkKey({ queue, messageId, bucket, chunk }: DeliveryKey): ChunkKey | undefined {
  return chunk === undefined ? undefined : { queue, messageId, bucket, chunk };
}
