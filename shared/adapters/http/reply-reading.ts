import { isAscii } from 'node:buffer';
import type { Reply } from '../../domain/delivery/outcome.ts';

/** As they came: names and values in turn. */
type RawHeaders = readonly string[];

/** What is kept of an answer while it comes in. */
export type ReplyReading = {
  /** The final status and its headers. `dropped`: they are too long, nothing more is wanted of this answer. */
  start: (statusCode: number, headers: RawHeaders) => 'going_on' | 'dropped';
  /** A piece of the body. `dropped`: it is too long, nothing more is wanted of this answer. */
  add: (chunk: Buffer) => 'going_on' | 'dropped';
  /** The answer as far as it has come; undefined as long as there is no status. */
  reply: () => Reply | undefined;
};

/** Bytes. A body, or headers, beyond it are dropped; the status counts all the same. */
const MAX_HEADERS = 16 * 1024;
const MAX_BODY = 64 * 1024;
const MAX_SNIPPET = 256;
/** Characters. An HTTP date has 29, a number of seconds less. */
const MAX_RETRY_AFTER = 64;

export function readReply(): ReplyReading {
  let answered: { statusCode: number; retryAfter?: string } | undefined;
  let beginning: Buffer = Buffer.alloc(0);
  let bodyBytes = 0;

  return {
    start: (statusCode, headers) => {
      const isTooLong = sizeOf(headers) > MAX_HEADERS;
      const retryAfter = isTooLong ? undefined : retryAfterOf(headers);
      answered = { statusCode, ...(retryAfter === undefined ? {} : { retryAfter }) };
      return isTooLong ? 'dropped' : 'going_on';
    },
    add: (chunk) => {
      bodyBytes += chunk.length;
      const wanted = MAX_SNIPPET - beginning.length;
      // A copy: the chunk is a view of a buffer that the parser uses again.
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

/** Control characters, and those that turn the direction of what is printed after them. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * At most 256 bytes of printable UTF-8, cut between characters. Bytes that are no UTF-8 become U+FFFD, which takes
 * three, so that the text is cut once more after it was cleaned.
 */
export function snippetOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return '';
  const clean = textOf(bytes.subarray(0, MAX_SNIPPET)).replaceAll(UNPRINTABLE, ' ');
  if (Buffer.byteLength(clean) <= MAX_SNIPPET) return clean;
  const { read } = new TextEncoder().encodeInto(clean, new Uint8Array(MAX_SNIPPET));
  return clean.slice(0, read);
}

/** Most answers are ASCII, for which no decoder has to be made. */
function textOf(bytes: Uint8Array): string {
  return isAscii(bytes)
    ? Buffer.from(bytes).toString('latin1')
    : // `stream` leaves a character off that the cut has left incomplete.
      new TextDecoder().decode(bytes, { stream: true });
}

/** Header text has one character for each byte on the wire; 4 for ": " and the line's end. */
export function sizeOf(headers: RawHeaders): number {
  return headers.reduce((total, text) => total + text.length + 2, 0);
}

/** The first, if there are several. */
function retryAfterOf(headers: RawHeaders): string | undefined {
  const name = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === 'retry-after');
  const value = name < 0 ? '' : (headers[name + 1]?.trim() ?? '');
  return value === '' || value.length > MAX_RETRY_AFTER ? undefined : value;
}
