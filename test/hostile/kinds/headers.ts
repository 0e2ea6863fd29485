import { closed, delivered, drip, flood, say, sayAndClose, timedOut, unreadable, type Kind } from './kind.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const END = 'content-length: 2\r\n\r\nok';

const manyHeaders = Array.from({ length: 10_000 }, (_, index) => `x-${index}: ${index}\r\n`).join('');

/** Receivers with a status and hostile headers. */
export const headers = {
  slow_headers: {
    what: '200, then a header a second',
    expected: timedOut,
    when: 'requested',
    act: drip(OK, 'x-slow: 1\r\n', 1_000),
  },
  endless_headers: {
    what: '200, then headers without end',
    expected: unreadable,
    when: 'requested',
    act: flood(OK, 'x-more: and more\r\n'.repeat(1_000)),
  },
  reset_in_headers: {
    what: 'resets within the headers',
    expected: closed,
    when: 'requested',
    act: (socket) => {
      socket.write(`${OK}content-`, () => socket.resetAndDestroy());
    },
  },
  many_headers: {
    what: '200 with 10,000 headers',
    expected: delivered,
    when: 'requested',
    act: say(OK, manyHeaders, END),
  },
  large_header: {
    what: '200 with a header of 100 KB',
    expected: delivered,
    when: 'requested',
    act: say(OK, `x-large: ${'x'.repeat(100 * 1024)}\r\n`, END),
  },
  giant_header: {
    what: '200 with a header of 10 MB',
    expected: unreadable,
    when: 'requested',
    act: flood(`${OK}x-giant: `, 'x'.repeat(64 * 1024), 160),
  },
  header_bytes: {
    what: '200 with header bytes that are not UTF-8',
    expected: delivered,
    when: 'requested',
    act: say(OK, 'x-bytes: ', Buffer.of(0x80, 0xfe, 0xff, 0xc0, 0xaf), '\r\n', END),
  },
  header_controls: {
    what: '200 with NUL and ESC in a header',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose(`${OK}x-controls: a\u0000\u001b[2Jb\r\n${END}`),
  },
  header_without_colon: {
    what: '200 with a line that is not a header',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose(`${OK}this is no header\r\n${END}`),
  },
  two_lengths: {
    what: '200 with two content lengths',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose(`${OK}content-length: 1\r\n${END}`),
  },
  length_and_chunks: {
    what: '200 with a content length and chunked encoding',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose(`${OK}transfer-encoding: chunked\r\n${END}`),
  },
  status_999: {
    what: 'status 999',
    expected: { outcome: 'failed', statusCode: 999 },
    when: 'requested',
    act: say(`HTTP/1.1 999 Beyond\r\n${END}`),
  },
  status_099: {
    what: 'status 099',
    expected: unreadable,
    when: 'requested',
    act: say(`HTTP/1.1 099 Below\r\n${END}`),
  },
  redirect_loop: {
    what: '302 to itself',
    expected: { outcome: 'rejected', statusCode: 302 },
    when: 'requested',
    act: say(`HTTP/1.1 302 Found\r\nlocation: /\r\n${END}`),
  },
  redirect_inward: {
    what: '307 to the metadata service',
    expected: { outcome: 'rejected', statusCode: 307 },
    when: 'requested',
    act: say(
      `HTTP/1.1 307 Temporary Redirect\r\nlocation: http://169.254.169.254/latest/meta-data/\r\n${END}`,
    ),
  },
  retry_after_nonsense: {
    what: '503 with a Retry-After of 8 KB of nines',
    expected: { outcome: 'failed', statusCode: 503 },
    when: 'requested',
    act: say(`HTTP/1.1 503 Busy\r\nretry-after: ${'9'.repeat(8 * 1024)}\r\n${END}`),
  },
} as const satisfies Record<string, Kind>;
