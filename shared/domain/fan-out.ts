import { createHash } from 'node:crypto';

/** Deliveries under one key: DynamoDB takes 1,000 writes a second on one partition key (DynamoDB developer guide). */
const DELIVERIES_PER_BUCKET = 250;

/** How many keys the deliveries of a message are spread over. */
export const bucketsFor = (matched: number): number =>
  Math.max(1, Math.ceil(matched / DELIVERIES_PER_BUCKET));

/** Which of them a subscription's delivery is under. The same for ever, since a repeat must find the same record. */
export const bucketOf = (subscriptionId: string, buckets: number): number =>
  buckets === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % buckets;

/** How many chunks each bucket's share of so many deliveries is divided into; undefined: each is on record by itself. */
export const chunksFor = (deliveries: number, buckets: number, perChunk: number): number | undefined =>
  deliveries <= 1 || perChunk <= 1 ? undefined : Math.ceil(deliveries / buckets / perChunk);

/** Which of its bucket's chunks a subscription's delivery is in; the same for ever, whoever else matches. Not by the digits that tell the bucket. */
export const chunkOf = (subscriptionId: string, chunks: number): number =>
  chunks === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(4) % chunks;
