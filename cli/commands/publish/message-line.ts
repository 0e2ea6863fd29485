import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { parseJson, propertySource, wholeSource, type Json } from '../../../shared/wire/json-slice.ts';
import type { InputLine } from '../../options/input-lines.ts';
import { objectText, textOf } from '../../options/json-text.ts';

/** One request of the API holds as much (docs/api.md), with the list around it. */
export const MOST_REQUEST_BYTES = 1_048_576;
export const LIST_BYTES = Buffer.byteLength('{"messages":[]}');

/** What a message has that brings none of its own. JSON source text. */
export type Defaults = { type?: string; ttl?: string; delay?: string };

/** A message as the API takes it, as source text. Its data is what was given, byte for byte. */
export type Outgoing = { line: number; text: string; bytes: number };

export type ReadLine =
  { kind: 'message'; message: Outgoing } | { kind: 'refused'; line: number; why: string };

const FIELDS: readonly string[] = ['id', 'type', 'data', 'ttl', 'delay'];

/** Its names. */
const anyObject = z.record(z.string(), z.unknown()).transform(Object.keys);

/**
 * A message has an id when it leaves, its own or a new one: a batch whose answer was lost can be sent once more without
 * anybody getting it twice.
 */
export function outgoing(
  line: number,
  { data, id, type, ttl, delay }: Defaults & { data: string; id?: string },
): Outgoing {
  const text = objectText([
    ['id', id ?? textOf(randomUUID())],
    ['type', type],
    ['ttl', ttl],
    ['delay', delay],
    ['body', data],
  ]);
  return { line, text, bytes: Buffer.byteLength(text) };
}

/** `{"data", "id"?, "type"?, "ttl"?, "delay"?}`, or with `bare` the data alone. Undefined: an empty line. */
export function readLine(
  { number, bytes }: InputLine,
  { bare, defaults }: { bare: boolean; defaults: Defaults },
): ReadLine | undefined {
  if (bytes === undefined) return { kind: 'refused', line: number, why: 'is over 1 MiB' };
  const text = decodedUtf8(bytes);
  if (text?.trim() === '') return undefined;
  const json = text === undefined ? undefined : parseJson(text);
  if (json === undefined) return { kind: 'refused', line: number, why: 'is not JSON in UTF-8' };
  if (bare) return fitting(outgoing(number, { ...defaults, data: wholeSource(json) }));
  return messageIn(json, number, defaults);
}

function messageIn(json: Json, line: number, defaults: Defaults): ReadLine {
  const sources = Object.fromEntries(
    FIELDS.flatMap((name) => {
      const source = propertySource(json, name);
      return source === undefined ? [] : [[name, source]];
    }),
  );
  const { data } = sources;
  if (data === undefined) {
    return { kind: 'refused', line, why: 'has no data; for lines that are the data themselves, add --bare' };
  }
  const unknown = anyObject.parse(json.value).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    return { kind: 'refused', line, why: `has a field that is not known: ${unknown}` };
  return fitting(outgoing(line, { ...defaults, ...sources, data }));
}

function fitting(message: Outgoing): ReadLine {
  return message.bytes + LIST_BYTES > MOST_REQUEST_BYTES
    ? { kind: 'refused', line: message.line, why: 'is over 1 MiB' }
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
