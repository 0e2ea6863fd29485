import {
  NO_DELIVERIES,
  type StatusCounts,
  sumOfStatusCounts,
} from '../../../shared/domain/delivery/books.ts';
import { toBucketRange } from '../../../shared/domain/delivery/fan-out.ts';
import { isOfQueue } from '../../../shared/domain/delivery/recreated-queue.ts';
import type { MessageDetail, MessageListItem } from '../../../shared/domain/delivery/message-detail.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';
import type { EventFault } from '../../../shared/domain/event-type/event-fault.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import { withoutLink } from '../../../shared/domain/message/confirmation-request.ts';
import { type MessageKey, toMessageId } from '../../../shared/domain/message/message.ts';
import type { TraceContext } from '../../../shared/domain/message/trace-context.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import {
  isPresent,
  type Queue,
  type Subscription,
} from '../../../shared/domain/subscription/subscription.ts';
import type { DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type { MessageRecord, MessageWindow } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import { checkEvent } from '../../../shared/steps/check-event.ts';
import { readMessage } from '../../../shared/steps/keep-message.ts';
import { spliceRaw } from '../../../shared/wire/json-slice.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { existingMessage } from '../existing.ts';
import { toPostRules } from '../queues/post-rules.ts';
import { MAX_MESSAGE_BYTES } from '../request-json.ts';

/** A checked message. `ttl` and `delay` are seconds. */
export type PostedMessage = {
  id?: string;
  type?: string;
  /** The source text of its JSON value. */
  data: string;
  ttl?: number;
  delay?: number;
};

/**
 * Sends messages to the ingress queue like any producer, and creates the queue if it is missing, as Zaqar does. The
 * metadata of the queue supplies missing ttls and delays. `bytes`: the size of the request. `trace`: what it is part of.
 * Returns the ids of the messages' records, in the order of the request, and whether no subscription can match them.
 * @throws RefusedRequest `too_large`; `invalid_request` where the catalogue refuses a message; or when some could not be sent. In a repeat with the same ids, those already sent count as duplicates.
 */
export async function publish(
  context: ApiDependencies,
  queue: string,
  {
    messages,
    bytes,
    trace,
  }: { messages: readonly PostedMessage[]; bytes: number; trace?: TraceContext | undefined },
): Promise<{ ids: string[]; hasNoSubscription: boolean }> {
  const { registry, clock } = context;
  const [found, isUnsubscribed] = await Promise.all([
    registry.findQueue(queue),
    hasNoSubscription(context, queue),
  ]);
  const { metadata } = found ?? { metadata: {} };
  const rules = toPostRules(metadata);
  const { _default_message_ttl: ttl, _default_message_delay: delay, _max_messages_post_size: most } = rules;
  if (most !== undefined && bytes > most)
    throw new RefusedRequest('too_large', `the queue accepts posts of at most ${most} bytes`);
  const named = messages.map((message) => ({
    ...(ttl === undefined ? {} : { ttl }),
    ...(delay === undefined ? {} : { delay }),
    ...message,
    id: message.id ?? context.newId(),
  }));
  // The wire form of the ingress queue (docs/ingress.md#own-form); the data is inserted as its source text.
  const bodies = named.map(({ id, type, ttl, delay, data }) =>
    spliceRaw({ queue, id, type, ttl, delay }, 'data', data),
  );
  const mostBytes = MAX_MESSAGE_BYTES - (trace === undefined ? 0 : TRACE_BYTES);
  const index = bodies.findIndex((body) => Buffer.byteLength(body) > mostBytes);
  if (index !== -1) throw tooLarge(index);
  await refuseInvalid(context, { name: queue, metadata }, messages);
  if (found === undefined) await registry.ensureQueue({ name: queue, metadata: {}, createdAt: clock.now() });
  // Fair SQS queues: the group keeps a busy queue from delaying the messages of others.
  await context.ingress.publish(
    bodies.map((body) => ({ body, group: queue, ...(trace && { attributes: trace }) })),
  );
  return { ids: named.map((message) => toMessageId(message).id), hasNoSubscription: isUnsubscribed };
}

/** Only where the queue rejects what the catalogue refuses. @throws RefusedRequest `invalid_request` */
async function refuseInvalid(
  { eventChecks, settings }: ApiDependencies,
  { name: queue, metadata }: Pick<Queue, 'name' | 'metadata'>,
  messages: readonly PostedMessage[],
): Promise<void> {
  if ((queueMember('_event_validation', metadata) ?? settings.eventValidation) !== 'reject') return;
  const checked = await Promise.all(
    messages.map((message) => checkEvent(eventChecks, { ...message, queue })),
  );
  const faults = checked.flatMap((event, index) =>
    event.kind === 'invalid' ? [fieldFault(event.fault, `messages[${index}]`)] : [],
  );
  if (faults.length > 0) throw invalidFields(faults);
}

function fieldFault({ reason, path = '', detail = '' }: EventFault, message: string): FieldError {
  switch (reason) {
    case 'unknown_event_type':
      return { field: `${message}.type`, message: 'is not in the catalogue of event types of the queue' };
    case 'event_invalid':
      return { field: `${message}.body${path}`, message: detail };
  }
}

/** False where a message may match. Reads one subscription, because a list may be long. */
async function hasNoSubscription(
  { registry, clock }: Pick<ApiDependencies, 'registry' | 'clock'>,
  queue: string,
): Promise<boolean> {
  const { items, marker } = await registry.listSubscriptions(queue, { limit: 1 });
  const isActive = (subscription: Subscription): boolean =>
    isPresent(subscription, clock.now()) && subscription.unconfirmed === undefined;
  return marker === undefined && !items.some(isActive);
}

function tooLarge(index: number): RefusedRequest {
  return new RefusedRequest('too_large', `messages[${index}] does not fit into an SQS message of 1 MiB`, [
    { field: `messages[${index}].body`, message: 'is too large' },
  ]);
}

/** The names, types and values of both attributes at their longest: SQS counts them as part of the message. */
const TRACE_BYTES = 600;

/** A message with the states of its deliveries. @throws RefusedRequest `not_found` */
export async function messageDetail(context: ApiDependencies, message: MessageKey): Promise<MessageDetail> {
  const { registry, payloads, deliveryListings } = context;
  const [record, queue] = await Promise.all([
    existingMessage(context, message),
    registry.findQueue(message.queue),
  ]);
  const { body } = record;
  const [{ counts: deliveries, next }, kept] = await Promise.all([
    countDeliveries(deliveryListings, record, undefined),
    body && readMessage(payloads, body),
  ]);
  const data = kept && isConfirmationId(message.messageId) ? withoutLink(kept.data) : kept?.data;
  const isQueueDeleted = wasQueueDeleted(record, queue);
  return { ...record, isQueueDeleted, deliveries, areAllCounted: next === undefined, data };
}

/** Whether the queue that accepted a message was deleted. `queue`: the one that has its name now. */
export function wasQueueDeleted(record: MessageRecord, queue: Queue | undefined): boolean {
  return queue === undefined || !isOfQueue(record, queue.createdAt);
}

/** Messages of a page: each takes three calls to DynamoDB. */
const MAX_LISTED = 50;

/**
 * The messages of a window, newest first, at most 50. Counts deliveries only for messages with few of them: a page of messages with
 * ten thousand subscriptions each would read a million records.
 * @throws InvalidMarkerError
 */
export async function listMessages(
  context: ApiDependencies,
  window: MessageWindow,
  request: PageRequest,
): Promise<Page<MessageListItem>> {
  const limit = Math.min(request.limit, MAX_LISTED);
  const page = await context.messageListings.newest(window, { ...request, limit });
  const items = await Promise.all(
    page.items.map(async ({ key }) => {
      const record = await context.messageRecords.find(key);
      return record && messageItem(context, record);
    }),
  );
  // The listing is eventually consistent: a record may have expired.
  return { ...page, items: items.filter((item) => item !== undefined) };
}

/** A message with the states of its deliveries, where they are few. */
export async function messageItem(
  { deliveryListings }: ApiDependencies,
  record: MessageRecord,
): Promise<MessageListItem> {
  const { first, end } = toBucketRange(record);
  const isShort = end - first === 1;
  const deliveries = isShort ? await deliveryListings.tally(record) : undefined;
  return { ...record, deliveries, bodyKept: record.body !== undefined };
}

/**
 * Erases the stored data of a message permanently, so that it can be neither retried nor recovered. Marks the record
 * first: from then on no function stores the data again. A repeat completes an interrupted erasure.
 */
export async function eraseBody(
  { messageRecords, payloads, clock }: Pick<ApiDependencies, 'messageRecords' | 'payloads' | 'clock'>,
  message: MessageKey,
): Promise<'erased' | 'no_such_message'> {
  const record = await messageRecords.eraseBody(message, clock.now());
  if (record === undefined) return 'no_such_message';
  await payloads.removeAll(message);
  return 'erased';
}

/** Buckets of a message that a request counts: some 10,000 deliveries. More would hold the function. */
export const MAX_COUNTED_BUCKETS = 40;

/** `next`: the first bucket that is not counted; undefined: all are. */
export type DeliveryCount = { counts: StatusCounts; next?: number };

/** Counts the deliveries of a message, or goes on after `from`. */
export async function countDeliveries(
  listings: Pick<DeliveryListings, 'tally'>,
  message: MessageRecord,
  from: { counts: StatusCounts; next: number } | undefined,
): Promise<DeliveryCount> {
  const all = toBucketRange(message);
  const first = Math.max(all.first, from?.next ?? 0);
  const end = Math.min(all.end, first + MAX_COUNTED_BUCKETS);
  const counts = sumOfStatusCounts(
    from?.counts ?? NO_DELIVERIES,
    await listings.tally(message, { first, end }),
  );
  return end < all.end ? { counts, next: end } : { counts };
}
