import { gzipSync } from 'node:zlib';

import { delivered, drip, flood, say, sayAndClose, type Kind, onRequest, onConnection } from './kind.ts';

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
  body_drip: onRequest('200, then one byte a second', delivered, drip(`${OK}\r\n`, '.', 1_000)),
  stall: onRequest(
    '200, the beginning of a body, then silence',
    delivered,
    say(`${OK}content-length: 1000\r\n\r\nbegun`),
  ),
  endless_body: onRequest('200, then a body without end', delivered, flood(`${OK}\r\n`, KB_64)),
  endless_error: onRequest(
    '500, then a body without end',
    { outcome: 'failed', statusCode: 500 },
    flood('HTTP/1.1 500 Oh\r\n\r\n', KB_64),
  ),
  large_body: onRequest(
    '200 with a body of 50 MB',
    delivered,
    flood(`${OK}content-length: ${50 * MB}\r\n\r\n`, Buffer.alloc(MB, 'x'), 50),
  ),
  gzip_bomb: onRequest(
    '200 with 2 MB of gzip that expand to 2 GB',
    delivered,
    flood(`${OK}content-encoding: gzip\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  ),
  gzip_bomb_500: onRequest(
    '500 with the same body, stored as a snippet',
    { outcome: 'failed', statusCode: 500 },
    flood(`HTTP/1.1 500 Oh\r\ncontent-encoding: gzip\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  ),
  gzip_undeclared: onRequest(
    '200 with the same body, not declared as gzip',
    delivered,
    flood(`${OK}content-type: text/plain\r\n${bombLength}\r\n`, bombPart, BOMB_PARTS),
  ),
  gzip_small: onRequest(
    '200 with 40 KB of gzip that expand to 40 MB',
    delivered,
    flood(`${OK}content-encoding: gzip\r\ncontent-length: ${bombPart.length * 2}\r\n\r\n`, bombPart, 2),
  ),
  reset_in_body: onRequest('resets within the body', delivered, (socket) => {
    socket.write(`${OK}content-length: 1000\r\n\r\nbegun`, () => socket.resetAndDestroy());
  }),
  length_too_long: onRequest(
    'closes before the announced length',
    delivered,
    sayAndClose(`${OK}content-length: 1000\r\n\r\nbegun`),
  ),
  length_too_short: onRequest(
    'more body than was announced',
    delivered,
    say(`${OK}content-length: 2\r\n\r\nok, and some more`),
  ),
  broken_chunks: onRequest('malformed chunks', delivered, sayAndClose(`${CHUNKED}5\r\nhello\r\nnonsense`)),
  giant_chunk: onRequest('a chunk of 2^64 bytes', delivered, say(`${CHUNKED}ffffffffffffffff\r\nhello`)),
  chunk_extension_flood: onRequest(
    'a chunk extension without end',
    delivered,
    flood(`${CHUNKED}5;a=`, KB_64),
  ),
  empty_chunk_flood: onRequest(
    'chunks of one byte without end',
    delivered,
    flood(CHUNKED, '1\r\nx\r\n'.repeat(5_000)),
  ),
  trailer_flood: onRequest(
    'trailers without end',
    delivered,
    flood(`${CHUNKED}0\r\n`, 'x-more: and more\r\n'.repeat(1_000)),
  ),
  no_content_with_body: onRequest(
    '204 with a body',
    { outcome: 'delivered', statusCode: 204 },
    say('HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello'),
  ),
  second_answer: onRequest(
    '200, followed by an unsolicited 410',
    delivered,
    say(`${OK}content-length: 2\r\n\r\nok`, 'HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone'),
  ),
  late_second_answer: onRequest('the same 410, a little later', delivered, (socket) => {
    socket.write(`${OK}content-length: 2\r\n\r\nok`);
    setTimeout(() => socket.write('HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone'), 100);
  }),
  early_answer: onConnection(
    '200 before the request is read (256 KB to read)',
    delivered,
    (socket) => {
      socket.pause();
      say(`${OK}connection: close\r\ncontent-length: 2\r\n\r\nok`)(socket);
    },
    { dataBytes: 256 * 1024 },
  ),
} as const satisfies Record<string, Kind>;
