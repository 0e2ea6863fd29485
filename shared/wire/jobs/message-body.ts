import * as z from 'zod';
import { isMessageId, type Message, QUEUE_NAME } from '../../domain/message/message.ts';
import { traceContextSchema } from '../../domain/message/trace-context.ts';
import { parseJson, propertySource, spliceRaw, type Json } from '../json-slice.ts';
import { readWith, type Reading, unreadable } from '../fields.ts';

/**
 * Version of the encodings in this folder. Readers also understand the previous version
 * (docs/architecture.md#where-the-body-is).
 */
export const WIRE_VERSION = 1;

const envelope = z.object({ v: z.unknown().optional() });

/**
 * The content of a versioned text. Unknown keys are ignored. Reasons: `not_json`, `unknown_version`, `unknown_kind`,
 * `invalid_field:<path>`.
 */
export function readVersioned<Value>(
  schema: z.ZodType<Value>,
  text: string,
): Reading<{ json: Json; value: Value }> {
  const json = parseJson(text);
  if (json === undefined) return unreadable('not_json');
  const outer = readWith(envelope, json.value);
  if (!outer.ok) return outer;
  if (outer.value.v !== WIRE_VERSION) return unreadable('unknown_version');
  const read = readWith(schema, json.value);
  if (read.ok) return { ok: true, value: { json, value: read.value } };
  return read.reason === 'invalid_field:kind' ? unreadable('unknown_kind') : read;
}

/** A stored message is malformed. Names the part, never its content. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
  constructor(reason: string) {
    super(`The stored message cannot be read: ${reason}`);
  }
}

/** Both are parts of keys: in S3, a key of more than 1,024 bytes is refused. */
export const messageKeyFields = {
  queue: z.string().regex(QUEUE_NAME),
  id: z.string().refine(isMessageId),
};

/** Fields beside its key and its data. */
export const messageFields = {
  originalId: z.string().exactOptional(),
  type: z.string().exactOptional(),
  timestamp: z.string(),
  expiresAt: z.number().exactOptional(),
  trace: traceContextSchema.exactOptional(),
};

const head = z.object({ ...messageKeyFields, ...messageFields });

/**
 * Encodes a message as JSON. `data` is inserted as source text, so that `readMessage` returns it byte for byte as
 * published.
 */
export function encodeMessage(message: Message): string {
  const { queue, id, originalId, type, timestamp, expiresAt, trace, data } = message;
  const head = { v: WIRE_VERSION, queue, id, originalId, type, timestamp, expiresAt, trace };
  return spliceRaw(head, 'data', data);
}

/** Reads the result of `encodeMessage`. Another reason than those of `readVersioned`: `data_missing`. */
export function readMessage(text: string): Reading<Message> {
  const read = readVersioned(head, text);
  if (!read.ok) return read;
  const { json, value } = read.value;
  const data = propertySource(json, 'data');
  return data === undefined ? unreadable('data_missing') : { ok: true, value: { ...value, data } };
}

/** The same. @throws UnreadableMessageError for any other text */
export function decodeMessage(text: string): Message {
  const read = readMessage(text);
  if (!read.ok) throw new UnreadableMessageError(read.reason);
  return read.value;
}
