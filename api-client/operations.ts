import * as z from 'zod';
import {
  archivedQueueSchema,
  archivedSubscriptionSchema,
  restoredQueueSchema,
} from '../shared/wire/views/archive.ts';
import { booksViewSchema } from '../shared/wire/views/books.ts';
import {
  deliveryDetailSchema,
  deliverySummarySchema,
  deliveryViewSchema,
  subscriptionDeliverySchema,
} from '../shared/wire/views/delivery.ts';
import { eventTypeViewSchema } from '../shared/wire/views/event-type.ts';
import { explainedSchema } from '../shared/wire/views/explanation.ts';
import { messageSummarySchema, messageViewSchema, payloadSchema } from '../shared/wire/views/message.ts';
import { portalLinkSchema } from '../shared/wire/views/portal.ts';
import {
  recoveryOutcomesViewSchema,
  recoveryViewSchema,
  toRecoveryOutcomes,
} from '../shared/wire/views/recovery.ts';
import { statisticsViewSchema } from '../shared/wire/views/statistics.ts';
import {
  changedSubscriptionSchema,
  pausableQueueSchema,
  pausedViewSchema,
  stoppedQueueSchema,
  stoppedSubscriptionSchema,
  subscribedSchema,
  subscriptionViewSchema,
  waitingSchema,
} from '../shared/wire/views/subscription.ts';
import { type ListedPage, operation } from './api-client.ts';
import { refusalSchema } from './refusal.ts';

// The operations of the OpenAPI document that the command and the console use. What a request takes is in openapi.d.ts.

const links = z.array(z.object({ rel: z.string(), href: z.string() })).default([]);

/** A page of items, which have this name in the answer. */
function listing<Name extends string, Item, Given>(
  name: Name,
  item: z.ZodType<Item, Given>,
): z.ZodType<ListedPage<Item>, Record<Name, Given[]> & { links?: z.input<typeof links> }>;
function listing(name: string, item: z.ZodType): z.ZodType<{ items: unknown[] }> {
  const page = z.object({ [name]: z.array(item), links });
  return page.transform(({ [name]: items = [], ...more }) => ({ items, ...more }));
}

const nothing = z.unknown().transform(() => undefined);
const repeatable = { repeatable: true };

const SUBSCRIPTION = '/v2/queues/{queue}/subscriptions/{subscription}';
const MESSAGE = '/v2/queues/{queue}/messages/{message}';
const DELIVERY = `${MESSAGE}/deliveries/{subscription}` as const;

export const ping = operation('GET /v2/ping', nothing);

/** Status 503 is a report as well, of a failing deployment. */
export const readHealth = operation(
  'GET /v2/health',
  z.object({
    status: z.enum(['ok', 'failing']),
    checks: z.record(z.string(), z.enum(['ok', 'failing'])),
    /** Approximate number of messages per queue; absent if they could not be counted. */
    queues: z.record(z.string(), z.number()).exactOptional(),
    /** Further messages per queue, which are not visible yet. */
    delayed: z.record(z.string(), z.number()).exactOptional(),
    /** Overdue retries, at most 1000; absent if they could not be counted. */
    overdue: z.number().exactOptional(),
    /** How long messages stay on record; absent from earlier deployments. */
    retentionDays: z.number().exactOptional(),
  }),
  { accept: 503 },
);
export type Health = z.output<typeof readHealth.schema>;

const metadata = z.record(z.string(), z.unknown());

/** Give `detailed`, or the metadata is empty. */
export const listQueues = operation(
  'GET /v2/queues',
  z
    .object({
      queues: z.array(
        z.object({
          name: z.string(),
          metadata: metadata.default({}),
          paused: pausedViewSchema.exactOptional(),
        }),
      ),
      links,
      count: z.int().exactOptional(),
    })
    .transform(({ queues: items, ...page }) => ({ items, ...page })),
);
export type ListedQueue = z.output<typeof listQueues.schema>['items'][number];
export const getQueue = operation('GET /v2/queues/{queue}', metadata);
export const putQueue = operation('PUT /v2/queues/{queue}', nothing);
export const patchQueue = operation('PATCH /v2/queues/{queue}', metadata, {
  contentType: 'application/json-patch+json',
});
export const deleteQueue = operation('DELETE /v2/queues/{queue}', nothing);
/** Deleted queues that can be restored. */
export const listArchivedQueues = operation(
  'GET /v2/archived-queues',
  listing('queues', archivedQueueSchema),
);
export const createPortalLink = operation('POST /v2/queues/{queue}/portal-links', portalLinkSchema);
export const endPortalSessions = operation('DELETE /v2/queues/{queue}/portal-links/{session}', nothing);
export const restoreQueue = operation('POST /v2/queues/{queue}/restore', restoredQueueSchema);
export const readBooks = operation('GET /v2/queues/{queue}/books', booksViewSchema.extend({ links }));
export const getStatistics = operation('GET /v2/queues/{queue}/statistics', statisticsViewSchema);

