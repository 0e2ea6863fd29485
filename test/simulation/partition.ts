import * as z from 'zod';

/** What a subscription's line is kept under. */
export const lineOf = (subscriptionId: string): string => `line of ${subscriptionId}`;

/** What a message and its deliveries are kept under; each life of its queue has another bucket. */
export const bucketOf = (messageId: string, bucket = 0): string => `${messageId}#${bucket}`;

/** What a queue and its subscriptions are kept under. */
export const SUBSCRIPTIONS = 'subscriptions';

const place = z.object({ messageId: z.string(), bucket: z.number().optional() });
const placed = z.union([place, z.object({ key: place }).transform(({ key }) => key)]);
const limited = z.object({ subscriptionId: z.string() });

/** The partition that a call to a port reads or writes (docs/design.md#deliveries-table); undefined: none, or an index. */
export function partitionOf(method: string, [first]: readonly unknown[]): string | undefined {
  const [port = ''] = method.split('.');
  switch (port) {
    case 'deliveries':
    case 'chunks':
    case 'messageRecords': {
      const { data } = placed.safeParse(first);
      return data && bucketOf(data.messageId, data.bucket);
    }
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

/** Whether a delivery cannot do without it. */
export function isNeededBy(partition: string, messageId: string, subscriptionId: string): boolean {
  return (
    partition === SUBSCRIPTIONS ||
    partition === lineOf(subscriptionId) ||
    partition.startsWith(`${messageId}#`)
  );
}
