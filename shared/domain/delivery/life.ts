import { endOfBuckets, type FanOut } from './fan-out.ts';

/**
 * A queue that is deleted and recreated begins a new life, identified by its `createdAt`; a message belongs to one
 * life. Times are milliseconds since the epoch.
 */
type RecordedMessage = {
  acceptedAt: number;
  /** Absent on records of version 0.1.0. */
  life?: number;
} & Omit<FanOut, 'key'>;

/**
 * Assumed clock difference between SQS and functions, and between functions. Mistaking a new message for a copy
 * from the earlier life would lose it.
 */
export const CLOCKS_DIFFER_MS = 2_000;

/**
 * Whether a recorded id belongs to an earlier life of the queue, so that the message is new. A copy sent in that
 * life but received later is not new. `sentAt` undefined: unknown.
 */
export function isFromEarlierLife(
  earlier: RecordedMessage,
  { life }: Pick<RecordedMessage, 'life'>,
  sentAt: number | undefined,
): boolean {
  return (
    life !== undefined &&
    (earlier.life ?? earlier.acceptedAt) < life &&
    (sentAt ?? life) >= life - CLOCKS_DIFFER_MS
  );
}

/** Whether a recorded message belongs to this life of its queue. */
export function isOfLife({ acceptedAt, life = acceptedAt }: RecordedMessage, createdAt: number): boolean {
  return life >= createdAt;
}

/** The record that replaces one of an earlier life; its deliveries use unused buckets. */
export function replacementFor<Record extends RecordedMessage>(
  earlier: RecordedMessage,
  record: Record,
): Record {
  return { ...record, firstBucket: endOfBuckets(earlier) };
}
