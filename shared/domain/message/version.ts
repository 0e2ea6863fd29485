import { hash } from 'node:crypto';
import type { DataReference } from './data-reference.ts';
import type { Message } from './message.ts';

/** A message as published, without its id. `ttl` and `delay` are seconds. */
type PublishedContent = {
  type?: string | undefined;
  timestamp?: string | undefined;
  ttl?: number | undefined;
  delay?: number | undefined;
  /** JSON source text, or a reference to it. */
  data: string | DataReference;
};

/**
 * Digest that distinguishes versions published under one id. Independent of the send time, so that a repeat by a
 * producer or a redrive is the same version.
 */
export function hashVersion({ type, timestamp, ttl, delay, data }: PublishedContent): string {
  const source = typeof data === 'string' ? data : [data.bucket, data.key, data.versionId];
  // 96 bits: no accidental collisions between versions, and small, because every message record stores it.
  return hash('sha256', JSON.stringify([type, timestamp, ttl, delay, source]), 'base64url').slice(0, 16);
}

/**
 * The version of a message that Posthaste sends to one subscription, such as a test. No published message has it, so
 * dispatch sends none under the same id.
 */
export const VERSION_FOR_ONE = 'for_one';

/**
 * The accepted version, and values derived from the send time of its first copy. `expiresAt`: milliseconds since
 * the epoch.
 */
export type AcceptedVersion = { digest: string } & Pick<Message, 'timestamp' | 'expiresAt'>;

export function acceptedVersion(
  digest: string,
  { timestamp, expiresAt }: Pick<Message, 'timestamp' | 'expiresAt'>,
): AcceptedVersion {
  return { digest, timestamp, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** The accepted message, rebuilt from a later copy of the same version. */
export function withAcceptedVersion(
  { expiresAt: _ofThisCopy, ...copy }: Message,
  { timestamp, expiresAt }: AcceptedVersion,
): Message {
  return { ...copy, timestamp, ...(expiresAt === undefined ? {} : { expiresAt }) };
}
