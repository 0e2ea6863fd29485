import { hash } from 'node:crypto';
import { deliveryIndexes } from '../../../config/tables.ts';
import type { Status } from '../../../domain/delivery/vocabulary.ts';
import type { ChunkKey, DeliveryKey, NextAttempt } from '../../../domain/delivery/delivery.ts';
import { findWaitingPlace, type WaitingPlace } from '../../../domain/delivery/paused.ts';
import type { MessageKey } from '../../../domain/message/message.ts';
import type { SubscriptionKey } from '../../../domain/subscription/subscription.ts';
import type { ItemKey } from '../record.ts';

/**
 * One key of an index takes 1,000 writes a second, and a throttled index throttles its table. A queue or the whole
 * deployment can have more failures than that; a single subscription rarely has more than 4,000 a second.
 */
export const shards = { byQueue: 8, bySubscription: 4, byHour: 8, overdue: 8, pull: 4, paused: 8 } as const;

export const deliveryPrefix = 'DELIVERY#';

/** Sorts before `DELIVERY#`, so that one query reads the chunks of a bucket first. */
export const chunkPrefix = 'CHUNK#';

/** The sort key of the MESSAGE item, which is in bucket 0. */
export const MESSAGE = 'MESSAGE';

/** Unambiguous, because queue names and message ids contain no `#`. */
export function toPartition({ queue, messageId }: MessageKey, bucket: number): string {
  return `${queue}#${messageId}#${bucket}`;
}

export function toItemKey(key: DeliveryKey): ItemKey {
  return { pk: toPartition(key, key.bucket), sk: `${deliveryPrefix}${key.subscriptionId}` };
}

export function toChunkItemKey(key: ChunkKey): ItemKey {
  return { pk: toPartition(key, key.bucket), sk: `${chunkPrefix}${key.chunk}` };
}

/** The chunk that an item key belongs to. Undefined: not the key of a chunk. */
export function parseChunkKey({ pk, sk }: ItemKey): ChunkKey | undefined {
  const place = partitionParts(pk);
  const chunk = sk.startsWith(chunkPrefix) ? sk.slice(chunkPrefix.length) : '';
  return place === undefined || !isNumber(chunk) ? undefined : { ...place, chunk: Number(chunk) };
}

/**
 * The item with the time up to which the slots of a subscription are reserved. Not the key of a message, because no
 * bucket is called `slots`.
 */
export function slotsItemKey({ queue, subscriptionId }: SubscriptionKey): ItemKey {
  // Earlier versions have lines in milliseconds with fractions, under the sort key `SLOTS`.
  return { pk: `${queue}#${subscriptionId}#slots`, sk: 'LINE' };
}

/** The item with what function instances count of a subscription's requests while they watch it. */
export function countsItemKey(subscription: SubscriptionKey): ItemKey {
  return { pk: slotsItemKey(subscription).pk, sk: 'COUNTS' };
}

/** The counters of a queue and minute; sort keys are times, such as `14:05`, UTC. No bucket is called `statistics`. */
export function statisticsItemKey(queue: string, at: number): ItemKey {
  const minute = new Date(at).toISOString();
  return { pk: `${queue}#${minute.slice(0, 10)}#statistics`, sk: minute.slice(11, 16) };
}

/** The delivery that an item key belongs to; indexes project keys only. Undefined: not the key of a delivery. */
export function parseDeliveryKey({ pk, sk }: ItemKey): DeliveryKey | undefined {
  const place = partitionParts(pk);
  if (place === undefined || !sk.startsWith(deliveryPrefix)) return undefined;
  return { ...place, subscriptionId: sk.slice(deliveryPrefix.length) };
}

/** Undefined: not the key of a message. */
export function parseMessageKey({ pk, sk }: ItemKey): MessageKey | undefined {
  const place = partitionParts(pk);
  if (place?.bucket !== 0 || sk !== MESSAGE) return undefined;
  return { queue: place.queue, messageId: place.messageId };
}

