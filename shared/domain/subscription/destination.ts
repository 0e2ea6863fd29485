import type { StoredAuth } from './auth.ts';
import type { PullToken } from './pull-token.ts';

/**
 * Where the deliveries of a subscription go. A kind has only the fields that it needs. Code that depends on the kind is
 * a `switch` without default, so a new kind fails to compile there.
 */
export type Destination = WebhookDestination | PullDestination;

/** Called by HTTP. `auth`: how requests authenticate. */
export type WebhookDestination = { kind: 'webhook'; url: string; auth?: StoredAuth };

/**
 * Never called: its receiver fetches the deliveries (docs/pull.md). `name`: distinguishes the destinations of a queue;
 * may be empty. `tokens`: the current one first.
 */
export type PullDestination = { kind: 'pull'; name: string; tokens?: readonly PullToken[] };

const PULL = 'pull:';

/** A destination from Zaqar's `subscriber`: `pull:` and a name, or a URL. */
export function parseDestination(subscriber: string): Destination {
  return subscriber.startsWith(PULL)
    ? { kind: 'pull', name: subscriber.slice(PULL.length) }
    : { kind: 'webhook', url: subscriber };
}

/** Zaqar's `subscriber`. */
export function subscriberOf(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return destination.url;
    case 'pull':
      return `${PULL}${destination.name}`;
  }
}

/** Equal for destinations that call the same receiver: the URL without its fragment, which is not sent. */
export function destinationIdentity(destination: Destination): string {
  switch (destination.kind) {
    case 'webhook':
      return urlIdentity(destination.url);
    case 'pull':
      return subscriberOf(destination);
  }
}

function urlIdentity(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.hash = '';
  return url.href;
}

/** How requests to the destination authenticate; undefined: they do not, or there are none. */
export function authOf(destination: Destination): StoredAuth | undefined {
  switch (destination.kind) {
    case 'webhook':
      return destination.auth;
    case 'pull':
      return undefined;
  }
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
  return originOf(before) !== originOf(after);
}

/** Scheme, host and port; undefined: nothing is called. */
export function originOf(destination: Destination): string | undefined {
  switch (destination.kind) {
    case 'webhook':
      return URL.parse(destination.url)?.origin;
    case 'pull':
      return undefined;
  }
}
