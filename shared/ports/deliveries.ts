import type { WaitingPlace } from '../domain/delivery/paused.ts';
import type { Chunk, ChunkTransition } from '../domain/delivery/chunk.ts';
import type { Status } from '../domain/delivery/vocabulary.ts';
import type { ChunkKey, Delivery, DeliveryKey, Transition } from '../domain/delivery/delivery.ts';
import type { OverdueDelivery } from '../domain/delivery/transitions.ts';
import type { BucketRange, FanOut } from '../domain/delivery/fan-out.ts';
import type { StatusCounts } from '../domain/delivery/books.ts';
import type { Recovery } from '../domain/recovery/recovery.ts';
import type { Page, PageRequest } from './page.ts';

/** `refused`: the condition did not hold; `current` is the existing record, if any. */
export type WriteResult =
  | { kind: 'written'; delivery: Delivery }
  | { kind: 'refused'; current: Delivery | undefined };

/** The records of deliveries. A lost race returns the current record. */
export interface Deliveries {
  write(transition: Transition): Promise<WriteResult>;
  /** Strongly consistent. */
  find(key: DeliveryKey): Promise<Delivery | undefined>;
  /**
   * Up to `limit` deliveries with `overdueAt` ≤ `before` that are retrying or have pending steps, oldest first
   * within each shard. Without those that wait until their subscriber receives them, or for the end of a pause.
   */
  overdue(before: number, limit: number): Promise<readonly OverdueDelivery[]>;
  /**
   * Up to `limit` deliveries that wait for their subscriber or for the end of a pause, with `overdueAt` ≤ `before`, the
   * longest waiting first. About a second behind the records.
   */
  waiting(place: WaitingPlace, before: number, limit: number): Promise<readonly OverdueDelivery[]>;
}

/** Deliveries as callers name them, by message and subscription, wherever they are recorded. */
export interface NamedDeliveries extends Deliveries {
  /**
   * Creates the record of a delivery that did not match at its message's acceptance. The message's `matched` grows by
   * one in the same transaction. Refused: the delivery exists.
   * @throws ContendedError, also while the message is being sent to its subscriptions
   */
  add(delivery: Delivery): Promise<WriteResult>;
}

/** `refused`: the condition did not hold; `current` is the existing chunk, if any. */
export type ChunkResult = { kind: 'written'; chunk: Chunk } | { kind: 'refused'; current: Chunk | undefined };

/** The records of chunks. */
export interface Chunks {
  write(transition: ChunkTransition): Promise<ChunkResult>;
  /** Strongly consistent. */
  find(key: ChunkKey): Promise<Chunk | undefined>;
  /**
   * Creates a separate record for a delivery and marks it in its chunk, in one transaction. Refused: either one
   * changed in the meantime.
   */
  takeOut(transition: ChunkTransition, delivery: Delivery): Promise<'taken_out' | 'refused'>;
  /**
   * Creates the record of a delivery that no chunk has and counts it in its message's `matched`, in one transaction.
   * `exclusion`: keeps it out of its chunk, which is not claimed yet. Refused: one of them changed in the meantime,
   * or the message is not sent to all subscriptions yet.
   */
  add(delivery: Delivery, exclusion: ChunkTransition | undefined): Promise<'added' | 'refused'>;
}

/** Selects deliveries of a queue. Times are milliseconds since the epoch and refer to the message's acceptance. */
export type DeliverySelection = {
  queue: string;
  subscriptionId?: string | undefined;
  status?: Exclude<Status, 'delivered'>;
  /** Inclusive. */
  since?: number;
  /** Exclusive. */
  until?: number;
};

/**
 * `unreadable`: records in a form that neither this version of the code nor the previous one wrote; reading them
 * again does not help.
 */
export type DeliveryRecords = {
  deliveries: readonly Delivery[];
  unreadable: readonly { key: DeliveryKey; error: Error }[];
};

export type ListedDelivery = { key: DeliveryKey; acceptedAt: number; status: Status };

/**
 * Deliveries without a success, from their first failure or their end on. Read from indexes, about a second behind
 * the records. A key keeps its place in the listing, so pages stay consistent while deliveries change.
 *
 * The work per page is bounded: with a selective filter a page may be short or empty and still have a marker. Only
 * a page without a marker is the last.
 */
export interface DeliveryListings {
  /** Newest first. @throws InvalidMarkerError */
  newest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** Oldest first, to process a time window. @throws InvalidMarkerError */
  oldest(selection: DeliverySelection, page: PageRequest): Promise<Page<ListedDelivery>>;
  /** The records of up to 100 keys, unordered and strongly consistent. Missing records are omitted. */
  records(keys: readonly DeliveryKey[]): Promise<DeliveryRecords>;
  /**
   * All recorded deliveries of a message, by bucket and subscription. Strongly consistent.
   * @throws InvalidMarkerError
   */
  ofMessage(message: FanOut, page: PageRequest): Promise<Page<Delivery>>;
  /**
   * How many deliveries wait in these places, if `matches`. Looks at about `most`; `hasMore`: there are more to look at.
   * About a second behind the records.
   */
  countWaiting(
    places: readonly WaitingPlace[],
    matches: (key: DeliveryKey) => boolean,
    most: number,
  ): Promise<WaitingCount>;
  /** Number of a message's recorded deliveries by status, by default in all buckets; strongly consistent. */
  tally(message: FanOut, buckets?: BucketRange): Promise<StatusCounts>;
}

/** `oldest`: the one that waits longest; absent if none waits. */
export type WaitingCount = { count: number; hasMore: boolean; oldest?: OverdueDelivery };

/** `refused`: another write came first; `current` is the existing record, if any. */
export type SaveResult = { kind: 'saved' } | { kind: 'refused'; current: Recovery | undefined };

/** Deliveries that a recovery listed together: those that it reopened, and those that it skipped. */
export type RecoveryPage = { number: number; keys: readonly DeliveryKey[] };

/** The records of recoveries. */
export interface Recoveries {
  /** Ids begin with the creation time and sort by it (`buildRecoveryId`). @throws if the id exists */
  create(recovery: Recovery): Promise<void>;
  /** Strongly consistent. */
  find(queue: string, id: string): Promise<Recovery | undefined>;
  /** Newest first. @throws InvalidMarkerError */
  list(queue: string, page: PageRequest): Promise<Page<Recovery>>;
  /** Writes the recovery if the stored version is the one before it. */
  save(recovery: Recovery): Promise<SaveResult>;
  /**
   * Stores the keys of the batch as page number `pages` of the recovery. The first content of a page stays; a repeat is
   * a no-op.
   */
  keepPage(recovery: Recovery & { pages: number }): Promise<void>;
  /** The stored pages of a recovery, in their order; strongly consistent. @throws InvalidMarkerError */
  keptPages(queue: string, id: string, page: PageRequest): Promise<Page<RecoveryPage>>;
}
