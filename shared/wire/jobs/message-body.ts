import * as z from 'zod';
import type { Message } from '../../domain/message/message.ts';
import { parseJson, propertySource } from '../json-slice.ts';
import { firstField } from '../fields.ts';

/** Version of the encodings in this folder. A reader also understands the version before its own (docs/design.md#where-the-body-is). */
export const WIRE_VERSION = 1;

/** Text that should be a message of ours and is not. Says which part, never what was in it. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';
  readonly reason: string;
  constructor(reason: string) {
    super(`The stored message cannot be read: ${reason}`);
    this.reason = reason;
  }
}

const version = z.object({ v: z.literal(WIRE_VERSION) });

const head = z.object({
  queue: z.string(),
  id: z.string(),
  originalId: z.string().exactOptional(),
  type: z.string().exactOptional(),
  timestamp: z.string(),
  expiresAt: z.number().exactOptional(),
});

/**
 * A message as JSON. `data` stands in it as its own source text, neither escaped nor printed anew, so that what
 * `decodeMessage` slices out again is what was published, byte for byte.
 */
export function encodeMessage(message: Message): string {
  const { queue, id, originalId, type, timestamp, expiresAt, data } = message;
  return spliceRaw({ v: WIRE_VERSION, queue, id, originalId, type, timestamp, expiresAt }, 'data', data);
}

/** @throws UnreadableMessageError when the text is not what `encodeMessage` writes. */
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

/** The JSON of a non-empty object with one more property, whose value is given as JSON source text. */
export function spliceRaw(fields: Record<string, unknown>, name: string, source: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(name)}:${source}}`;
}
