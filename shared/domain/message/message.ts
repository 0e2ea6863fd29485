import { createHash } from 'node:crypto';
import type { TraceContext } from './trace-context.ts';

/** A published message in normalised form. */
export type Message = {
  queue: string;
  /** Safe in keys and headers; see `toMessageId`. */
  id: string;
  /** The producer's id, if `id` is a hash of it. */
  originalId?: string;
  type?: string;
  /** RFC 3339 with milliseconds. */
  timestamp: string;
  /** Source text of the JSON value, byte for byte as published; never reserialised. */
  data: string;
  /** No attempt starts after this time, in milliseconds since the epoch. */
  expiresAt?: number;
  /** Its producer's, which subscribers get. */
  trace?: TraceContext;
};

/** A message without its data. */
export type MessageHead = Omit<Message, 'data'>;

/** Whether no attempt may start at this time any more, in milliseconds since the epoch. */
export function isExpired({ expiresAt }: { expiresAt?: number | undefined }, at: number): boolean {
  return expiresAt !== undefined && expiresAt <= at;
}

/** Identifies a message's record. */
export type MessageKey = { queue: string; messageId: string };

export const QUEUE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MESSAGE_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const QUEUE_NAME_RULE = '1 to 64 of A-Z a-z 0-9 _ . -';

/** A type is free text, but short, because every record of the message stores it. */
export const MAX_TYPE_LENGTH = 256;

/** Longest `ttl` in the ingress queue: exceeds any retention, and is safe to add to a time. */
export const MAX_TTL_SECONDS = 2 ** 31 - 1;

export function isQueueName(name: string): boolean {
  return QUEUE_NAME.test(name);
}

/** Whether a text can be the id of a message, as `toMessageId` makes them. */
export function isMessageId(id: string): boolean {
  return MESSAGE_ID.test(id);
}

/**
 * The message id for a producer's id (docs/ingress.md#ids): the same id if it is safe as a key and unique, else a
 * hash. A CloudEvents id is unique only together with its `source`, so it is always hashed.
 */
export function toMessageId(given: { id: string; source?: string }): { id: string; originalId?: string } {
  if (given.source === undefined && isMessageId(given.id)) return { id: given.id };
  const digest = createHash('sha256')
    .update(JSON.stringify([given.source ?? '', given.id]))
    .digest('base64url');
  return { id: `x_${digest}`, originalId: given.id };
}
