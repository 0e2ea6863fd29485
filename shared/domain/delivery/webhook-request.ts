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
  /** Shared by the requests of a message: not to be written to. */
  body: Buffer;
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

function renderedBody(message: Message, { options, unconfirmed }: Subscription): Buffer {
  // Whoever is asked to confirm has to be able to read the question, whatever form the answer to it will bring about.
  if (unconfirmed !== undefined && message.id === confirmationIdOf(unconfirmed)) return usualBody(message);
  if (options.raw_delivery === true) return rawBody(message);
  if (options.post_data === undefined) return usualBody(message);
  const { post_data: template } = options;
  const at = template.indexOf(ZAQAR_MESSAGE);
  if (at < 0) return Buffer.from(template);
  const [before, after] = [template.slice(0, at), template.slice(at + ZAQAR_MESSAGE.length)];
  return Buffer.concat([Buffer.from(before), usualBody(message), Buffer.from(after)]);
}

const usualBody = renderedOnce(bodyOf);
const rawBody = renderedOnce(({ data }) => data);

/** The first attempts of a chunk share one rendering: with up to 1 MiB for each of a hundred the function is out of memory. */
function renderedOnce(render: (message: Message) => string): (message: Message) => Buffer {
  const rendered = new WeakMap<Message, Buffer>();
  return (message) => {
    const bytes = rendered.get(message) ?? Buffer.from(render(message));
    rendered.set(message, bytes);
    return bytes;
  };
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
  /** What is sent: the bytes, or a text whose UTF-8 bytes they are. */
  body: Uint8Array | string;
};

/**
 * `webhook-signature` after the Standard Webhooks specification: a signature for each secret, in their order, so that a
 * receiver that knows one of them finds its own while another takes its place.
 */
export function signatureHeader(secrets: readonly SigningSecret[], content: SignedContent): string {
  return secrets.map((secret) => `${secret.scheme},${signatureOf(secret, content)}`).join(' ');
}

function signatureOf({ scheme, key }: SigningSecret, { id, timestamp, body }: SignedContent): string {
  const head = `${id}.${timestamp}.`;
  switch (scheme) {
    case 'v1':
      // In two pieces: put together, they would be a copy of the body for each request.
      return createHmac('sha256', key).update(head).update(body).digest('base64');
    case 'v1a':
      return sign(null, Buffer.concat([Buffer.from(head), Buffer.from(body)]), key).toString('base64');
  }
}
