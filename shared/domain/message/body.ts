import { bodyOf } from '../delivery/webhook-request.ts';
import type { Message, MessageKey } from './message.ts';
import { hash } from 'node:crypto';

/** Where a message is: here, or under a key of the payload bucket. */
export type BodyLocation = { kind: 'inline'; message: Message } | { kind: 'stored'; payloadKey: string };

/** Above this the message is put into the payload bucket by dispatch instead of travelling inside the jobs. */
export const MAX_BODY_IN_JOB = 64 * 1024;

/** Up to this a kept message lies on the MESSAGE item, else in the payload bucket. */
export const MAX_BODY_ON_RECORD = 8 * 1024;

/** Bytes of the message as a subscriber would get it. */
export function bodyBytes(message: Message): number {
  return Buffer.byteLength(bodyOf(message));
}

/**
 * The payload bucket's key of a message. It holds a digest of all that is stored there, so that whatever else comes under the
 * same id never overwrites what the accepted one's retries will read.
 */
export function payloadKeyOf({ queue, id, originalId, type, timestamp, expiresAt, data }: Message): string {
  const stored = JSON.stringify([originalId, type, timestamp, expiresAt, data]);
  const digest = hash('sha256', stored, 'base64url').slice(0, 16);
  return `${payloadPrefixOf({ queue, messageId: id })}${digest}`;
}

/** What all keys of a message, and no others, begin with. */
export function payloadPrefixOf({ queue, messageId }: MessageKey): string {
  return `${queue}/${messageId}/`;
}
