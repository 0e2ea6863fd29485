import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { parseJson, propertySource, wholeSource, type Json } from '../../../shared/wire/json-slice.ts';
import type { InputLine } from '../../options/input-lines.ts';
import { objectText, textOf } from '../../options/json-text.ts';

/** The API's limit for one request (docs/api.md), including the JSON around the messages. */
export const MAX_REQUEST_BYTES = 1_048_576;
export const LIST_BYTES = Buffer.byteLength('{"messages":[]}');

/** Values for messages without these fields. JSON source text. */
export type MessageDefaults = Partial<Record<'type' | 'ttl' | 'delay', string | undefined>>;

/** A message as source text for the API. Its data is unchanged, byte for byte. */
export type OutgoingMessage = { line: number; text: string; bytes: number };

export type ReadLine =
  { kind: 'message'; message: OutgoingMessage } | { kind: 'refused'; line: number; why: string };

const FIELDS: readonly string[] = ['id', 'type', 'data', 'ttl', 'delay'];

/** The field names of a JSON object. */
const anyObject = z.record(z.string(), z.unknown()).transform(Object.keys);

/**
 * A message with an id: the given one, or a new one. With ids, a batch whose response was lost can be sent again, and
 * the API recognises the duplicates.
 */
export function outgoingMessage(
  line: number,
  { data, id, type, ttl, delay }: MessageDefaults & { data: string; id?: string },
): OutgoingMessage {
  const text = objectText([
    ['id', id ?? textOf(randomUUID())],
    ['type', type],
    ['ttl', ttl],
    ['delay', delay],
    ['body', data],
  ]);
  return { line, text, bytes: Buffer.byteLength(text) };
}

/** Reads `{"data", "id"?, "type"?, "ttl"?, "delay"?}`, or with `bare` only the data. Undefined for an empty line. */
export function readLine(
  { number, bytes }: InputLine,
  { bare, defaults }: { bare: boolean; defaults: MessageDefaults },
): ReadLine | undefined {
  if (bytes === undefined) return { kind: 'refused', line: number, why: 'larger than 1 MiB' };
  const text = decodedUtf8(bytes);
  if (text?.trim() === '') return undefined;
  const json = text === undefined ? undefined : parseJson(text);
  if (json === undefined) return { kind: 'refused', line: number, why: 'not valid JSON in UTF-8' };
  if (bare) return withinLimit(outgoingMessage(number, { ...defaults, data: wholeSource(json) }));
  return messageIn(json, number, defaults);
}

function messageIn(json: Json, line: number, defaults: MessageDefaults): ReadLine {
  const sources = Object.fromEntries(
    FIELDS.flatMap((name) => {
      const source = propertySource(json, name);
      return source === undefined ? [] : [[name, source]];
    }),
  );
  const { data } = sources;
  if (data === undefined) {
    return {
      kind: 'refused',
      line,
      why: 'field "data" is missing; if each line is the data itself, add --bare',
    };
  }
  const unknown = anyObject.parse(json.value).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return { kind: 'refused', line, why: `unknown field "${unknown}"` };
  return withinLimit(outgoingMessage(line, { ...defaults, ...sources, data }));
}

function withinLimit(message: OutgoingMessage): ReadLine {
  return message.bytes + LIST_BYTES > MAX_REQUEST_BYTES
    ? { kind: 'refused', line: message.line, why: 'larger than 1 MiB' }
    : { kind: 'message', message };
}

function decodedUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
