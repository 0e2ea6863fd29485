import { endOfBuckets, type FanOut } from './fan-out.ts';

/**
 * A queue that is deleted and created again has a new `createdAt`, and a message belongs to one of the two. Times are
 * milliseconds since the epoch.
 */
type RecordedMessage = {
  acceptedAt: number;
  /** Absent on records of version 0.1.0. */
  queueCreatedAt?: number;
} & Omit<FanOut, 'key'>;

/**
 * Assumed clock difference between SQS and functions, and between functions. Mistaking a new message for a copy
 * from the earlier queue would lose it.
 */
export const CLOCKS_DIFFER_MS = 2_000;

/**
 * Whether a recorded id belongs to an earlier queue of the name, so that the message is new. A copy that was sent to
 * that queue but received later is not new. `sentAt` undefined: unknown.
 */
export function isFromEarlierQueue(
  earlier: RecordedMessage,
  { queueCreatedAt }: Pick<RecordedMessage, 'queueCreatedAt'>,
  sentAt: number | undefined,
): boolean {
  return (
    queueCreatedAt !== undefined &&
    (earlier.queueCreatedAt ?? earlier.acceptedAt) < queueCreatedAt &&
    (sentAt ?? queueCreatedAt) >= queueCreatedAt - CLOCKS_DIFFER_MS
  );
}

/** Whether a recorded message belongs to the queue that was created then. */
export function isOfQueue(
  { acceptedAt, queueCreatedAt = acceptedAt }: RecordedMessage,
  createdAt: number,
): boolean {
  return queueCreatedAt >= createdAt;
}

/** The record that replaces one of an earlier queue; its deliveries use unused buckets. */
export function replacementFor<Record extends RecordedMessage>(
  earlier: RecordedMessage,
  record: Record,
): Record {
  return { ...record, firstBucket: endOfBuckets(earlier) };
}
