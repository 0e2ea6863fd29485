import { standardBody } from './payload.ts';
import type { Message, MessageKey } from './message.ts';
import { hash } from 'node:crypto';

/** Where a message is stored: inline, or in the payload bucket. */
export type BodyLocation = { kind: 'inline'; message: Message } | { kind: 'stored'; payloadKey: string };

/** Larger messages are stored in the payload bucket by dispatch instead of travelling in the jobs. */
export const MAX_BODY_IN_JOB = 64 * 1024;

/** Kept messages up to this size are stored on the MESSAGE item, larger ones in the payload bucket. */
export const MAX_BODY_ON_RECORD = 8 * 1024;

/** Size of the standard request body in bytes. */
export function bodyBytes(message: Message): number {
  return Buffer.byteLength(standardBody(message));
}

/**
 * Key of a message in the payload bucket. Contains a digest of the stored content, so that another message with the
 * same id cannot overwrite what retries of the accepted one read.
 */
export function toPayloadKey({ queue, id, originalId, type, timestamp, expiresAt, data }: Message): string {
  const stored = JSON.stringify([originalId, type, timestamp, expiresAt, data]);
  const digest = hash('sha256', stored, 'base64url').slice(0, 16);
  return `${toPayloadPrefix({ queue, messageId: id })}${digest}`;
}

/** Common prefix of all keys of a message, and of no others. */
export function toPayloadPrefix({ queue, messageId }: MessageKey): string {
  return `${queue}/${messageId}/`;
}
