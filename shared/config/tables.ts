/** Keys and indexes of the two tables (docs/design.md#4-the-records), shared by infra, which makes them, and the adapters, which use them. */
export const primaryKey = { partition: 'pk', sort: 'sk' } as const;

/** Seconds since the epoch; DynamoDB's TTL attribute on both tables. It cleans up; it never times anything. */
export const ttlAttribute = 'ttl';

/** All sparse: an item without the two key attributes is not in the index. */
export const subscriptionIndexes = {
  /** The META item of every queue. */
  queues: { name: 'queues', partition: 'queuesPk', sort: 'queuesSk' },
} as const;

export const deliveryIndexes = {
  /** MESSAGE items of a queue and hour. */
  byHour: { name: 'by-hour', partition: 'byHourPk', sort: 'byHourSk' },
  /** Deliveries not delivered, of a subscription. */
  bySubscription: { name: 'by-subscription', partition: 'bySubscriptionPk', sort: 'notDeliveredSk' },
  /** Deliveries not delivered, of a queue. */
  byQueue: { name: 'by-queue', partition: 'byQueuePk', sort: 'notDeliveredSk' },
  /** Retrying, or something owed; the sort key is a number, milliseconds since the epoch. */
  overdue: { name: 'overdue', partition: 'overduePk', sort: 'overdueAt' },
} as const;

/** Beside its keys, what the two listings carry. */
export const listedAttribute = 'status';
