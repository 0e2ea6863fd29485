import { isAscii } from 'node:buffer';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { WebhookRequest } from '../../domain/delivery/webhook-request.ts';
import type { Reply } from '../../domain/retry/outcome.ts';
import { DELIVERY_REQUESTS, type DeliveryRequest } from '../../domain/retry/vocabulary.ts';
import { classifyFault, timeoutFault } from './connection-fault.ts';
import { REUSABLE_FOR_MS } from './idle-connections.ts';

/**
 * Not imported: an import reads all exports of a module, and `WebSocket` is one of them, for which Node loads undici. That
 * takes a seventh of a cold start.
 */
const http = process.getBuiltinModule('node:http');

/** An amount of incoming data. Lines matter because each costs the parser time and memory. */
export type ReceivedAmount = { readonly bytes: number; readonly lines: number };

type ExchangeOptions = {
  /** Collects the response. */
  reading: ReplyReading;
  /** The most that may arrive before the status; evaluated for every piece. */
  beforeStatus: () => ReceivedAmount;
  /** Aborts at the deadline of the attempt. */
  signal: AbortSignal;
};

/**
 * Milliseconds for the body after the status. The body serves only the snippet and the reuse of the connection,
 * so a slow one is not worth the rest of the deadline.
 */
const BODY_MS = 5_000;

/**
 * Limit in bytes on everything received on the connection, including data that is neither header nor body and
 * could be endless (blank lines before the status, chunk extensions, trailers).
 */
export const MAX_RECEIVED = 384 * 1024;

/** Bytes. Above `MAX_RECEIVED`, so that the status is read however long the headers are (see reply-reading). */
const MAX_PARSED_HEADERS = 512 * 1024;

/**
 * Most informational responses (RFC 9110 §15.2) before the final one. Servers send one or two; each costs CPU.
 */
const MAX_INFORMATIONAL = 100;

const FLOODED_REPLY: Reply = {
  kind: 'unanswered',
  error: 'invalid_response',
  detail: 'no end before an answer',
};

/** `isReusable`: the connection may carry another request; otherwise it is destroyed. */
export type Exchanged = { reply: Reply; isWhole: boolean; isReusable: boolean };

/**
 * Sends one request on a connection and returns the reply. The first event that ends the exchange decides; later
 * ones are ignored.
 * @throws for a header that cannot be sent
 */
export function exchange(
  socket: Socket,
  url: URL,
  request: WebhookRequest,
  { reading, beforeStatus, signal }: ExchangeOptions,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    const { body } = request;
    let hasEnded = false;
    let informational = 0;
    let bodyTimer: NodeJS.Timeout | undefined;

    const outgoing = requestOn(socket, {
      path: url.pathname + url.search,
      setHost: false,
      headers: {
        host: url.host,
        connection: 'keep-alive',
        ...request.headers,
        'content-length': String(body.length),
      },
      maxHeaderSize: MAX_PARSED_HEADERS,
    });

    const end = (reply: Reply, { isWhole = false, isReusable = false } = {}): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(bodyTimer);
      signal.removeEventListener('abort', cutShort);
      socket.off('data', meter);
      if (!isReusable) outgoing.destroy();
      resolve({ reply, isWhole, isReusable });
    };
    const endEarly = (unanswered: Reply): void => {
      end(reading.reply() ?? unanswered);
    };
    /** Stops waiting: the part of the response that has arrived is the reply. */
    const cutShort = (): void => {
      endEarly({ kind: 'unanswered', ...timeoutFault('connected') });
    };
    const received = { bytes: 0, lines: 0 };
    const meter = (piece: Buffer): void => {
      received.bytes += piece.length;
      received.lines += linesIn(piece);
      if (isOver(received, reading.reply() === undefined ? beforeStatus() : MAX_WITH_STATUS))
        endEarly(FLOODED_REPLY);
    };

    const receive = (response: IncomingMessage): void => {
      const isReusable = keepsAlive(response);
      response.on('error', () => {
        endEarly(BROKEN_OFF_REPLY);
      });
      if (hasEnded) return;
      const { statusCode = 0, rawHeaders } = response;
      const head = { bytes: countBytes(rawHeaders), lines: rawHeaders.length / 2 };
      if (statusCode < 100) end({ kind: 'unanswered', error: 'invalid_response', detail: 'not HTTP/1.1' });
      else if (isOver(head, beforeStatus())) end(FLOODED_REPLY);
      else if (reading.start(statusCode, rawHeaders) === 'dropped') cutShort();
      else bodyTimer = setTimeout(cutShort, BODY_MS);
      response.on('data', (chunk: Buffer) => {
        if (reading.add(chunk) === 'dropped') cutShort();
      });
      // From now on data is delivered as it is parsed: an error in the same packet would discard buffered data.
      response.read(0);
      response.once('end', () => {
        const reply = reading.reply();
        // A request that was not fully read stays in memory; closing the connection frees it.
        if (reply !== undefined)
          end(reply, { isWhole: true, isReusable: isReusable && outgoing.writableFinished });
      });
    };

    signal.addEventListener('abort', cutShort, { once: true });
    outgoing.once('socket', () => {
      // After the parser's listener, so that the status is already known.
      socket.on('data', meter);
    });
    outgoing.on('information', () => {
      informational += 1;
      if (informational > MAX_INFORMATIONAL) endEarly(FLOODED_REPLY);
    });
    outgoing.once('response', receive);
    outgoing.once('upgrade', (_response, upgraded: Socket) => {
      upgraded.destroy();
      end({ kind: 'unanswered', error: 'invalid_response', detail: 'bad upgrade' });
    });
    outgoing.on('error', (error) => {
      endEarly({ kind: 'unanswered', ...classifyFault(error, 'connected') });
    });
    outgoing.end(body);
    if (signal.aborted) cutShort();
  });
}

