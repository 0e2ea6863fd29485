import * as z from 'zod';
import { storedAuthSchema, type StoredAuth } from './auth.ts';

/** Called by HTTP. `auth`: how requests authenticate. */
export const webhookSchema = z.object({
  kind: z.literal('webhook'),
  url: z.string(),
  auth: storedAuthSchema.exactOptional(),
});

/**
 * A token by which a subscriber without AWS credentials receives: base64url SHA-256 of the token, which is not stored.
 * `expiresAt`: of a replaced token; milliseconds since the epoch.
 */
const pullTokenSchema = z.object({ tokenHash: z.string(), expiresAt: z.number().exactOptional() });

/**
 * Never called: its receiver fetches the deliveries (docs/pull.md). `name`: distinguishes the destinations of a queue;
 * may be empty. `tokens`: the current one first.
 */
export const pullSchema = z.object({
  kind: z.literal('pull'),
  name: z.string(),
  tokens: z.array(pullTokenSchema).readonly().exactOptional(),
});

/**
 * Where the deliveries of a subscription go. A kind has only the fields that it needs. Code that depends on the kind is
 * a `switch` without default, so a new kind fails to compile there.
 */
export const destinationSchema = z.discriminatedUnion('kind', [webhookSchema, pullSchema]);

export type Destination = z.infer<typeof destinationSchema>;
export type WebhookDestination = z.infer<typeof webhookSchema>;
export type PullDestination = z.infer<typeof pullSchema>;

const PULL = 'pull:';

/** A destination from Zaqar's `subscriber`: `pull:` and a name, or a URL. */
export function parseDestination(subscriber: string): Destination {
  return subscriber.startsWith(PULL)
    ? { kind: 'pull', name: subscriber.slice(PULL.length) }
    : { kind: 'webhook', url: subscriber };
}

/** Zaqar's `subscriber`. */
export function toSubscriber(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return destination.url;
    case 'pull':
      return `${PULL}${destination.name}`;
  }
}

/** The destination, if it is called by HTTP. */
export function asWebhook(destination: Destination): WebhookDestination | undefined {
  switch (destination.kind) {
    case 'webhook':
      return destination;
    case 'pull':
      return undefined;
  }
}

/** The destination, if its receiver fetches the deliveries. */
export function asPull(destination: Destination): PullDestination | undefined {
  switch (destination.kind) {
    case 'webhook':
      return undefined;
    case 'pull':
      return destination;
  }
}

/** Whether we set the pace. A receiver that fetches sets its own. */
export function isPaced({ kind }: Destination): boolean {
  switch (kind) {
    case 'webhook':
      return true;
    case 'pull':
      return false;
  }
}

/** What logs may show of `toSubscriber`: paths of URLs can contain tokens. */
export function formatPublicName(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return findOrigin(destination) ?? 'unknown';
    case 'pull':
      return toSubscriber(destination);
  }
}

/** Equal for destinations that call the same receiver: the URL without its fragment, which is not sent. */
export function destinationIdentity(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return urlIdentity(destination.url);
    case 'pull':
      return toSubscriber(destination);
  }
}

function urlIdentity(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.hash = '';
  return url.href;
}

/** How requests to the destination authenticate; undefined: they do not, or there are none. */
export function findAuth(destination: Destination): StoredAuth | undefined {
  return asWebhook(destination)?.auth;
}

/** The destination with these credentials in place of the earlier ones. */
export function withAuth(destination: Destination, auth: StoredAuth | undefined): Destination {
  switch (destination.kind) {
    case 'webhook':
      return { kind: 'webhook', url: destination.url, ...(auth && { auth }) };
    case 'pull':
      return destination;
  }
}

/** `wanted` with the credentials and tokens of `current`. Both have one kind. */
export function movedTo(wanted: Destination, current: Destination): Destination {
  switch (current.kind) {
    case 'webhook':
      return withAuth(wanted, current.auth);
    case 'pull':
      return { ...current, ...wanted };
  }
}

/**
 * Whether scheme, host or port differ, so that another host may answer; credentials for the old one must not be
 * sent to it.
 */
export function hasNewOrigin(before: Destination, after: Destination): boolean {
  return findOrigin(before) !== findOrigin(after);
}

/** Scheme, host and port; undefined: nothing is called. */
export function findOrigin(destination: Destination): string | undefined {
  const url = asWebhook(destination)?.url;
  return url === undefined ? undefined : URL.parse(url)?.origin;
}
