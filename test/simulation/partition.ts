import * as z from 'zod';

/** The partition of a subscription's line. */
export const lineOf = (subscriptionId: string): string => `line of ${subscriptionId}`;

/** The partition of a message and its deliveries. Each life of its queue has separate buckets. */
export const bucketOf = (messageId: string, bucket = 0): string => `${messageId}#${bucket}`;

/** The partition of a queue and its subscriptions. */
export const SUBSCRIPTIONS = 'subscriptions';

const place = z.object({ messageId: z.string(), bucket: z.number().optional() });
const placed = z.union([place, z.object({ key: place }).transform(({ key }) => key)]);
const limited = z.object({ subscriptionId: z.string() });

/** The partition that a port call accesses (docs/architecture.md#deliveries-table). Undefined: none, or an index. */
export function partitionOf(method: string, [first]: readonly unknown[]): string | undefined {
  const [port = ''] = method.split('.');
  switch (port) {
    case 'deliveries':
    case 'chunks':
    case 'messageRecords': {
      const { data } = placed.safeParse(first);
      return data && bucketOf(data.messageId, data.bucket);
    }
    case 'countingWindows':
    case 'rateLimits': {
      const { data } = limited.safeParse(first);
      return data && lineOf(data.subscriptionId);
    }
    case 'subscriptions':
    case 'registry':
      return SUBSCRIPTIONS;
    default:
      return undefined;
  }
}

/** Whether a delivery needs the partition. */
export function isNeededBy(partition: string, messageId: string, subscriptionId: string): boolean {
  return (
    partition === SUBSCRIPTIONS ||
    partition === lineOf(subscriptionId) ||
    partition.startsWith(`${messageId}#`)
  );
}
