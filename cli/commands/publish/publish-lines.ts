import { randomUUID } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { postMessages } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { type Json, parseJson, propertySource, wholeSource } from '../../../shared/wire/json-slice.ts';
import { decodedUtf8, type InputLine, inputLines, notReadable } from '../../options/input.ts';
import { jsonText, objectText } from '../../options/arguments.ts';
import type { Terminal } from '../../terminal.ts';

/** Concurrent requests. */
const SIDE_BY_SIDE = 8;

/** The API's limit for one request (docs/api.md). */
const MAX_MESSAGES = 100;

/** An incomplete batch is sent after this pause, so that a slow producer on stdin does not wait for 100 messages. */
const IDLE_MS = 200;

export type PublishLinesOptions = {
  queue: string;
  /** `-` for stdin. */
  file: string;
  bare: boolean;
  defaults: MessageDefaults;
  signal: AbortSignal;
  onPublished: (published: readonly PublishedLine[]) => void;
  onRefused: (refused: RefusedLine) => void;
  /** `done`: the part of the file that was read, 0 to 1; undefined for stdin. */
  onProgress: (done: number | undefined) => void;
};

/** `failure` stopped the run. The lines in `unpublished`, and those after line `read`, were not published. */
export type PublishLinesResult = { read: number; unpublished: number[]; failure?: unknown };

/**
 * Publishes the lines of an input as they are read, with several batches in flight. Invalid lines do not stop the
 * others; any other failure ends the run after the batches in flight.
 */
export async function publishLines(
  api: ApiClient,
  options: PublishLinesOptions,
  terminal: Terminal,
): Promise<PublishLinesResult> {
  const end: PublishLinesResult = { read: 0, unpublished: [] };
  const stopped = new AbortController();
  const signal = AbortSignal.any([options.signal, stopped.signal]);
  const source = openSource(options.file, signal, terminal);
  const inFlight = new Set<Promise<void>>();
  const leave = (batch: readonly OutgoingMessage[]): void => {
    end.unpublished.push(...batch.map(({ line }) => line));
  };
  const post = async (batch: readonly OutgoingMessage[]): Promise<void> => {
    try {
      const { published, refused } = await postBatch(api, options.queue, batch);
      options.onPublished(published);
      refused.forEach(options.onRefused);
    } catch (error) {
      leave(batch);
      end.failure ??= error;
      stopped.abort();
    }
    options.onProgress(source.done());
  };
  let open: OutgoingMessage[] = [];
  const flush = (): void => {
    const batch = open;
    open = [];
    if (signal.aborted) leave(batch);
    else if (batch.length > 0) {
      const posting = post(batch).finally(() => inFlight.delete(posting));
      inFlight.add(posting);
    }
  };
  const take = (line: ReadLine): void => {
    if ('why' in line) {
      options.onRefused(line);
      return;
    }
    if (sizeOf([...open, line]) > MAX_REQUEST_BYTES) flush();
    open.push(line);
    if (open.length === MAX_MESSAGES) flush();
  };
  let idle: NodeJS.Timeout | undefined;
  try {
    for await (const line of linesIn(source.input, { ...options, signal }, end)) {
      clearTimeout(idle);
      take(line);
      if (inFlight.size >= SIDE_BY_SIDE) await Promise.race(inFlight);
      idle = setTimeout(flush, IDLE_MS);
    }
  } catch (cause) {
    end.failure ??= notReadable(options.file, cause);
    stopped.abort();
  }
  clearTimeout(idle);
  flush();
  await Promise.all(inFlight);
  return end;
}

const linesIn = async function* (
  input: Readable,
  { bare, defaults, signal }: PublishLinesOptions,
  end: PublishLinesResult,
): AsyncGenerator<ReadLine> {
  try {
    for await (const line of inputLines(input, MAX_REQUEST_BYTES)) {
      if (signal.aborted) return;
      end.read = line.number;
      const read = readLine(line, { bare, defaults });
      if (read !== undefined) yield read;
    }
  } catch (cause) {
    // Aborted: return normally, so that the caller still receives the incomplete batch.
    if (!signal.aborted) throw cause;
  }
};

type Source = { input: Readable; done: () => number | undefined };

function openSource(file: string, signal: AbortSignal, terminal: Terminal): Source {
  if (file === '-') return { input: addAbortSignal(signal, terminal.stdin), done: () => undefined };
  const input = createReadStream(file);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return {
    input: addAbortSignal(signal, input),
    // A named pipe has no size.
    done: () => (size === 0 ? undefined : Math.min(1, input.bytesRead / size)),
  };
}

