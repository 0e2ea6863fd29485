import * as z from 'zod';
import { hashToken } from '../subscription/confirmation.ts';
import type { Queue } from '../subscription/subscription.ts';
import { CAPABILITIES } from './vocabulary.ts';

/** How long a session lasts once its link is opened. */
export const SESSION_SECONDS = 8 * 3600;

/** How long a link can be opened, in seconds. */
export const LINK_SECONDS = { least: 60, most: 7 * 86_400, default: 3600 } as const;

/** Requests that a session may make in a minute: a page that polls, and a person who is in a hurry. */
export const REQUESTS_PER_MINUTE = 120;

const SESSION_ID = '[A-Za-z0-9_-]{1,40}';

export const SESSION_ID_RULE = '1 to 40 of A-Z a-z 0-9 _ -';

export function isSessionId(text: string): boolean {
  return new RegExp(`^${SESSION_ID}$`).test(text);
}

/**
 * `name`: the session id and a random part, so that several links can share an id. It is the session name of the role, which
 * allows 64 characters (`AssumeRole`, STS API reference).
 */
export type PortalKey = { queue: string; name: string };

/** `tokenHash`: base64url SHA-256 of the token, which is not stored. */
const shared = z.object({
  queue: z.string(),
  name: z.string(),
  /** Of the queue when the link was made. */
  incarnation: z.number(),
  capabilities: z.array(z.enum(CAPABILITIES)).readonly(),
  /** The event types that endpoints may choose. @default all */
  eventTypes: z.array(z.string()).readonly().exactOptional(),
  tokenHash: z.string(),
  /** When the link, or the session, ends. Milliseconds since the epoch. */
  expiresAt: z.number(),
});

const portalLinkSchema = shared.extend({ state: z.literal('link') });
export const portalSessionSchema = shared.extend({ state: z.literal('session') });

/** A link becomes the session, so that it can be used once. Each has another token. */
export const portalAccessSchema = z.discriminatedUnion('state', [portalLinkSchema, portalSessionSchema]);

export type PortalAccess = z.infer<typeof portalAccessSchema>;
export type PortalLink = z.infer<typeof portalLinkSchema>;
export type PortalSession = z.infer<typeof portalSessionSchema>;

/** Differs for a queue that was made again, and for one that was restored: both end what was given out before. */
export function findIncarnation({ createdAt, restoredAt }: Queue): number {
  return restoredAt ?? createdAt;
}

type RandomBytes = (bytes: number) => Uint8Array;

/** As long as the hash that is stored instead. */
const SECRET_BYTES = 32;
const NAME_BYTES = 16;

function random(randomBytes: RandomBytes, bytes: number): string {
  return Buffer.from(randomBytes(bytes)).toString('base64url');
}

/** An id for a link whose maker gives none. */
export function makeSessionId(randomBytes: RandomBytes): string {
  return random(randomBytes, NAME_BYTES);
}

export function makeSessionName(sessionId: string, randomBytes: RandomBytes): string {
  return `${sessionId}.${random(randomBytes, NAME_BYTES)}`;
}

/** The id in the name of a session. */
export function pickSessionId(name: string): string {
  return name.replace(/\..*$/, '');
}

/** Of tokens, so that scanners of leaked secrets can find them. */
const PREFIXES = { link: 'phlink', session: 'phsession' } as const;

export type PortalTokenKind = keyof typeof PREFIXES;

/** A new token of a link or session. It says where its hash is stored. */
export function makePortalToken(kind: PortalTokenKind, { queue, name }: PortalKey, randomBytes: RandomBytes) {
  const token = `${PREFIXES[kind]}_${name}.${random(randomBytes, SECRET_BYTES)}.${queue}`;
  return { token, tokenHash: hashToken(token) };
}

/** More than the longest token has. In characters. */
export const MAX_PORTAL_TOKEN = 256;

/** Where the hash of a token would be stored. Undefined: the text cannot be one, so nothing needs to be read for it. */
export function parsePortalToken(kind: PortalTokenKind, text: string): PortalKey | undefined {
  const form = new RegExp(
    `^${PREFIXES[kind]}_(?<name>${SESSION_ID}\\.[A-Za-z0-9_-]{22})\\.[A-Za-z0-9_-]{43}\\.(?<queue>[A-Za-z0-9_.-]{1,64})$`,
  );
  const { name, queue } = form.exec(text)?.groups ?? {};
  return name === undefined || queue === undefined ? undefined : { queue, name };
}

/**
 * The name of the session that an assumed role has. Undefined for the caller that has another role. `roleArn`: of IAM
 * (`arn:aws:iam::123456789012:role/name`).
 */
export function findSessionName(callerArn: string | undefined, roleArn: string): string | undefined {
  const prefix = `${roleArn.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/`;
  return callerArn?.startsWith(prefix) ? callerArn.slice(prefix.length) : undefined;
}
