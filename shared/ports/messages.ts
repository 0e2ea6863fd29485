import type { BodyLocation } from '../domain/message/body.ts';
import type { LaterPart } from '../domain/delivery/fan-out.ts';
import type { MessageFacts } from '../domain/delivery/message-detail.ts';
import type { MessageKey } from '../domain/message/message.ts';
import type { Retained } from '../domain/retention.ts';
import type { AcceptedVersion } from '../domain/message/version.ts';
import type { Page, PageRequest } from './page.ts';

/** The record of an accepted message. Times are milliseconds since the epoch. */
export type MessageRecord = Retained &
  MessageFacts & {
    /**
     * When the first page of subscriptions was read; subscriptions created later do not match from that page, also
     * for repeats.
     */
    listedAt: number;
    buckets: number;
    /** First bucket, if earlier buckets contain deliveries of an earlier queue of the name. */
    firstBucket?: number;
    /**
     * Creation time of the accepting queue. Absent on records of version 0.1.0 and for messages that Posthaste sends
     * itself.
     */
    queueCreatedAt?: number;
    /** Chunks per bucket; undefined: each delivery has a separate record. */
    chunks?: number;
    /** Subscriptions whose deliveries are in no chunk, because they were failing when the message was sent. */
    unchunked?: readonly string[];
    /**
     * Later parts of a message to several pages of subscriptions. All but the last part were sent completely; a
     * repeat sends the last one again.
     */
    parts?: readonly LaterPart[];
    /** Absent on records of version 0.1.0 and for messages that bypass the ingress queue. */
    accepted?: AcceptedVersion;
    /** Inline: on the MESSAGE item. */
    body?: BodyLocation;
    expiresAt: number;
  };

type Acceptance = { kind: 'accepted' | 'duplicate'; record: MessageRecord };

/** Identifies a message whose id may be reused in another queue of its name. */
export type AcceptedMessage = { key: MessageKey; acceptedAt: number };

/** `kept`: a body is stored, this one or an earlier one. `forgotten`: the record no longer exists. */
export type BodyState = 'kept' | 'erased' | 'forgotten';

/**
 * Recorded by dispatch before it sends a message to more subscriptions. `matched`, `filtered` and `unchunked` are those
 * of the part.
 */
export type NextPart = {
  part: LaterPart;
  /** Undefined: the part extends to the end of the list. */
  lastSubscriptionId: string | undefined;
  matched: number;
  filtered: number;
  unchunked: readonly string[];
};

/**
 * `refused`: another invocation continued from the same record first. `current`: the record now; undefined if it is
 * gone or belongs to another message.
 */
export type PartResult =
  | { kind: 'added'; record: MessageRecord }
  | { kind: 'refused'; current: MessageRecord | undefined };

export interface MessageRecords {
  /**
   * Creates the record, or replaces one of an earlier queue of the name (shared/domain/delivery/recreated-queue.ts). Otherwise
   * counts a duplicate and returns the stored record. `sentAt`: send time of the message, if known.
   */
  accept(record: MessageRecord, sentAt?: number): Promise<Acceptance>;
  /** Adds a part if the stored record has as many parts as `record`. */
  addPart(record: MessageRecord, next: NextPart): Promise<PartResult>;
  /** Strongly consistent. */
  find(key: MessageKey): Promise<MessageRecord | undefined>;
  /**
   * Stores the body unless one was stored or erased, and extends the record's retention to at least `expiresAt`. A
   * record of another message with the same id counts as forgotten.
   */
  keepBody(message: AcceptedMessage, body: BodyLocation, expiresAt: number): Promise<BodyState>;
  /** Erases the body permanently and returns the updated record; undefined: no record. Idempotent. */
  eraseBody(key: MessageKey, at: number): Promise<MessageRecord | undefined>;
}

/** Selects messages of a queue by acceptance time. Milliseconds since the epoch. */
export type MessageWindow = {
  queue: string;
  /** Inclusive. */
  since: number;
  /** Exclusive. */
  until: number;
};

export type ListedMessage = { key: MessageKey; acceptedAt: number };

/**
 * Read from an index, about a second behind the records. The work per page is bounded: over hours without messages
 * a page may be short or empty and still have a marker.
 */
export interface MessageListings {
  /** Oldest first. @throws InvalidMarkerError */
  accepted(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
  /** Newest first. @throws InvalidMarkerError */
  newest(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
}
