import { hash } from 'node:crypto';
import type { DataReference } from './data-reference.ts';
import type { Message } from './message.ts';

/** What a producer says of a message beside its id, as it said it. `ttl` and `delay` are seconds. */
type Said = {
  type?: string | undefined;
  timestamp?: string | undefined;
  ttl?: number | undefined;
  delay?: number | undefined;
  /** JSON source text, or where it is stored. */
  data: string | DataReference;
};

/**
 * Tells the versions apart that are published under one id. A version does not depend on when it was sent, so a producer
 * that sends a message again, or an operator who redrives it, sends the same one.
 */
export function versionOf({ type, timestamp, ttl, delay, data }: Said): string {
  const source = typeof data === 'string' ? data : [data.bucket, data.key, data.versionId];
  // 96 bits: two versions of one message never meet by chance, and the record of every message carries it.
  return hash('sha256', JSON.stringify([type, timestamp, ttl, delay, source]), 'base64url').slice(0, 16);
}

/**
 * The version that was accepted, with what was derived from when its first copy was sent. `expiresAt`: milliseconds since the
 * epoch.
 */
export type AcceptedVersion = { digest: string } & Pick<Message, 'timestamp' | 'expiresAt'>;

export function acceptedVersion(
  digest: string,
  { timestamp, expiresAt }: Pick<Message, 'timestamp' | 'expiresAt'>,
): AcceptedVersion {
  return { digest, timestamp, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** The message as it was accepted, made of a later copy of the same version. */
export function withAcceptedVersion(
  { expiresAt: _ofThisCopy, ...copy }: Message,
  { timestamp, expiresAt }: AcceptedVersion,
): Message {
  return { ...copy, timestamp, ...(expiresAt === undefined ? {} : { expiresAt }) };
}
