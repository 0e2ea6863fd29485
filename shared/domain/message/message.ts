import { createHash } from 'node:crypto';

/** What a producer published, normalised. */
export type Message = {
  queue: string;
  /** Safe in keys and headers; see `messageIdOf`. */
  id: string;
  /** The producer's own id where `id` had to be made from it. */
  originalId?: string;
  type?: string;
  /** RFC 3339 with milliseconds. */
  timestamp: string;
  /** The source text of the JSON value, byte for byte as published. Never parsed and printed again. */
  data: string;
  /** Milliseconds since the epoch after which no attempt is made. */
  expiresAt?: number;
};

/** All of it but its data. */
export type MessageHead = Omit<Message, 'data'>;

/** A message's place in the records. */
export type MessageKey = { queue: string; messageId: string };

export const QUEUE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MESSAGE_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const QUEUE_NAME_RULE = '1 to 64 of A-Z a-z 0-9 _ . -';

export function isQueueName(name: string): boolean {
  return QUEUE_NAME.test(name);
}

/**
 * The message id for what the producer gave (docs/ingress.md#ids): its own where it is safe and unique by itself, else a hash.
 * A `source` (CloudEvents) makes an id unique only together with it, so such an id is always hashed.
 */
export function messageIdOf(given: { id: string; source?: string }): { id: string; originalId?: string } {
  if (given.source === undefined && MESSAGE_ID.test(given.id)) return { id: given.id };
  const digest = createHash('sha256')
    .update(JSON.stringify([given.source ?? '', given.id]))
    .digest('base64url');
  return { id: `x_${digest}`, originalId: given.id };
}
