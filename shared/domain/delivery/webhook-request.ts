import type { Message } from '../message/message.ts';
import type { Payload } from '../message/payload.ts';
import { toSubscriber } from '../subscription/destination.ts';
import type { SigningSecret } from '../subscription/signing-secret.ts';
import type { Subscription } from '../subscription/subscription.ts';
import { createHmac, sign } from 'node:crypto';

/** The request of one attempt; `body` holds the exact bytes that are sent. */
export type WebhookRequest = {
  url: string;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** Shared by all requests of a message: read-only. */
  body: Buffer;
};

/**
 * Header names that a subscription cannot set: Posthaste's headers, and those that frame the request (RFC 9110, RFC
 * 9112).
 */
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

/** What an attempt adds to the request. `startedAt`: milliseconds since the epoch. */
type AttemptContext = {
  startedAt: number;
  userAgent: string;
  /** Secrets in force when the attempt started. Empty: the request is unsigned. */
  secrets: readonly SigningSecret[];
};

/**
 * The request of one attempt, with headers as in the Standard Webhooks specification. `webhook-id` is the message
 * id, constant over attempts. `webhook-timestamp` is the attempt's start in whole seconds. `webhook-signature`
 * covers both and the body.
 */
export function webhookRequest(
  message: Pick<Message, 'id' | 'trace'>,
  { body }: Pick<Payload, 'body'>,
  subscription: Pick<Subscription, 'destination' | 'options'>,
  { startedAt, userAgent, secrets }: AttemptContext,
): WebhookRequest {
  const timestamp = Math.floor(startedAt / 1000);
  return {
    url: toSubscriber(subscription.destination),
    headers: {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...lowerCased(subscription.options.post_headers ?? {}),
      ...message.trace,
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

type SignedContent = {
  /** `webhook-id`. Message ids contain no full stop (`toMessageId`), so the three signed parts are unambiguous. */
  id: string;
  /** `webhook-timestamp`: start of the attempt, in whole seconds since the epoch. */
  timestamp: number;
  /** The sent bytes, or a text that is sent as UTF-8. */
  body: Uint8Array | string;
};

/**
 * The `webhook-signature` header of the Standard Webhooks specification: one signature per secret, in order, so
 * that a receiver that knows any of them can verify the request during a rotation.
 */
export function signatureHeader(secrets: readonly SigningSecret[], content: SignedContent): string {
  return secrets.map((secret) => `${secret.scheme},${computeSignature(secret, content)}`).join(' ');
}

function computeSignature({ scheme, key }: SigningSecret, { id, timestamp, body }: SignedContent): string {
  const head = `${id}.${timestamp}.`;
  switch (scheme) {
    case 'v1':
      // Two updates avoid a copy of the body per request.
      return createHmac('sha256', key).update(head).update(body).digest('base64');
    case 'v1a':
      return sign(null, Buffer.concat([Buffer.from(head), Buffer.from(body)]), key).toString('base64');
  }
}
