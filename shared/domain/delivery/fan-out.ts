import { createHash } from 'node:crypto';
import type { MessageKey } from '../message/message.ts';
import type { DeliveryKey } from './delivery.ts';

/**
 * Partition keys of a message's deliveries, from `firstBucket` (0) on. `chunks`: chunks per bucket; none: each
 * delivery has a separate record.
 */
export type Buckets = { buckets: number; firstBucket?: number; chunks?: number };

/**
 * Subscriptions after an id, up to the next part; read, matched and sent together. `listedAt`: when they were read,
 * or when the message was accepted, if that was earlier.
 */
export type Part = Buckets & { after?: string; listedAt: number };

/** Any part except the first. */
export type LaterPart = Part & { after: string };

/**
 * A message and where its deliveries are stored: those of the first part and of `parts`. `lastSubscriptionId`: the last
 * subscription sent to, while more may follow.
 */
export type FanOut = { key: MessageKey; parts?: readonly LaterPart[]; lastSubscriptionId?: string } & Buckets;

/**
 * Maximum concurrent attempts of one deliver invocation: jobs per batch times attempts per job. Each uses one file
 * descriptor at a time. A function has 1,024 (AWS Lambda developer guide, "Lambda quotas"); idle connections use up
 * to 400: 100 to subscribers and 50 to each AWS service.
 */
export const MAX_CONCURRENT_ATTEMPTS = 500;

/** Timeout of dispatch. Enough for a fan-out to thousands of subscriptions: hundreds of batches sent in parallel. */
export const DISPATCH_TIMEOUT_SECONDS = 30;

/** Deliveries per partition key: DynamoDB takes 1,000 writes a second on one key (DynamoDB developer guide). */
export const DELIVERIES_PER_BUCKET = 250;

/** Number of buckets for a message's deliveries. */
export function bucketsFor(matched: number): number {
  return Math.max(1, Math.ceil(matched / DELIVERIES_PER_BUCKET));
}

/** Bucket index of a subscription's delivery. Must never change: a repeat has to find the same record. */
export function hashToBucket(subscriptionId: string, buckets: number): number {
  return buckets === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % buckets;
}

/** Bucket of a subscription's delivery in its part of the message. */
export function bucketIn({ buckets, firstBucket = 0 }: Buckets, subscriptionId: string): number {
  return firstBucket + hashToBucket(subscriptionId, buckets);
}

/** The part that contains a subscription id, or would contain it. */
export function partWith<Of extends FanOut>(message: Of, subscriptionId: string): Of | LaterPart {
  return message.parts?.findLast(({ after }) => after < subscriptionId) ?? message;
}

/** The key that the delivery of a message to a subscription has, or would have. */
export function deliveryKeyIn(message: FanOut, subscriptionId: string): DeliveryKey {
  const part = partWith(message, subscriptionId);
  const { chunks } = part;
  return {
    ...message.key,
    subscriptionId,
    bucket: bucketIn(part, subscriptionId),
    ...(chunks === undefined ? {} : { chunk: hashToChunk(subscriptionId, chunks) }),
  };
}

/** Whether a message has not been sent to this subscription's part of the list yet. */
export function isAhead(
  { lastSubscriptionId }: Pick<FanOut, 'lastSubscriptionId'>,
  subscriptionId: string,
): boolean {
  return lastSubscriptionId !== undefined && subscriptionId > lastSubscriptionId;
}

/** First bucket after all buckets of a message. Parts may share buckets. */
export function endOfBuckets({ parts = [], ...first }: Omit<FanOut, 'key'>): number {
  return Math.max(...[first, ...parts].map(({ firstBucket = 0, buckets }) => firstBucket + buckets));
}

/** Some buckets of a message. `end`: the first one after them. */
export type BucketRange = { first: number; end: number };

export function toBucketRange(message: Omit<FanOut, 'key'>): BucketRange {
  return { first: message.firstBucket ?? 0, end: endOfBuckets(message) };
}

/** Chunks per bucket for this number of deliveries; undefined: each delivery has a separate record. */
export function chunksFor(deliveries: number, buckets: number, perChunk: number): number | undefined {
  return deliveries <= 1 || perChunk <= 1 ? undefined : Math.ceil(deliveries / buckets / perChunk);
}

/**
 * Chunk of a subscription's delivery in its bucket; independent of other matches and constant. Uses other digits of
 * the hash than `hashToBucket`.
 */
export function hashToChunk(subscriptionId: string, chunks: number): number {
  return chunks === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(4) % chunks;
}