export const listSubscriptions = operation(
  'GET /v2/queues/{queue}/subscriptions',
  listing('subscriptions', subscriptionViewSchema),
);
export const getSubscription = operation(`GET ${SUBSCRIPTION}`, subscriptionViewSchema);
export const subscribe = operation('POST /v2/queues/{queue}/subscriptions', subscribedSchema);
export const updateSubscription = operation(`PATCH ${SUBSCRIPTION}`, changedSubscriptionSchema);
export const enableSubscription = operation(
  `POST ${SUBSCRIPTION}/enable`,
  subscriptionViewSchema,
  repeatable,
);
export const disableSubscription = operation(
  `POST ${SUBSCRIPTION}/disable`,
  subscriptionViewSchema.extend({
    /** Absent from earlier deployments. */
    requests_end_within_seconds: z.int().exactOptional(),
  }),
  repeatable,
);
/** What stopped requests says. */
export type Stopped = Pick<z.output<typeof disableSubscription.schema>, 'requests_end_within_seconds'>;

/** `requests_end_within_seconds`: by then the last request has ended. */
export const pauseSubscription = operation(
  `POST ${SUBSCRIPTION}/pause`,
  stoppedSubscriptionSchema,
  repeatable,
);
export const resumeSubscription = operation(
  `POST ${SUBSCRIPTION}/resume`,
  subscriptionViewSchema,
  repeatable,
);
export type WaitingCount = z.output<typeof waitingSchema>;
export const countWaitingOfSubscription = operation(`GET ${SUBSCRIPTION}/waiting`, waitingSchema);
export const pauseQueue = operation('POST /v2/queues/{queue}/pause', stoppedQueueSchema, repeatable);
export const resumeQueue = operation('POST /v2/queues/{queue}/resume', pausableQueueSchema, repeatable);
export const countWaitingOfQueue = operation('GET /v2/queues/{queue}/waiting', waitingSchema);
export const unsubscribe = operation(`DELETE ${SUBSCRIPTION}`, nothing);
/** Deleted subscriptions of a queue that can be restored. */
export const listArchivedSubscriptions = operation(
  'GET /v2/queues/{queue}/archived-subscriptions',
  listing('subscriptions', archivedSubscriptionSchema),
);
export const restoreSubscription = operation(`POST ${SUBSCRIPTION}/restore`, subscriptionViewSchema);
export const rotateSecret = operation(
  `POST ${SUBSCRIPTION}/secret/rotate`,
  z.looseObject({
    secret: z.string().exactOptional(),
    publicKey: z.string().exactOptional(),
    previousExpiresAt: z.string().nullable().exactOptional(),
  }),
);
export const rotatePullToken = operation(
  `POST ${SUBSCRIPTION}/pull-token`,
  z.object({ token: z.string(), previousExpiresAt: z.string().exactOptional() }),
);
export const testSubscription = operation(
  `POST ${SUBSCRIPTION}/test`,
  z.object({ delivery: deliveryViewSchema }),
);

/** JSON lines, and a link to the next page in the header `link`. */
export const exportSubscriptions = operation('GET /v2/queues/{queue}/export', nothing);
export const exportCredentials = operation('POST /v2/credentials/{queue}', nothing);
/** Idempotent, but a repeated request returns no secrets of subscriptions that the first one created. */
export const importSubscriptions = operation(
  'POST /v2/queues/{queue}/import',
  z.object({
    subscriptions: z.array(
      subscribedSchema.extend({ line: z.int(), result: z.enum(['imported', 'replaced', 'unchanged']) }),
    ),
    failed: z.array(refusalSchema.extend({ line: z.int() })),
  }),
  { contentType: 'application/jsonl', repeatable: true },
);
export type Imported = z.output<typeof importSubscriptions.schema>;

