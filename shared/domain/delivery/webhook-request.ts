import type { Message } from '../message/message.ts';
import { confirmationIdOf } from '../subscription/confirmation.ts';
import { subscriberOf } from '../subscription/destination.ts';
import type { SigningSecret } from '../subscription/signing-secret.ts';
import type { Subscription } from '../subscription/subscription.ts';
import { bodyOf, partsOfTemplate } from '../message/webhook-body.ts';
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

function renderedBody(message: Message, { options, unconfirmed }: Subscription): Buffer {
  // A subscriber must be able to read the confirmation request, even if its options ask for another body.
  if (unconfirmed !== undefined && message.id === confirmationIdOf(unconfirmed)) return usualBody(message);
  if (options.raw_delivery === true) return rawBody(message);
  if (options.post_data === undefined) return usualBody(message);
  const { post_data: template } = options;
  const { before, after } = partsOfTemplate(template);
  if (after === undefined) return Buffer.from(before);
  return Buffer.concat([Buffer.from(before), usualBody(message), Buffer.from(after)]);
}

const usualBody = renderedOnce(bodyOf);
const rawBody = renderedOnce(({ data }) => data);

/**
 * The first attempts of a chunk share one rendering: 100 copies of up to 1 MiB would exhaust the function's memory.
 */
function renderedOnce(render: (message: Message) => string): (message: Message) => Buffer {
  const rendered = new WeakMap<Message, Buffer>();
  return (message) => {
    const bytes = rendered.get(message) ?? Buffer.from(render(message));
    rendered.set(message, bytes);
    return bytes;
  };
}

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
  message: Message,
  subscription: Subscription,
  { startedAt, userAgent, secrets }: AttemptContext,
): WebhookRequest {
  const body = renderedBody(message, subscription);
  const timestamp = Math.floor(startedAt / 1000);
  return {
    url: subscriberOf(subscription.destination),
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
  /** `webhook-id`. Message ids contain no full stop (`messageIdOf`), so the three signed parts are unambiguous. */
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
  return secrets.map((secret) => `${secret.scheme},${signatureOf(secret, content)}`).join(' ');
}

function signatureOf({ scheme, key }: SigningSecret, { id, timestamp, body }: SignedContent): string {
  const head = `${id}.${timestamp}.`;
  switch (scheme) {
    case 'v1':
      // Two updates avoid a copy of the body per request.
      return createHmac('sha256', key).update(head).update(body).digest('base64');
    case 'v1a':
      return sign(null, Buffer.concat([Buffer.from(head), Buffer.from(body)]), key).toString('base64');
  }
}
