import type { BodyLocation } from '../domain/message/body.ts';
import type { LaterPart } from '../domain/delivery/fan-out.ts';
import type { MessageKey } from '../domain/message/message.ts';
import type { AcceptedVersion } from '../domain/message/version.ts';
import type { Page, PageRequest } from './page.ts';

/** The record of an accepted message. Times are milliseconds since the epoch. */
export type MessageRecord = {
  key: MessageKey;
  acceptedAt: number;
  /** When the first page of subscriptions was read; one of it created later does not match, however often the message comes. */
  listedAt: number;
  type?: string;
  matched: number;
  filtered: number;
  duplicates: number;
  buckets: number;
  /** The first of them, where those before it hold deliveries of an earlier life of the queue. */
  firstBucket?: number;
  /** When the queue was created that accepted it. Absent on records of version 0.1.0, and of messages of our own. */
  life?: number;
  /** How many chunks each bucket's deliveries are divided into; undefined: each is on record by itself. */
  chunks?: number;
  /** Subscriptions whose deliveries are in none of the chunks, because they were failing when the message was sent to them. */
  apart?: readonly string[];
  /** Of a message to more than one page of subscriptions. All but the last part were sent; a repeat sends that one again. */
  parts?: readonly LaterPart[];
  /** The last subscription of the last part, while the message was not sent to those behind it; `matched` and `filtered` grow with them. */
  until?: string;
  /** Absent on records of version 0.1.0, and of messages that do not come through the ingress queue. */
  accepted?: AcceptedVersion;
  /** Inline: on the MESSAGE item itself. */
  body?: BodyLocation;
  /** When the body was erased by hand; then there is none, and none is kept again. */
  erasedAt?: number;
  expiresAt: number;
};

type Acceptance = { kind: 'accepted' | 'duplicate'; record: MessageRecord };

/** One of the messages that an id may have stood for: each life of its queue has its own. */
export type AcceptedMessage = { key: MessageKey; acceptedAt: number };

/** `kept`: a body is on record, this one or the one before it. `forgotten`: there is no such record any more. */
export type BodyState = 'kept' | 'erased' | 'forgotten';

/** What dispatch puts on record before it sends a message to more subscriptions. `matched`, `filtered` and `apart`: those of the part. */
export type NextPart = {
  part: LaterPart;
  /** Undefined: it goes to the end of the list. */
  until: string | undefined;
  matched: number;
  filtered: number;
  apart: readonly string[];
};

/** `refused`: another invocation went on first, from the same record. `current`: as it stands; undefined where it is gone, or another message's. */
export type PartResult =
  { kind: 'added'; record: MessageRecord } | { kind: 'refused'; current: MessageRecord | undefined };

export interface MessageRecords {
  /**
   * Writes the record if there is none, or takes the place of one of an earlier life of the queue
   * (shared/domain/message/life.ts); else counts a duplicate and answers with the record as it stands. `sentAt`: when the
   * message was sent, if known.
   */
  accept(record: MessageRecord, sentAt?: number): Promise<Acceptance>;
  /** Adds a part, if the record has as many parts as the given one. */
  addPart(record: MessageRecord, next: NextPart): Promise<PartResult>;
  /** Strongly consistent. */
  find(key: MessageKey): Promise<MessageRecord | undefined>;
  /**
   * Keeps the body, if none is kept yet and none was erased, and lets the record live until `expiresAt` at least. The record
   * of another message under the same id counts as forgotten.
   */
  keepBody(message: AcceptedMessage, body: BodyLocation, expiresAt: number): Promise<BodyState>;
  /** Takes the body off the record for good. Answers with the record after it; undefined: there is none. Safe to repeat. */
  eraseBody(key: MessageKey, at: number): Promise<MessageRecord | undefined>;
}

/** Messages of a queue by when they were accepted. Times are milliseconds since the epoch. */
export type MessageWindow = {
  queue: string;
  /** At or after. */
  since: number;
  /** Before. */
  until: number;
};

export type ListedMessage = { key: MessageKey; acceptedAt: number };

/**
 * Read from an index, a second or so behind the records. What one page reads is bounded: over hours without a message it is
 * short, or empty, and has a marker all the same.
 */
export interface MessageListings {
  /** The oldest first. @throws InvalidMarkerError */
  accepted(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
  /** The newest first. @throws InvalidMarkerError */
  newest(window: MessageWindow, page: PageRequest): Promise<Page<ListedMessage>>;
}
