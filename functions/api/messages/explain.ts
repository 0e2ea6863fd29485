import * as z from 'zod';
import { sumOfCounts } from '../../../shared/domain/delivery/books.ts';
import { type Evidence, explain, type ExplainedPair } from '../../../shared/domain/delivery/explain.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import type { MessageListItem } from '../../../shared/domain/delivery/message-detail.ts';
import { filterBudget, toMatchContent } from '../../../shared/domain/message/matching.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import { computeRetention } from '../../../shared/domain/retention.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { readMessage } from '../../../shared/steps/keep-message.ts';
import {
  explainedSchema,
  type ExplainedSubscription,
  explainedView,
} from '../../../shared/wire/views/explanation.ts';
import { messageSummary, messageSummarySchema } from '../../../shared/wire/views/message.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { existingMessage } from '../existing.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { messageKey, queuePath, subscriptionIdField } from '../paths.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';
import { messageItem, wasQueueDeleted } from './messages.ts';

export function addExplainRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute({
    key: 'GET /v2/queues/{queue}/messages/{message}/explain',
    id: 'explainMessage',
    summary: 'Explains for each subscription of the queue what became of a message',
    description:
      'Deleted subscriptions that have a delivery of the message follow after the others. A page can be shorter than `limit`.',
    query: explainQuery,
    answers: { 200: json('A page of subscriptions.', explanationSchema) },
    handle: async ({ params, query }) => {
      const message = messageKey(params);
      const explained = await explainMessage(dependencies, message, query);
      if (query.subscription !== undefined && explained.page.items.length === 0)
        throw notFound('such subscription');
      const path = `${queuePath(message.queue)}/messages/${message.messageId}/explain`;
      return jsonAnswer({
        message: messageSummary(explained.message),
        subscriptions: explained.page.items.map(explainedView),
        links: nextLinks(path, explained.page, { limit: query.limit }),
      } satisfies z.input<typeof explanationSchema>);
    },
  });
}

const explainQuery = z.strictObject({
  ...pageFields,
  subscription: subscriptionIdField.describe('Explains only this subscription.').exactOptional(),
});

export const explanationSchema = z.object({
  message: messageSummarySchema,
  subscriptions: z.array(explainedSchema),
  links: linksSchema,
});

/**
 * What became of a message for the subscriptions of its queue. `subscription`: only for this one; the page is empty if
 * the queue has no such subscription and no delivery for it.
 * @throws InvalidMarkerError, RefusedRequest
 */
async function explainMessage(
  context: ApiDependencies,
  message: MessageKey,
  { subscription, ...request }: z.output<typeof explainQuery>,
): Promise<{ message: MessageListItem; page: Page<ExplainedSubscription> }> {
  const record = await existingMessage(context, message);
  const [item, { items, ...rest }] = await Promise.all([
    messageItem(context, record),
    subscription === undefined
      ? pageOfPairs(context, record, request)
      : onePair(context, record, subscription),
  ]);
  const evidence = await evidenceFor(context, record, { item, pairs: items });
  const facts = { ...record, isForOne: record.queueCreatedAt === undefined };
  const explained = items.flatMap((pair): ExplainedSubscription[] => {
    const explanation = explain(facts, pair, evidence);
    return explanation === undefined ? [] : [{ ...pair, ...explanation }];
  });
  return { message: item, page: { ...rest, items: explained } };
}

type Pair = ExplainedPair & { subscriptionId: string };

/** Reads the body only where a subscription without a delivery needs it, because it may have 1 MiB. */
async function evidenceFor(
  { registry, payloads, clock, settings }: ApiDependencies,
  record: MessageRecord,
  { item, pairs }: { item: MessageListItem; pairs: readonly Pair[] },
): Promise<Evidence> {
  const { type, body, lastSubscriptionId, matched } = record;
  const { deliveries } = item;
  const isNeeded = body !== undefined && pairs.some(({ delivery }) => delivery === undefined);
  const [message, queue] = await Promise.all([
    isNeeded ? readMessage(payloads, body) : undefined,
    registry.findQueue(record.key.queue),
  ]);
  return {
    content: message && toMatchContent({ ...(type !== undefined && { type }), data: message.data }),
    areAllRecorded:
      lastSubscriptionId === undefined ? deliveries && sumOfCounts(deliveries) >= matched : false,
    queue,
    isQueueDeleted: wasQueueDeleted(record, queue),
    budget: filterBudget(),
    now: clock.now(),
    retentionMs: computeRetention(record, settings),
  };
}

async function onePair(
  { registry, deliveries }: ApiDependencies,
  record: MessageRecord,
  subscriptionId: string,
): Promise<Page<Pair>> {
  const [subscription, delivery] = await Promise.all([
    registry.findSubscription(record.key.queue, subscriptionId),
    deliveries.find(deliveryKeyIn(record, subscriptionId)),
  ]);
  return { items: [{ subscriptionId, subscription, delivery }] };
}

/** Marks the pages after the last subscription. A marker of a listing is base64url and contains no dot. */
const REMOVED = 'removed.';

/** The subscriptions in the order of their list, then the deliveries of removed ones. */
async function pageOfPairs(
  context: ApiDependencies,
  record: MessageRecord,
  { limit, marker }: PageRequest,
): Promise<Page<Pair>> {
  if (marker?.startsWith(REMOVED) === true)
    return removedPairs(context, record, { limit, marker: marker.slice(REMOVED.length) }, []);
  const { registry, deliveries } = context;
  const page = await registry.listSubscriptions(record.key.queue, { limit, marker });
  const pairs = await Promise.all(
    page.items.map(async (subscription): Promise<Pair> => {
      const { id: subscriptionId } = subscription;
      const delivery = await deliveries.find(deliveryKeyIn(record, subscriptionId));
      return { subscriptionId, subscription, delivery };
    }),
  );
  const items = pairs.filter(
    ({ subscription, delivery }) => subscription?.deletedAt === undefined || delivery !== undefined,
  );
  if (page.marker !== undefined) return { items, marker: page.marker };
  if (items.length >= limit) return { items, marker: REMOVED };
  const removed = await removedPairs(context, record, { limit: limit - items.length }, pairs);
  return { ...removed, items: [...items, ...removed.items] };
}

/** The deliveries without a subscription on a page of the message's deliveries. `known`: subscriptions that exist. */
async function removedPairs(
  { registry, deliveryListings }: ApiDependencies,
  record: MessageRecord,
  { limit, marker }: PageRequest,
  known: readonly Pair[],
): Promise<Page<Pair>> {
  const from = marker === '' ? undefined : marker;
  const page = await deliveryListings.ofMessage(record, { limit, marker: from });
  const isKnown = new Set(known.map(({ subscriptionId }) => subscriptionId));
  const items = await Promise.all(
    page.items
      .filter(({ key }) => !isKnown.has(key.subscriptionId))
      .map(async (delivery): Promise<Pair[]> => {
        const { queue, subscriptionId } = delivery.key;
        const subscription = await registry.findSubscription(queue, subscriptionId);
        return subscription === undefined ? [{ subscriptionId, subscription, delivery }] : [];
      }),
  );
  return {
    items: items.flat(),
    ...(page.marker !== undefined && { marker: `${REMOVED}${page.marker}` }),
  };
}
