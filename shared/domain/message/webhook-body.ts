import type { Message } from './message.ts';

/**
 * The standard request body: `{"id", "queue", "type", "timestamp", "data"}`, absent fields omitted. `data` is
 * inserted as source text, so that big integers, key order and escapes stay as published.
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

/**
 * Placeholder for the body in a `post_data` template; replaced once, so that a template cannot multiply the
 * published size.
 */
export const ZAQAR_MESSAGE = '"$zaqar_message$"';

/** The parts of a `post_data` template before and after the body. `after` is undefined if the template omits it. */
export function partsOfTemplate(template: string): { before: string; after: string | undefined } {
  const at = template.indexOf(ZAQAR_MESSAGE);
  return at < 0
    ? { before: template, after: undefined }
    : { before: template.slice(0, at), after: template.slice(at + ZAQAR_MESSAGE.length) };
}