/** Give every message an id: the request may be repeated, and only messages with ids are recognised as duplicates. */
export const postMessages = operation(
  'POST /v2/queues/{queue}/messages',
  z.object({ ids: z.array(z.string()), noSubscription: z.literal(true).exactOptional() }),
  repeatable,
);
export const listMessages = operation(
  'GET /v2/queues/{queue}/messages',
  listing('messages', messageSummarySchema),
);
export type ListedMessage = z.output<typeof messageSummarySchema>;
export const getMessage = operation(`GET ${MESSAGE}`, messageViewSchema);
export const explainMessage = operation(
  `GET ${MESSAGE}/explain`,
  z
    .object({ message: messageSummarySchema, subscriptions: z.array(explainedSchema), links })
    .transform(({ subscriptions: items, ...page }) => ({ items, ...page })),
);
/** What became of a message for one subscription. */
export type Explained = z.output<typeof explainedSchema>;
export const getPayload = operation(`GET ${DELIVERY}/payload`, payloadSchema);
export const eraseBody = operation(`DELETE ${MESSAGE}/body`, nothing);

/** Open and failed deliveries of a queue, newest first. */
export const listDeliveries = operation(
  'GET /v2/queues/{queue}/deliveries',
  listing('deliveries', deliverySummarySchema),
);
export type ListedDelivery = z.output<typeof deliverySummarySchema>;
/** All deliveries of a subscription, including delivered ones, newest message first. */
export const listDeliveriesOfSubscription = operation(
  `GET ${SUBSCRIPTION}/deliveries`,
  listing('deliveries', subscriptionDeliverySchema),
);
/** All deliveries of a message, including delivered ones. */
export const listDeliveriesOfMessage = operation(
  `GET ${MESSAGE}/deliveries`,
  listing('deliveries', deliveryViewSchema),
);
export const getDelivery = operation(`GET ${DELIVERY}`, deliveryDetailSchema);
export type DeliveryDetail = z.output<typeof deliveryDetailSchema>;
/** Sent once, as is sendDelivery: a repeated request could open a second round if the first one has already ended. */
export const retryDelivery = operation(`POST ${DELIVERY}/retry`, deliveryViewSchema);
export const sendDelivery = operation(`POST ${DELIVERY}/send`, deliveryViewSchema);
export const cancelDelivery = operation(`POST ${DELIVERY}/cancel`, deliveryViewSchema);

export const startRecovery = operation('POST /v2/queues/{queue}/recoveries', recoveryViewSchema);
export const listRecoveries = operation(
  'GET /v2/queues/{queue}/recoveries',
  listing('recoveries', recoveryViewSchema),
);
export const getRecovery = operation('GET /v2/queues/{queue}/recoveries/{recovery}', recoveryViewSchema);
export const readRecoveryOutcomes = operation(
  'GET /v2/queues/{queue}/recoveries/{recovery}/outcomes',
  z.object({
    known: z.boolean(),
    subscriptions: z.array(recoveryOutcomesViewSchema.transform(toRecoveryOutcomes)),
    links,
  }),
);
export const stopRecovery = operation('DELETE /v2/queues/{queue}/recoveries/{recovery}', nothing);

const eventTypes = listing('event_types', eventTypeViewSchema);

export const listEventTypes = operation('GET /v2/event-types', eventTypes);
export const getEventType = operation('GET /v2/event-types/{type}', eventTypeViewSchema);
export const putEventType = operation('PUT /v2/event-types/{type}', eventTypeViewSchema);
export const deleteEventType = operation('DELETE /v2/event-types/{type}', nothing);
/** Those that the queue sees. */
export const listEventTypesOfQueue = operation('GET /v2/queues/{queue}/event-types', eventTypes);
export const getEventTypeOfQueue = operation(
  'GET /v2/queues/{queue}/event-types/{type}',
  eventTypeViewSchema,
);
