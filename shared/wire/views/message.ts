import * as z from 'zod';
import type { MessageDetail, MessageListItem } from '../../domain/delivery/message-detail.ts';
import { eventFaultSchema } from '../../domain/event-type/event-fault.ts';
import { STATUSES, toRecord } from '../../domain/delivery/vocabulary.ts';
import { timeText, timeView } from '../fields.ts';
import { spliceRaw } from '../json-slice.ts';

const count = z.int().min(0);

/** A message with the status counts of its deliveries, and its data while that is kept. */
export const messageViewSchema = z.object({
  queue: z.string(),
  id: z.string(),
  type: z.string().exactOptional(),
  acceptedAt: timeView,
  /** Repeated sends of the message. */
  duplicates: count,
  /** Subscriptions that matched when it was accepted, or that it was sent to by hand. */
  matched: count,
  filtered: count,
  /** Dispatch has not yet sent it to all subscriptions: `matched` and `filtered` still grow. */
  unfinished: z.literal(true).exactOptional(),
  /** Recorded deliveries. */
  deliveries: z.object(toRecord(STATUSES, () => count)),
  /** Of many deliveries only some 10,000 are counted: there are more than `deliveries` says. */
  deliveriesAtLeast: z.literal(true).exactOptional(),
  /** Why the catalogue of event types refuses it. `path`: JSON Pointer of the first fault in its data. */
  eventFault: eventFaultSchema.exactOptional(),
  bodyKept: z.boolean(),
  erasedAt: timeView.exactOptional(),
  /** The queue that accepted it was deleted, and perhaps made again. A copy that is sent now is no duplicate. */
  queueDeleted: z.literal(true).exactOptional(),
  /** The data as published. */
  body: z.unknown().exactOptional(),
});

/** A message in a listing. `deliveries`: absent if more than 250 are recorded; the single message shows them. */
export const messageSummarySchema = messageViewSchema
  .omit({ body: true, deliveries: true, deliveriesAtLeast: true, queueDeleted: true })
  .extend({ deliveries: messageViewSchema.shape.deliveries.exactOptional() });

type MessageSummary = z.infer<typeof messageSummarySchema>;

export function messageSummary({ key, acceptedAt, erasedAt, ...item }: MessageListItem): MessageSummary {
  const { type, duplicates, matched, filtered, deliveries, bodyKept, lastSubscriptionId, eventFault } = item;
  return {
    queue: key.queue,
    id: key.messageId,
    ...(type === undefined ? {} : { type }),
    acceptedAt: timeText(acceptedAt),
    duplicates,
    matched,
    filtered,
    ...(lastSubscriptionId === undefined ? {} : { unfinished: true }),
    ...(deliveries === undefined ? {} : { deliveries }),
    ...(eventFault === undefined ? {} : { eventFault }),
    bodyKept,
    ...(erasedAt === undefined ? {} : { erasedAt: timeText(erasedAt) }),
  };
}

/** The message as JSON text; its data is inserted byte for byte, without reserialising. */
export function encodeMessageView({ data, areAllCounted, isQueueDeleted, ...detail }: MessageDetail): string {
  const view = {
    ...messageSummary({ ...detail, bodyKept: data !== undefined }),
    ...(areAllCounted ? {} : { deliveriesAtLeast: true }),
    ...(isQueueDeleted ? { queueDeleted: true } : {}),
  };
  return data === undefined ? JSON.stringify(view) : spliceRaw(view, 'body', data);
}

/** What a subscription gets of a message (docs/api.md#what-became-of-a-message). Empty while the message is not stored. */
export const payloadSchema = z.object({
  /** The request body, as text. */
  body: z.string().exactOptional(),
  /** Why the message cannot be rendered for the subscription. */
  fault: z.string().exactOptional(),
});
