import type { Chunk, ChunkTransition } from '../domain/delivery/chunk.ts';
import type { Status } from '../domain/vocabulary.ts';
import type { ChunkKey, Delivery, DeliveryKey, Transition } from '../domain/delivery/delivery.ts';
import type { FanOut } from '../domain/delivery/fan-out.ts';
import type { StatusCounts } from '../domain/message/books.ts';
import type { Recovery } from '../domain/recovery/recovery.ts';
import type { Page, PageRequest } from './page.ts';

/** `refused`: the condition did not hold; `current` is the record that refused it, undefined where there is none. */
export type WriteResult =
  { kind: 'written'; delivery: Delivery } | { kind: 'refused'; current: Delivery | undefined };

export type OverdueDelivery = { key: DeliveryKey; overdueAt: number };

/** The records of deliveries: one conditional write at a time, the record itself the answer of a lost race. */
export interface Deliveries {
  write(transition: Transition): Promise<WriteResult>;
  /** Strongly consistent. */
  find(key: DeliveryKey): Promise<Delivery | undefined>;
  /** Retrying or owing something, `overdueAt` ≤ before, the oldest first within each shard; at most `limit`. */
  overdue(before: number, limit: number): Promise<readonly OverdueDelivery[]>;
}

/** `refused`: the condition did not hold; `current` is the chunk that refused it, undefined where there is none. */
export type ChunkResult = { kind: 'written'; chunk: Chunk } | { kind: 'refused'; current: Chunk | undefined };

/** The records of chunks: one conditional write at a time. */
export interface Chunks {
  write(transition: ChunkTransition): Promise<ChunkResult>;
  /** Strongly consistent. */
  find(key: ChunkKey): Promise<Chunk | undefined>;
  /** Gives a delivery a record of its own, and says so in its chunk: both or neither. Refused: either changed meanwhile. */
  takeOut(transition: ChunkTransition, delivery: Delivery): Promise<'taken_out' | 'refused'>;
}

/** Which deliveries of a queue. Times are milliseconds since the epoch, by when the message was accepted. */
export type DeliverySelection = {
  queue: string;
  subscriptionId?: string;
  status?: Exclude<Status, 'delivered'>;
  /** At or after. */
  since?: number;
  /** Before. */
  until?: number;
};

/** `unreadable`: not what this version of the code, or the one before, wrote; read again it is the same. */
export type DeliveryRecords = {
  deliveries: readonly Delivery[];
  unreadable: readonly { key: DeliveryKey; error: Error }[];
};

export type ListedDelivery = { key: DeliveryKey; acceptedAt: number; status: Status };

/**
 * Deliveries that are not delivered, from their first failure or an end other than `delivered` on. Read from the indexes, so
 * a second or so behind the records. A key's place in the listing never changes, so that a page goes on where the last ended
 * whatever becomes of the deliveries in between.
 *
 * What one page reads is bounded. Where a selection leaves out nearly everything, a page is short, or empty, and has a
 * marker all the same: only a page without a marker is the last.
 */
export interface DeliveryListings {
  /** Newest first. @throws InvalidMarkerError */
  newest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** Oldest first: for a job that works its way through a window. @throws InvalidMarkerError */
  oldest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** The records of up to 100 keys, in no order; strongly consistent. One that is gone is left out. */
  records(keys: readonly DeliveryKey[]): Promise<DeliveryRecords>;
  /**
   * Every recorded delivery of a message, delivered or not: bucket by bucket, and by subscription in each. Strongly
   * consistent. @throws InvalidMarkerError
   */
  ofMessage(message: FanOut, page: PageRequest): Promise<Page<Delivery>>;
  /** How the recorded deliveries of a message stand; strongly consistent, and small however many they are. */
  tally(message: FanOut): Promise<StatusCounts>;
}

/** `refused` by somebody else's write: with the record as it is, undefined where there is none. */
export type RecoverySaving = { kind: 'saved' } | { kind: 'refused'; current: Recovery | undefined };

/** The records of recoveries. */
export interface Recoveries {
  /** Its id begins with its time of creation, so that ids sort by it (`recoveryIdOf`). @throws when there is one of that id */
  create(recovery: Recovery): Promise<void>;
  /** Strongly consistent. */
  find(queue: string, id: string): Promise<Recovery | undefined>;
  /** Newest first. @throws InvalidMarkerError */
  list(queue: string, page: PageRequest): Promise<Page<Recovery>>;
  /** Writes it if the record still has the version before it. */
  save(recovery: Recovery): Promise<RecoverySaving>;
}
