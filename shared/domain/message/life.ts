import { endOfBuckets, type FanOut } from '../delivery/fan-out.ts';

/**
 * A queue that is deleted and made again begins another life, known by its `createdAt`, and a message belongs to one life of
 * its queue. Times are milliseconds since the epoch.
 */
type Recorded = {
  acceptedAt: number;
  /** Absent on records of version 0.1.0. */
  life?: number;
} & Omit<FanOut, 'key'>;

/** By how much clocks may differ: SQS's from ours, and those of functions from each other. A new message taken for a copy of the earlier life would be lost. */
export const CLOCKS_DIFFER_MS = 2_000;

/**
 * Whether a message is a new one though its id is on record: in an earlier life of its queue. A copy that was sent in that
 * life, and comes only now, is none. `sentAt` undefined: not known.
 */
export function isFromEarlierLife(
  earlier: Recorded,
  { life }: Pick<Recorded, 'life'>,
  sentAt: number | undefined,
): boolean {
  return (
    life !== undefined &&
    (earlier.life ?? earlier.acceptedAt) < life &&
    (sentAt ?? life) >= life - CLOCKS_DIFFER_MS
  );
}

/** The record of a new message that takes the place of one of an earlier life. Its deliveries get buckets that are free. */
export function replacementFor<Record extends Recorded>(earlier: Recorded, record: Record): Record {
  return { ...record, firstBucket: endOfBuckets(earlier) };
}
