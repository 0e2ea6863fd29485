import type { DataReferenceFault } from '../domain/message/vocabulary.ts';
import type { DataReference } from '../domain/message/data-reference.ts';
import type { Message, MessageKey } from '../domain/message/message.ts';

/**
 * Storage of messages too large for a job or a record. The adapter encodes them (shared/wire/jobs/message-body.ts).
 */
export interface Payloads {
  put(payloadKey: string, message: Message): Promise<void>;
  /** Undefined: no such object. */
  get(payloadKey: string): Promise<Message | undefined>;
  /** A missing object is not an error. */
  remove(payloadKey: string): Promise<void>;
  /** Removes all stored versions of a message. */
  removeAll(message: MessageKey): Promise<void>;
}

export type ReadDataResult = { ok: true; data: string } | { ok: false; reason: DataReferenceFault };

/** S3 objects of producers that contain the data of messages. */
export interface ReferencedData {
  /**
   * The JSON source text of an object, read only if its bucket belongs to the account `owner` and it is not too
   * large.
   * @throws for transient faults.
   */
  read(reference: DataReference, owner: string): Promise<ReadDataResult>;
}
