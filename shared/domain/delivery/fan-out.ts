import { createHash } from 'node:crypto';
import type { MessageKey } from '../message/message.ts';

/** Keys that deliveries of a message are under, from `firstBucket` (0) on, and how many chunks each is divided into (none: each delivery is on record by itself). */
export type Buckets = { buckets: number; firstBucket?: number; chunks?: number };

/**
 * The subscriptions behind an id, up to where the next part begins: they were read, judged and sent together. `listedAt`: when
 * they were read, or the message was accepted, if that was earlier.
 */
export type Part = Buckets & { after?: string; listedAt: number };

/** Any part but the first. */
export type LaterPart = Part & { after: string };

/**
 * A message and where its deliveries are: of the first part, and of those after it. `until`: the last subscription of the last
 * part, while others may follow that the message was not sent to yet.
 */
export type FanOut = { key: MessageKey; parts?: readonly LaterPart[]; until?: string } & Buckets;

/**
 * Attempts that one invocation of deliver may make at once: the jobs of a batch times the attempts of a job. Each holds one
 * descriptor at a time, to DNS, its subscriber or AWS. A function has 1,024 (AWS Lambda developer guide, "Lambda quotas"), of which idle
 * connections take up to 400: 100 to subscribers, 50 to each service of AWS.
 */
export const MOST_ATTEMPTS_AT_ONCE = 500;

/** Deliveries under one key: DynamoDB takes 1,000 writes a second on one partition key (DynamoDB developer guide). */
const DELIVERIES_PER_BUCKET = 250;

/** How many keys the deliveries of a message are spread over. */
export function bucketsFor(matched: number): number {
  return Math.max(1, Math.ceil(matched / DELIVERIES_PER_BUCKET));
}

/** Which of them a subscription's delivery is under. The same for ever, since a repeat must find the same record. */
export function bucketOf(subscriptionId: string, buckets: number): number {
  return buckets === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % buckets;
}

/** The bucket of a subscription's delivery, in the part of the message that the subscription is in. */
export function bucketIn({ buckets, firstBucket = 0 }: Buckets, subscriptionId: string): number {
  return firstBucket + bucketOf(subscriptionId, buckets);
}

/** The part that a subscription is in, or would be. */
export function partWith<Of extends FanOut>(message: Of, subscriptionId: string): Of | LaterPart {
  return message.parts?.findLast(({ after }) => after < subscriptionId) ?? message;
}

/** Whether a subscription is beyond those that the message was sent to so far. */
export function isAhead({ until }: Pick<FanOut, 'until'>, subscriptionId: string): boolean {
  return until !== undefined && subscriptionId > until;
}

/** The first bucket behind all those of a message. Parts may share buckets. */
export function endOfBuckets({ parts = [], ...first }: Omit<FanOut, 'key'>): number {
  return Math.max(...[first, ...parts].map(({ firstBucket = 0, buckets }) => firstBucket + buckets));
}

/** How many chunks each bucket's share of so many deliveries is divided into; undefined: each is on record by itself. */
export function chunksFor(deliveries: number, buckets: number, perChunk: number): number | undefined {
  return deliveries <= 1 || perChunk <= 1 ? undefined : Math.ceil(deliveries / buckets / perChunk);
}

/** Which of its bucket's chunks a subscription's delivery is in; the same for ever, whoever else matches. Not by the digits that tell the bucket. */
export function chunkOf(subscriptionId: string, chunks: number): number {
  return chunks === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(4) % chunks;
}