function requestOn(socket: Socket, options: RequestOptions): ClientRequest {
  try {
    return http.request({ ...options, method: 'POST', createConnection: () => socket });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

const MAX_WITH_STATUS: ReceivedAmount = { bytes: MAX_RECEIVED, lines: Infinity };

const BROKEN_OFF_REPLY: Reply = {
  kind: 'unanswered',
  error: 'connection_reset',
  detail: 'closed before an answer',
};

const LINE_FEED = 0x0a;

function linesIn(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

function isOver(amount: ReceivedAmount, most: ReceivedAmount): boolean {
  return amount.bytes > most.bytes || amount.lines > most.lines;
}

/** Whether the server keeps the connection open longer than we keep it idle. */
function keepsAlive({ headers, httpVersion }: IncomingMessage): boolean {
  const announced = /timeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
  if (announced !== undefined && Number(announced) * 1000 <= REUSABLE_FOR_MS) return false;
  const connection = headers.connection?.toLowerCase() ?? '';
  return httpVersion === '1.1' ? !connection.includes('close') : connection.includes('keep-alive');
}

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
export const MAX_SNIPPET = 256;
/** Characters. An HTTP date has 29, a number of seconds less. */
const MAX_RETRY_AFTER = 64;

export function readReply(): ReplyReading {
  let answered: Omit<Extract<Reply, { kind: 'answered' }>, 'kind' | 'snippet'> | undefined;
  let beginning: Buffer = Buffer.alloc(0);
  let bodyBytes = 0;

  return {
    start: (statusCode, headers) => {
      const isTooLong = countBytes(headers) > MAX_HEADERS;
      answered = {
        statusCode,
        ...(isTooLong ? {} : { ...findRetryAfter(headers), ...findRequest(headers) }),
      };
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
      const snippet = toSnippet(beginning);
      return { kind: 'answered', ...answered, ...(snippet === '' ? {} : { snippet }) };
    },
  };
}

/** Reads like `readReply`, and keeps what a response is parsed from. */
export function readWhole() {
  const reading = readReply();
  // In one piece: a body may arrive in pieces of one byte.
  const body = Buffer.allocUnsafe(MAX_BODY);
  let length = 0;
  let contentType: string | undefined;
  return {
    ...reading,
    start: (statusCode: number, headers: RawHeaders) => {
      [contentType] = findValues(headers, 'content-type');
      return reading.start(statusCode, headers);
    },
    add: (chunk: Buffer) => {
      length += chunk.copy(body, length);
      return reading.add(chunk);
    },
    /** All of the body that has arrived and was not dropped. */
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
export function toSnippet(bytes: Uint8Array): string {
  if (bytes.length === 0) return '';
  const clean = decodeText(bytes.subarray(0, MAX_SNIPPET)).replaceAll(UNPRINTABLE, ' ');
  if (Buffer.byteLength(clean) <= MAX_SNIPPET) return clean;
  const { read } = new TextEncoder().encodeInto(clean, new Uint8Array(MAX_SNIPPET));
  return clean.slice(0, read);
}

/** Most responses are ASCII, which needs no decoder. */
function decodeText(bytes: Uint8Array): string {
  return isAscii(bytes)
    ? Buffer.from(bytes).toString('latin1')
    : // `stream` omits a character that the cut left incomplete.
      new TextDecoder().decode(bytes, { stream: true });
}

/** Header text has one character for each byte received; 4 more bytes are ": " and the line end. */
function countBytes(headers: RawHeaders): number {
  return headers.reduce((total, text) => total + text.length + 2, 0);
}

/** The first value, if there are several. */
function findRetryAfter(headers: RawHeaders): { retryAfter?: string } {
  const [value = ''] = findValues(headers, 'retry-after');
  return value === '' || value.length > MAX_RETRY_AFTER ? {} : { retryAfter: value };
}

/** Only one known word counts: what several lines or a list ask for is unclear, and disabling is drastic. */
function findRequest(headers: RawHeaders): { asks?: DeliveryRequest } {
  const [value, ...others] = findValues(headers, 'webhook-delivery');
  const asks = DELIVERY_REQUESTS.find((word) => word === value?.toLowerCase());
  return asks === undefined || others.length > 0 ? {} : { asks };
}

/** `wanted`: in lower case. */
function findValues(headers: RawHeaders, wanted: string): readonly string[] {
  return headers.flatMap((text, index) =>
    index % 2 === 0 && text.length === wanted.length && text.toLowerCase() === wanted
      ? [headers[index + 1]?.trim() ?? '']
      : [],
  );
}
