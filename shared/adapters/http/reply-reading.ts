import { isAscii } from 'node:buffer';
import type { Reply } from '../../domain/retry/outcome.ts';
import { DELIVERY_REQUESTS, type DeliveryRequest } from '../../domain/retry/vocabulary.ts';

/** Names and values alternate, as received. */
type RawHeaders = readonly string[];

/** Collects a response while it arrives. */
export type ReplyReading = {
  /** Sets the final status and headers. `dropped`: the headers are too long, and the rest is not needed. */
  start: (statusCode: number, headers: RawHeaders) => 'going_on' | 'dropped';
  /** Adds a piece of the body. `dropped`: the body is too long, and the rest is not needed. */
  add: (chunk: Buffer) => 'going_on' | 'dropped';
  /** The response so far; undefined until there is a status. */
  reply: () => Reply | undefined;
};

/** Bytes. Longer headers or bodies are dropped; the status still counts. */
const MAX_HEADERS = 16 * 1024;
const MAX_BODY = 64 * 1024;
const MAX_SNIPPET = 256;
/** Characters. An HTTP date has 29, a number of seconds less. */
const MAX_RETRY_AFTER = 64;

export function readReply(): ReplyReading {
  let answered: Omit<Extract<Reply, { kind: 'answered' }>, 'kind' | 'snippet'> | undefined;
  let beginning: Buffer = Buffer.alloc(0);
  let bodyBytes = 0;

  return {
    start: (statusCode, headers) => {
      const isTooLong = sizeOf(headers) > MAX_HEADERS;
      answered = { statusCode, ...(isTooLong ? {} : { ...retryAfterOf(headers), ...requestOf(headers) }) };
      return isTooLong ? 'dropped' : 'going_on';
    },
    add: (chunk) => {
      bodyBytes += chunk.length;
      const wanted = MAX_SNIPPET - beginning.length;
      // A copy: the chunk is a view of a buffer that the parser reuses.
      if (wanted > 0) beginning = Buffer.concat([beginning, chunk.subarray(0, wanted)]);
      return bodyBytes > MAX_BODY ? 'dropped' : 'going_on';
    },
    reply: () => {
      if (answered === undefined) return undefined;
      const snippet = snippetOf(beginning);
      return { kind: 'answered', ...answered, ...(snippet === '' ? {} : { snippet }) };
    },
  };
}

/** Reads like `readReply`, and keeps what a response is parsed from. */
export type WholeReading = ReplyReading & {
  /** All of the body that has arrived and was not dropped. */
  body: () => Buffer;
  contentType: () => string | undefined;
};

export function readWhole(): WholeReading {
  const reading = readReply();
  // In one piece: a body may arrive in pieces of one byte.
  const body = Buffer.allocUnsafe(MAX_BODY);
  let length = 0;
  let contentType: string | undefined;
  return {
    ...reading,
    start: (statusCode, headers) => {
      [contentType] = valuesOf(headers, 'content-type');
      return reading.start(statusCode, headers);
    },
    add: (chunk) => {
      length += chunk.copy(body, length);
      return reading.add(chunk);
    },
    body: () => body.subarray(0, length),
    contentType: () => contentType,
  };
}

/** Control characters, and those that change the direction of the text after them. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * At most 256 bytes of printable UTF-8, cut between characters. Invalid bytes become U+FFFD, which takes three
 * bytes, so the text is cut again after cleaning.
 */
export function snippetOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return '';
  const clean = textOf(bytes.subarray(0, MAX_SNIPPET)).replaceAll(UNPRINTABLE, ' ');
  if (Buffer.byteLength(clean) <= MAX_SNIPPET) return clean;
  const { read } = new TextEncoder().encodeInto(clean, new Uint8Array(MAX_SNIPPET));
  return clean.slice(0, read);
}

/** Most responses are ASCII, which needs no decoder. */
function textOf(bytes: Uint8Array): string {
  return isAscii(bytes)
    ? Buffer.from(bytes).toString('latin1')
    : // `stream` omits a character that the cut left incomplete.
      new TextDecoder().decode(bytes, { stream: true });
}

/** Header text has one character for each byte received; 4 more bytes are ": " and the line end. */
export function sizeOf(headers: RawHeaders): number {
  return headers.reduce((total, text) => total + text.length + 2, 0);
}

/** The first value, if there are several. */
function retryAfterOf(headers: RawHeaders): { retryAfter?: string } {
  const [value = ''] = valuesOf(headers, 'retry-after');
  return value === '' || value.length > MAX_RETRY_AFTER ? {} : { retryAfter: value };
}

/** Only one known word counts: what several lines or a list ask for is unclear, and disabling is drastic. */
function requestOf(headers: RawHeaders): { asks?: DeliveryRequest } {
  const [value, ...others] = valuesOf(headers, 'webhook-delivery');
  const asks = DELIVERY_REQUESTS.find((word) => word === value?.toLowerCase());
  return asks === undefined || others.length > 0 ? {} : { asks };
}

/** `wanted`: in lower case. */
function valuesOf(headers: RawHeaders, wanted: string): readonly string[] {
  return headers.flatMap((text, index) =>
    index % 2 === 0 && text.length === wanted.length && text.toLowerCase() === wanted
      ? [headers[index + 1]?.trim() ?? '']
      : [],
  );
}
