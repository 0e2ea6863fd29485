import { createHash } from 'node:crypto';
import type { Message, MessageKey } from './message.ts';

/**
 * The payload bucket's key of a message. It holds a digest of the data, so that a second message under the same id
 * never overwrites what the first one's retries will read.
 */
export const payloadKeyOf = (message: Message): string => {
  const digest = createHash('sha256').update(message.data).digest('base64url').slice(0, 16);
  return `${payloadPrefixOf({ queue: message.queue, messageId: message.id })}${digest}`;
};

/** What all keys of a message, and no others, begin with. */
export const payloadPrefixOf = ({ queue, messageId }: MessageKey): string => `${queue}/${messageId}/`;
