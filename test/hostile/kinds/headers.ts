import {
  closed,
  delivered,
  drip,
  flood,
  say,
  sayAndClose,
  timedOut,
  unreadable,
  type Kind,
  onRequest,
} from './kind.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const END = 'content-length: 2\r\n\r\nok';

const manyHeaders = Array.from({ length: 10_000 }, (_, index) => `x-${index}: ${index}\r\n`).join('');

/** Receivers with a status and hostile headers. */
export const headers = {
  slow_headers: onRequest('200, then a header a second', timedOut, drip(OK, 'x-slow: 1\r\n', 1_000)),
  endless_headers: onRequest(
    '200, then headers without end',
    unreadable,
    flood(OK, 'x-more: and more\r\n'.repeat(1_000)),
  ),
  reset_in_headers: onRequest('resets within the headers', closed, (socket) => {
    socket.write(`${OK}content-`, () => socket.resetAndDestroy());
  }),
  many_headers: onRequest('200 with 10,000 headers', delivered, say(OK, manyHeaders, END)),
  large_header: onRequest(
    '200 with a header of 100 KB',
    delivered,
    say(OK, `x-large: ${'x'.repeat(100 * 1024)}\r\n`, END),
  ),
  giant_header: onRequest(
    '200 with a header of 10 MB',
    unreadable,
    flood(`${OK}x-giant: `, 'x'.repeat(64 * 1024), 160),
  ),
  header_bytes: onRequest(
    '200 with header bytes that are not UTF-8',
    delivered,
    say(OK, 'x-bytes: ', Buffer.of(0x80, 0xfe, 0xff, 0xc0, 0xaf), '\r\n', END),
  ),
  header_controls: onRequest(
    '200 with NUL and ESC in a header',
    unreadable,
    sayAndClose(`${OK}x-controls: a\u0000\u001b[2Jb\r\n${END}`),
  ),
  header_without_colon: onRequest(
    '200 with a line that is not a header',
    unreadable,
    sayAndClose(`${OK}this is no header\r\n${END}`),
  ),
  two_lengths: onRequest(
    '200 with two content lengths',
    unreadable,
    sayAndClose(`${OK}content-length: 1\r\n${END}`),
  ),
  length_and_chunks: onRequest(
    '200 with a content length and chunked encoding',
    unreadable,
    sayAndClose(`${OK}transfer-encoding: chunked\r\n${END}`),
  ),
  status_999: onRequest(
    'status 999',
    { outcome: 'failed', statusCode: 999 },
    say(`HTTP/1.1 999 Beyond\r\n${END}`),
  ),
  status_099: onRequest('status 099', unreadable, say(`HTTP/1.1 099 Below\r\n${END}`)),
  redirect_loop: onRequest(
    '302 to itself',
    { outcome: 'rejected', statusCode: 302 },
    say(`HTTP/1.1 302 Found\r\nlocation: /\r\n${END}`),
  ),
  redirect_inward: onRequest(
    '307 to the metadata service',
    { outcome: 'rejected', statusCode: 307 },
    say(`HTTP/1.1 307 Temporary Redirect\r\nlocation: http://169.254.169.254/latest/meta-data/\r\n${END}`),
  ),
  retry_after_nonsense: onRequest(
    '503 with a Retry-After of 8 KB of nines',
    { outcome: 'failed', statusCode: 503 },
    say(`HTTP/1.1 503 Busy\r\nretry-after: ${'9'.repeat(8 * 1024)}\r\n${END}`),
  ),
} as const satisfies Record<string, Kind>;
