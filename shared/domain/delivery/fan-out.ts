import { createHash } from 'node:crypto';
import type { MessageKey } from '../message/message.ts';

/** A message and where its deliveries are. `firstBucket`: 0 unless the id was used in an earlier life of the queue. */
export type FannedOut = { key: MessageKey; buckets: number; firstBucket?: number };

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

/** The bucket of a subscription's delivery. */
export function bucketIn(
  { buckets, firstBucket = 0 }: Omit<FannedOut, 'key'>,
  subscriptionId: string,
): number {
  return firstBucket + bucketOf(subscriptionId, buckets);
}

/** How many chunks each bucket's share of so many deliveries is divided into; undefined: each is on record by itself. */
export function chunksFor(deliveries: number, buckets: number, perChunk: number): number | undefined {
  return deliveries <= 1 || perChunk <= 1 ? undefined : Math.ceil(deliveries / buckets / perChunk);
}

/** Which of its bucket's chunks a subscription's delivery is in; the same for ever, whoever else matches. Not by the digits that tell the bucket. */
export function chunkOf(subscriptionId: string, chunks: number): number {
  return chunks === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(4) % chunks;
}
