import type { DataReferenceFault } from '../domain/vocabulary.ts';
import type { DataReference } from '../domain/message/data-reference.ts';
import type { Message, MessageKey } from '../domain/message/message.ts';

/** Messages too large for a job or a record. The adapter encodes them (shared/wire/jobs/message-body.ts). */
export interface Payloads {
  put(payloadKey: string, message: Message): Promise<void>;
  /** Undefined: there is no such object. */
  get(payloadKey: string): Promise<Message | undefined>;
  /** Nothing to remove is no error. */
  remove(payloadKey: string): Promise<void>;
  /** Everything that was ever put for a message, under whatever key. */
  removeAll(message: MessageKey): Promise<void>;
}

export type ReadData = { ok: true; data: string } | { ok: false; reason: DataReferenceFault };

/** Objects of producers that hold the data of messages. */
export interface ReferencedData {
  /**
   * JSON source text, read only if the object belongs to that account and is not too large.
   * @throws for faults that pass.
   */
  read(reference: DataReference, owner: string): Promise<ReadData>;
}
