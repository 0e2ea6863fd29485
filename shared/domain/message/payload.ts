import { buildConfirmationId } from '../subscription/confirmation.ts';
import type { Subscription } from '../subscription/subscription.ts';
import type { Message } from './message.ts';

/** The exact bytes that a receiver gets of a message. Copies of the message share them: read-only. */
export type Payload = { kind: 'rendered'; body: Buffer };

/** Why there are no such bytes. `detail`: for the record of the attempt; nothing of the message. */
export type RenderFault = { kind: 'unrendered'; detail: string };

/**
 * The payload of a message for one subscription, by push and by pull, in the API and in the console. A fault is final:
 * nothing raw is sent in its place.
 */
export type Render = (message: Message, subscription: Subscription) => Promise<Payload | RenderFault>;

/** Renders as the options of the subscription say, which cannot fail. */
export const render: Render = (message, subscription) =>
  Promise.resolve({ kind: 'rendered', body: bodyFor(message, subscription) });

function bodyFor(message: Message, { options, unconfirmed }: Subscription): Buffer {
  // A subscriber must be able to read the confirmation request, even if its options ask for another body.
  if (unconfirmed !== undefined && message.id === buildConfirmationId(unconfirmed))
    return standardBytes(message);
  if (options.raw_delivery === true) return rawBytes(message);
  if (options.post_data === undefined) return standardBytes(message);
  const { before, after } = partsOfTemplate(options.post_data);
  if (after === undefined) return Buffer.from(before);
  return Buffer.concat([Buffer.from(before), standardBytes(message), Buffer.from(after)]);
}

const standardBytes = renderedOnce(standardBody);
const rawBytes = renderedOnce(({ data }) => data);

/**
 * The first attempts of a chunk share one rendering: 100 copies of up to 1 MiB would exhaust the function's memory.
 */
function renderedOnce(textOf: (message: Message) => string): (message: Message) => Buffer {
  const rendered = new WeakMap<Message, Buffer>();
  return (message) => {
    const bytes = rendered.get(message) ?? Buffer.from(textOf(message));
    rendered.set(message, bytes);
    return bytes;
  };
}

/**
 * The standard request body: `{"id", "queue", "type", "timestamp", "data"}`, absent fields omitted. `data` is
 * inserted as source text, so that big integers, key order and escapes stay as published.
 */
export function standardBody(message: Message): string {
  const head = {
    id: message.originalId ?? message.id,
    queue: message.queue,
    type: message.type,
    timestamp: message.timestamp,
  };
  return `${JSON.stringify(head).slice(0, -1)},"data":${message.data}}`;
}

/**
 * Placeholder for the body in a `post_data` template; replaced once, so that a template cannot multiply the
 * published size.
 */
export const ZAQAR_MESSAGE = '"$zaqar_message$"';

/** The parts of a `post_data` template before and after the body. `after` is undefined if the template omits it. */
function partsOfTemplate(template: string): { before: string; after: string | undefined } {
  const at = template.indexOf(ZAQAR_MESSAGE);
  return at < 0
    ? { before: template, after: undefined }
    : { before: template.slice(0, at), after: template.slice(at + ZAQAR_MESSAGE.length) };
}
