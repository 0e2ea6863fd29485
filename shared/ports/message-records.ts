import type { MessageBody } from '../domain/message-body.ts';
import type { MessageKey } from '../domain/message.ts';

/** The record of an accepted message. Times are milliseconds since the epoch. */
export type MessageRecord = {
  key: MessageKey;
  acceptedAt: number;
  /** When the list of subscriptions was read; one created later does not match, however often the message comes. */
  listedAt: number;
  type?: string;
  matched: number;
  filtered: number;
  duplicates: number;
  buckets: number;
  /** Inline: on the MESSAGE item itself. */
  body?: MessageBody;
  expiresAt: number;
};

export interface MessageRecords {
  /** Writes the record if there is none; else counts a duplicate and answers with the record as it stands. */
  accept(record: MessageRecord): Promise<{ kind: 'accepted' | 'duplicate'; record: MessageRecord }>;
  /** Strongly consistent. */
  find(key: MessageKey): Promise<MessageRecord | undefined>;
  /** Keeps the body, if none is kept yet, and lets the record live until `expiresAt` at least. */
  keepBody(key: MessageKey, body: MessageBody, expiresAt: number): Promise<void>;
}
