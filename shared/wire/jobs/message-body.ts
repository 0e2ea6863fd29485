import * as z from 'zod';
import { isMessageId, type Message, QUEUE_NAME } from '../../domain/message/message.ts';
import { traceContextSchema } from '../../domain/message/trace-context.ts';
import { parseJson, propertySource, spliceRaw, type Json } from '../json-slice.ts';
import { firstField, readWith, type Reading, unreadable } from '../fields.ts';

/**
 * Version of the encodings in this folder. Readers also understand the previous version
 * (docs/architecture.md#where-the-body-is).
 */
export const WIRE_VERSION = 1;

const envelope = z.object({ v: z.unknown().optional(), kind: z.unknown().optional() });

/** The content of a versioned SQS message, and its kind. Reasons: `not_json`, `unknown_version`. */
export function openEnvelope(text: string): Reading<{ json: Json; kind: unknown }> {
  const json = parseJson(text);
  if (json === undefined) return unreadable('not_json');
  const outer = readWith(envelope, json.value);
  if (!outer.ok) return outer;
  const { v, kind } = outer.value;
  return v === WIRE_VERSION ? { ok: true, value: { json, kind } } : unreadable('unknown_version');
}

/** A stored message is malformed. Names the part, never its content. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
  readonly reason: string;
  constructor(reason: string) {
    super(`The stored message cannot be read: ${reason}`);
    this.reason = reason;
  }
}

const version = z.object({ v: z.literal(WIRE_VERSION) });

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
 * Encodes a message as JSON. `data` is inserted as source text, so that `decodeMessage` returns it byte for byte as
 * published.
 */
export function encodeMessage(message: Message): string {
  const { queue, id, originalId, type, timestamp, expiresAt, trace, data } = message;
  const head = { v: WIRE_VERSION, queue, id, originalId, type, timestamp, expiresAt, trace };
  return spliceRaw(head, 'data', data);
}

/** Decodes the result of `encodeMessage`. @throws UnreadableMessageError for any other text */
export function decodeMessage(text: string): Message {
  const json = parseJson(text);
  if (json === undefined) throw new UnreadableMessageError('not_json');
  if (!version.safeParse(json.value).success) throw new UnreadableMessageError('unknown_version');
  const parsed = head.safeParse(json.value);
  if (!parsed.success) throw new UnreadableMessageError(`invalid_field:${firstField(parsed.error)}`);
  const data = propertySource(json, 'data');
  if (data === undefined) throw new UnreadableMessageError('data_missing');
  return { ...parsed.data, data };
}
