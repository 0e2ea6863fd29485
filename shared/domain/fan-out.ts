import { createHash } from 'node:crypto';

/** Deliveries under one key: DynamoDB takes 1,000 writes a second on one partition key (DynamoDB developer guide). */
const DELIVERIES_PER_BUCKET = 250;

/** How many keys the deliveries of a message are spread over. */
export const bucketsFor = (matched: number): number =>
  Math.max(1, Math.ceil(matched / DELIVERIES_PER_BUCKET));

/** Which of them a subscription's delivery is under. The same for ever, since a repeat must find the same record. */
export const bucketOf = (subscriptionId: string, buckets: number): number =>
  buckets === 1 ? 0 : createHash('sha256').update(subscriptionId).digest().readUInt32BE(0) % buckets;
