import type { Message, MessageKey } from '../domain/message.ts';

/** Messages too large for a job or a record. The adapter encodes them (shared/messages/message-body.ts). */
export interface Payloads {
  put(payloadKey: string, message: Message): Promise<void>;
  /** Undefined: there is no such object. */
  get(payloadKey: string): Promise<Message | undefined>;
  /** Nothing to remove is no error. */
  remove(payloadKey: string): Promise<void>;
  /** Everything that was ever put for a message, under whatever key. */
  removeAll(message: MessageKey): Promise<void>;
}
