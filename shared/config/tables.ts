/** Keys and indexes of the two tables (docs/architecture.md#records), shared by infra and the adapters. */
export const primaryKey = { partition: 'pk', sort: 'sk' } as const;

/**
 * DynamoDB's TTL attribute on both tables, in seconds since the epoch. It only cleans up; no timing depends on it.
 */
export const ttlAttribute = 'ttl';

/** All indexes are sparse: an item without both key attributes is not in the index. */
export const subscriptionIndexes = {
  /** META items of all queues, and all pull subscriptions. */
  queues: { name: 'queues', partition: 'queuesPk', sort: 'queuesSk' },
} as const;

export const deliveryIndexes = {
  /** MESSAGE items by queue and hour. */
  byHour: { name: 'by-hour', partition: 'byHourPk', sort: 'byHourSk' },
  /** Deliveries without a success, by subscription. */
  bySubscription: { name: 'by-subscription', partition: 'bySubscriptionPk', sort: 'notDeliveredSk' },
  /** Deliveries without a success, by queue. */
  byQueue: { name: 'by-queue', partition: 'byQueuePk', sort: 'notDeliveredSk' },
  /** Deliveries that are retrying or have pending steps; the sort key is a number, milliseconds since the epoch. */
  overdue: { name: 'overdue', partition: 'overduePk', sort: 'overdueAt' },
} as const;

/** The only non-key attribute that the indexes by subscription and by queue project. */
export const listedAttribute = 'status';