/** The API's limit for one request (docs/api.md), including the JSON around the messages. */
const MAX_REQUEST_BYTES = 1_048_576;
const LIST_BYTES = Buffer.byteLength('{"messages":[]}');

/** Of a request, with a comma for each message. */
function sizeOf(batch: readonly OutgoingMessage[]): number {
  return batch.reduce((sum, { bytes }) => sum + bytes + 1, LIST_BYTES);
}

/** Values for messages without these fields. JSON source text. */
export type MessageDefaults = Partial<Record<'type' | 'ttl' | 'delay', string | undefined>>;

/** A message as source text for the API. Its data is unchanged, byte for byte. */
type OutgoingMessage = { line: number; text: string; bytes: number };

type RefusedLine = { line: number; why: string };

type ReadLine = OutgoingMessage | RefusedLine;

const FIELDS: readonly string[] = ['id', 'type', 'data', 'ttl', 'delay'];

/**
 * A message with an id: the given one, or a new one. With ids, a batch whose response was lost can be sent again, and
 * the API recognises the duplicates.
 */
export function outgoingMessage(
  line: number,
  { data, id, type, ttl, delay }: MessageDefaults & { data: string; id?: string },
): OutgoingMessage {
  const text = objectText({ id: id ?? jsonText(randomUUID()), type, ttl, delay, body: data });
  return { line, text, bytes: Buffer.byteLength(text) };
}

/** Reads `{"data", "id"?, "type"?, "ttl"?, "delay"?}`, or with `bare` only the data. Undefined for an empty line. */
function readLine(
  { number, bytes }: InputLine,
  { bare, defaults }: { bare: boolean; defaults: MessageDefaults },
): ReadLine | undefined {
  if (bytes === undefined) return { line: number, why: 'larger than 1 MiB' };
  const text = decodedUtf8(bytes);
  if (text?.trim() === '') return undefined;
  const json = text === undefined ? undefined : parseJson(text);
  if (json === undefined) return { line: number, why: 'not valid JSON in UTF-8' };
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
  if (data === undefined)
    return { line, why: 'field "data" is missing; if each line is the data itself, add --bare' };
  const given = z.record(z.string(), z.unknown()).parse(json.value);
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return { line, why: `unknown field "${unknown}"` };
  return withinLimit(outgoingMessage(line, { ...defaults, ...sources, data }));
}

function withinLimit(message: OutgoingMessage): ReadLine {
  return message.bytes + LIST_BYTES > MAX_REQUEST_BYTES
    ? { line: message.line, why: 'larger than 1 MiB' }
    : message;
}

/** `noSubscription`: the queue had no active one, so that the message matches nothing. */
export type PublishedLine = { line: number; id: string; noSubscription?: true };

type BatchResult = { published: PublishedLine[]; refused: RefusedLine[] };

/**
 * Publishes a batch. The API accepts all messages or none, and names the invalid ones; the rest is sent again without
 * them.
 * @throws ApiRefusal for refusals that name no message; Problem when there is no response
 */
async function postBatch(
  api: ApiClient,
  queue: string,
  batch: readonly OutgoingMessage[],
): Promise<BatchResult> {
  let left = batch;
  const refused: RefusedLine[] = [];
  while (left.length > 0) {
    try {
      const body = `{"messages":[${left.map(({ text }) => text).join(',')}]}`;
      const { ids, ...answer } = await api.call(postMessages, { path: { queue }, body });
      const published = left.flatMap(({ line }, index) => {
        const id = ids[index];
        return id === undefined ? [] : [{ line, id, ...answer }];
      });
      return { published, refused };
    } catch (error) {
      const faults = error instanceof ApiRefusal ? faultsByMessage(error) : new Map<number, string>();
      const named = left.flatMap(({ line }, index) => {
        const why = faults.get(index);
        return why === undefined ? [] : [{ line, why }];
      });
      if (named.length === 0) throw error;
      refused.push(...named);
      left = left.filter((_, index) => !faults.has(index));
    }
  }
  return { published: [], refused };
}

/** Faults by index in the batch: `messages[3].ttl` belongs to the fourth message. */
function faultsByMessage({ fields }: ApiRefusal): Map<number, string> {
  const faults = new Map<number, string>();
  for (const { field, message } of fields) {
    const [, index, name = 'message'] = /^messages\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
    if (index === undefined) continue;
    const before = faults.get(Number(index));
    const shown = name === 'body' ? 'data' : name;
    faults.set(Number(index), `${before === undefined ? '' : `${before}; `}${shown} ${message}`);
  }
  return faults;
}
