import { createHash } from 'node:crypto';
import { deliveryIndexes, primaryKey } from '../config/tables.ts';
import type { DeliveryKey, Status } from '../domain/delivery.ts';
import type { MessageKey } from '../domain/message.ts';

/**
 * One key of an index takes 1,000 writes a second, and a throttled index throttles its table. A queue and the whole
 * deployment may see more failures than that, one subscription rarely sees more than four times as many.
 */
export const shards = { byQueue: 8, bySubscription: 4, byHour: 8, overdue: 8 } as const;

const DELIVERY = 'DELIVERY#';

/** The sort key of the MESSAGE item, in bucket 0. */
export const MESSAGE = 'MESSAGE';

/** Neither queue names nor message ids hold a `#`. */
export const partitionOf = ({ queue, messageId }: MessageKey, bucket: number): string =>
  `${queue}#${messageId}#${bucket}`;

export const deliveryPrefix = DELIVERY;

export const itemKeyOf = (key: DeliveryKey): Record<'pk' | 'sk', string> => ({
  [primaryKey.partition]: partitionOf(key, key.bucket),
  [primaryKey.sort]: `${DELIVERY}${key.subscriptionId}`,
});

/** The way back, since the indexes carry keys only. Undefined: no key of a delivery. */
export const deliveryKeyOf = (item: { pk: string; sk: string }): DeliveryKey | undefined => {
  const [queue, messageId, bucket, ...rest] = item.pk.split('#');
  if (queue === undefined || messageId === undefined || bucket === undefined || rest.length > 0)
    return undefined;
  if (!/^\d+$/.test(bucket) || !item.sk.startsWith(DELIVERY)) return undefined;
  return { queue, messageId, subscriptionId: item.sk.slice(DELIVERY.length), bucket: Number(bucket) };
};

/** Times in keys sort as text: 13 digits last until the year 2286. */
export const sortableTime = (time: number): string => String(time).padStart(13, '0');

/** Immutable, so written at creation; without the partition keys beside it the item is in neither index. */
export const notDeliveredSortOf = (key: DeliveryKey, acceptedAt: number): string =>
  `${sortableTime(acceptedAt)}#${key.messageId}#${key.subscriptionId}`;

/** A delivery is listed from its first failure, or an end other than `delivered`, on; a success touches no index. */
export const isListed = (status: Status): boolean => status !== 'pending' && status !== 'delivered';

export const listingPartitionsOf = (key: DeliveryKey): Record<string, string> => ({
  [deliveryIndexes.byQueue.partition]: `${key.queue}#${shardOf(identityOf(key), shards.byQueue)}`,
  [deliveryIndexes.bySubscription.partition]:
    `${key.queue}#${key.subscriptionId}#${shardOf(key.messageId, shards.bySubscription)}`,
});

export const overduePartition = (shard: number): string => `OVERDUE#${shard}`;

export const overduePartitionOf = (key: DeliveryKey): string =>
  overduePartition(shardOf(identityOf(key), shards.overdue));

const identityOf = ({ messageId, subscriptionId }: DeliveryKey): string => `${messageId}#${subscriptionId}`;

/** 0 ≤ shard < count, even over whatever ids look like. */
export const shardOf = (text: string, count: number): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0) % count;
