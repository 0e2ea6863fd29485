import type { Message } from '../message/message.ts';
import { confirmationIdOf } from '../subscription/confirmation.ts';
import type { SigningSecret } from '../subscription/signing-secret.ts';
import type { Subscription } from '../subscription/subscription.ts';
import { createHmac, sign } from 'node:crypto';

/** One attempt's request, ready to be sent: the bytes of `body` are the bytes on the wire. */
export type WebhookRequest = {
  url: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: string;
};

/** Header names a subscription cannot set: ours, and those that frame the request (RFC 9110, RFC 9112). */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
]);

/**
 * The body as the subscriber sees it: `{"id", "queue", "type", "timestamp", "data"}`, absent fields left out.
 * `data` is spliced in as its source text, so that big integers, key order and escapes arrive as published.
 */
export function bodyOf(message: Message): string {
  const head = {
    id: message.originalId ?? message.id,
    queue: message.queue,
    type: message.type,
    timestamp: message.timestamp,
  };
  return `${JSON.stringify(head).slice(0, -1)},"data":${message.data}}`;
}

/** Where the body goes in a `post_data` template; once, so that a template cannot multiply what a producer sends. */
export const ZAQAR_MESSAGE = '"$zaqar_message$"';

function renderedBody(message: Message, { options, unconfirmed }: Subscription): string {
  // Whoever is asked to confirm has to be able to read the question, whatever form the answer to it will bring about.
  if (unconfirmed !== undefined && message.id === confirmationIdOf(unconfirmed)) return bodyOf(message);
  if (options.raw_delivery === true) return message.data;
  const body = bodyOf(message);
  return options.post_data === undefined ? body : options.post_data.replace(ZAQAR_MESSAGE, () => body);
}

/** What an attempt adds to what is sent. `startedAt` is in milliseconds since the epoch. */
type AttemptMade = {
  startedAt: number;
  userAgent: string;
  /** Those in force when it started. Without any it goes out unsigned. */
  secrets: readonly SigningSecret[];
};

/**
 * The request of one attempt. Headers after the Standard Webhooks specification: `webhook-id` is the message id and
 * constant over attempts, `webhook-timestamp` is the attempt's own, in whole seconds, and `webhook-signature` covers
 * both and the body.
 */
export function webhookRequest(
  message: Message,
  subscription: Subscription,
  { startedAt, userAgent, secrets }: AttemptMade,
): WebhookRequest {
  const body = renderedBody(message, subscription);
  const timestamp = Math.floor(startedAt / 1000);
  return {
    url: subscription.subscriber,
    headers: {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...lowerCased(subscription.options.post_headers ?? {}),
      'accept-encoding': 'identity',
      'webhook-id': message.id,
      'webhook-timestamp': String(timestamp),
      ...(secrets.length === 0
        ? {}
        : { 'webhook-signature': signatureHeader(secrets, { id: message.id, timestamp, body }) }),
    },
    body,
  };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => !RESERVED_HEADERS.has(name)),
  );
}

/** What a signature covers. */
type SignedContent = {
  /** `webhook-id`. A message id holds no full stop (`messageIdOf`), so the three parts cannot run into each other. */
  id: string;
  /** `webhook-timestamp`: the attempt's start, in whole seconds since the epoch. */
  timestamp: number;
  /** The text whose UTF-8 bytes are sent. */
  body: string;
};

/**
 * `webhook-signature` after the Standard Webhooks specification: a signature for each secret, in their order, so that a
 * receiver that knows one of them finds its own while another takes its place.
 */
export function signatureHeader(secrets: readonly SigningSecret[], content: SignedContent): string {
  const signed = Buffer.from(`${content.id}.${content.timestamp}.${content.body}`);
  return secrets.map((secret) => `${secret.scheme},${signatureOf(secret, signed)}`).join(' ');
}

function signatureOf({ scheme, key }: SigningSecret, signed: Buffer): string {
  switch (scheme) {
    case 'v1':
      return createHmac('sha256', key).update(signed).digest('base64');
    case 'v1a':
      return sign(null, signed, key).toString('base64');
  }
}