function partitionParts(pk: string): (MessageKey & { bucket: number }) | undefined {
  const [queue, messageId, bucket, ...rest] = pk.split('#');
  if (queue === undefined || messageId === undefined || bucket === undefined || rest.length > 0)
    return undefined;
  return isNumber(bucket) ? { queue, messageId, bucket: Number(bucket) } : undefined;
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

/** 13 digits, enough until November 2286. */
export const LAST_TIME = 9_999_999_999_999;

/** A time as text that sorts in order of time. Times out of range become the first or the last in range. */
export function sortableTime(time: number): string {
  return String(Math.min(Math.max(time, 0), LAST_TIME)).padStart(13, '0');
}

/** Immutable, so it is written at creation. Without the partition keys the item is in neither index. */
export function toNotDeliveredSort(key: DeliveryKey, acceptedAt: number): string {
  return `${sortableTime(acceptedAt)}#${key.messageId}#${key.subscriptionId}`;
}

/**
 * Whether a delivery is in the listing indexes: after its first failure, while it waits for a slot, or after an
 * end other than `delivered`. An immediate success writes to no index.
 */
export function isListed(of: { status: Status; next?: NextAttempt | null | undefined }): boolean {
  const { status, next } = of;
  return status === 'pending' ? next !== undefined && next !== null : status !== 'delivered';
}

export function toListingPartitions(key: DeliveryKey): Record<string, string> {
  return {
    [deliveryIndexes.byQueue.partition]: byQueuePartition(
      key.queue,
      hashToShard(buildKey(key), shards.byQueue),
    ),
    [deliveryIndexes.bySubscription.partition]: bySubscriptionPartition(
      key,
      hashToShard(key.messageId, shards.bySubscription),
    ),
  };
}

export function byQueuePartition(queue: string, shard: number): string {
  return `${queue}#${shard}`;
}

export function bySubscriptionPartition({ queue, subscriptionId }: SubscriptionKey, shard: number): string {
  return `${queue}#${subscriptionId}#${shard}`;
}

/** `<queue>#2026-11-21T14#<shard>`, the hour in UTC. */
export function byHourPartition(queue: string, acceptedAt: number, shard: number): string {
  return `${queue}#${new Date(acceptedAt).toISOString().slice(0, 13)}#${shard}`;
}

export function overduePartition(shard: number): string {
  return `OVERDUE#${shard}`;
}

/** The part of the index of a record or a change that has an `overdueAt`. */
export function toOverduePartition(key: DeliveryKey, of: Parameters<typeof findWaitingPlace>[1]): string {
  const place = findWaitingPlace(key, of);
  if (place === undefined) return overduePartition(hashToShard(buildKey(key), shards.overdue));
  const { queue, subscriptionId } = place;
  return subscriptionId === undefined
    ? pausedPartition(queue, hashToShard(buildKey(key), shards.paused))
    : pullPartition({ queue, subscriptionId }, hashToShard(key.messageId, shards.pull));
}

/** All parts of the overdue index with the deliveries that wait in one place. */
export function waitingPartitions({ queue, subscriptionId }: WaitingPlace): string[] {
  return subscriptionId === undefined
    ? Array.from({ length: shards.paused }, (_, shard) => pausedPartition(queue, shard))
    : Array.from({ length: shards.pull }, (_, shard) => pullPartition({ queue, subscriptionId }, shard));
}

/** A part of the overdue index with the deliveries that wait for the end of the pause of a queue. */
function pausedPartition(queue: string, shard: number): string {
  return `PAUSED#${queue}#${shard}`;
}

/** The same of a subscription, by pull as well. */
function pullPartition(key: SubscriptionKey, shard: number): string {
  return `${undividedPullPartition(key)}#${shard}`;
}

/** Where versions before the shards put all deliveries of a subscription. */
export function undividedPullPartition({ queue, subscriptionId }: SubscriptionKey): string {
  return `PULL#${queue}#${subscriptionId}`;
}

function buildKey({ messageId, subscriptionId }: DeliveryKey): string {
  return `${messageId}#${subscriptionId}`;
}

/** 0 ≤ shard < count, evenly distributed for any format of ids. */
export function hashToShard(text: string, count: number): number {
  return hash('sha256', text, 'buffer').readUInt32BE(0) % count;
}
