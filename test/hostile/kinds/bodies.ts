import { gzipSync } from 'node:zlib';

import { delivered, drip, flood, say, sayAndClose, type Kind } from './kind.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const KB_64 = 'x'.repeat(64 * 1024);
const MB = 1024 * 1024;

/** A gzip file may consist of several members (RFC 1952 §2.2): here 100 members of 20 KB that expand to 20 MB each. */
const bombPart = gzipSync(Buffer.alloc(20 * MB));
const BOMB_PARTS = 100;
const bombLength = `content-length: ${bombPart.length * BOMB_PARTS}\r\n`;

/** Receivers with a valid status and headers, and a hostile body. */
export const bodies = {
  body_drip: {
    what: '200, then one byte a second',
    expected: delivered,
    when: 'requested',
    act: drip(`${OK}\r\n`, '.', 1_000),
  },
  stall: {
    what: '200, the beginning of a body, then silence',
    expected: delivered,
    when: 'requested',
    act: say(`${OK}content-length: 1000\r\n\r\nbegun`),
  },
  endless_body: {
    what: '200, then a body without end',
    expected: delivered,
    when: 'requested',
    act: flood(`${OK}\r\n`, KB_64),
  },
  endless_error: {
    what: '500, then a body without end',
    expected: { outcome: 'failed', statusCode: 500 },
    when: 'requested',
    act: flood('HTTP/1.1 500 Oh\r\n\r\n', KB_64),
  },
  large_body: {
    what: '200 with a body of 50 MB',
    expected: delivered,
    when: 'requested',
    act: flood(`${OK}content-length: ${50 * MB}\r\n\r\n`, Buffer.alloc(MB, 'x'), 50),
  },
  gzip_bomb: {
    what: '200 with 2 MB of gzip that expand to 2 GB',
    expected: delivered,
    when: 'requested',
    act: flood(`${OK}content-encoding: gzip\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  },
  gzip_bomb_500: {
    what: '500 with the same body, stored as a snippet',
    expected: { outcome: 'failed', statusCode: 500 },
    when: 'requested',
    act: flood(`HTTP/1.1 500 Oh\r\ncontent-encoding: gzip\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  },
  gzip_undeclared: {
    what: '200 with the same body, not declared as gzip',
    expected: delivered,
    when: 'requested',
    act: flood(`${OK}content-type: text/plain\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  },
  gzip_small: {
    what: '200 with 40 KB of gzip that expand to 40 MB',
    expected: delivered,
    when: 'requested',
    act: flood(`${OK}content-encoding: gzip\r\ncontent-length: ${bombPart.length * 2}\r\n\r\n`, bombPart, 2),
  },
  reset_in_body: {
    what: 'resets within the body',
    expected: delivered,
    when: 'requested',
    act: (socket) => {
      socket.write(`${OK}content-length: 1000\r\n\r\nbegun`, () => socket.resetAndDestroy());
    },
  },
  length_too_long: {
    what: 'closes before the announced length',
    expected: delivered,
    when: 'requested',
    act: sayAndClose(`${OK}content-length: 1000\r\n\r\nbegun`),
  },
  length_too_short: {
    what: 'more body than was announced',
    expected: delivered,
    when: 'requested',
    act: say(`${OK}content-length: 2\r\n\r\nok, and some more`),
  },
  broken_chunks: {
    what: 'malformed chunks',
    expected: delivered,
    when: 'requested',
    act: sayAndClose(`${CHUNKED}5\r\nhello\r\nnonsense`),
  },
  giant_chunk: {
    what: 'a chunk of 2^64 bytes',
    expected: delivered,
    when: 'requested',
    act: say(`${CHUNKED}ffffffffffffffff\r\nhello`),
  },
  chunk_extension_flood: {
    what: 'a chunk extension without end',
    expected: delivered,
    when: 'requested',
    act: flood(`${CHUNKED}5;a=`, KB_64),
  },
  empty_chunk_flood: {
    what: 'chunks of one byte without end',
    expected: delivered,
    when: 'requested',
    act: flood(CHUNKED, '1\r\nx\r\n'.repeat(5_000)),
  },
  trailer_flood: {
    what: 'trailers without end',
    expected: delivered,
    when: 'requested',
    act: flood(`${CHUNKED}0\r\n`, 'x-more: and more\r\n'.repeat(1_000)),
  },
  no_content_with_body: {
    what: '204 with a body',
    expected: { outcome: 'delivered', statusCode: 204 },
    when: 'requested',
    act: say('HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello'),
  },
  second_answer: {
    what: '200, followed by an unsolicited 410',
    expected: delivered,
    when: 'requested',
    act: say(`${OK}content-length: 2\r\n\r\nok`, 'HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone'),
  },
  late_second_answer: {
    what: 'the same 410, a little later',
    expected: delivered,
    when: 'requested',
    act: (socket) => {
      socket.write(`${OK}content-length: 2\r\n\r\nok`);
      setTimeout(() => socket.write('HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone'), 100);
    },
  },
  early_answer: {
    what: '200 before the request is read (256 KB to read)',
    expected: delivered,
    dataBytes: 256 * 1024,
    when: 'connected',
    act: (socket) => {
      socket.pause();
      say(`${OK}connection: close\r\ncontent-length: 2\r\n\r\nok`)(socket);
    },
  },
} as const satisfies Record<string, Kind>;
