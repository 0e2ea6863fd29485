import {
  closed,
  drip,
  flood,
  sayAndClose,
  timedOut,
  unreadable,
  type Kind,
  onConnection,
  onRequest,
} from './kind.ts';

const silent = (): void => undefined;

/** Receivers that never send a valid status. */
export const silence = {
  refused: {
    what: 'refuses every connection',
    expected: { outcome: 'failed', error: 'connection_refused' },
    when: 'never',
  },
  reset_at_once: onConnection('resets every connection', closed, (socket) => socket.resetAndDestroy()),
  mute: onConnection('accepts, and neither reads (256 KB) nor writes', timedOut, (socket) => socket.pause(), {
    dataBytes: 256 * 1024,
  }),
  hang: onRequest('reads, and never responds', timedOut, silent),
  reset: onRequest('resets before its response', closed, (socket) => socket.resetAndDestroy()),
  close: onRequest('closes before its response', closed, (socket) => socket.end()),
  status_drip: onRequest('a status line, one byte a second', timedOut, (socket) => {
    const bytes = [...Buffer.from(`HTTP/1.1 200 ${'O'.repeat(100)}K`)];
    const timer = setInterval(() => socket.write(Buffer.of(bytes.shift() ?? 0x4b)), 1_000);
    socket.once('close', () => {
      clearInterval(timer);
    });
  }),
  broken_status_line: onRequest('a broken status line', unreadable, sayAndClose('HTTP/1.1 2x0 Hm\r\n\r\n')),
  not_http: onRequest('not HTTP: an SSH banner', unreadable, sayAndClose('SSH-2.0-OpenSSH_9.6\r\n')),
  http_0_9: onRequest('HTTP/0.9: a body without a status', unreadable, sayAndClose('<html>Welcome</html>\n')),
  http_2: onRequest(
    'unsolicited HTTP/2 frames',
    unreadable,
    sayAndClose(Buffer.from('000000040000000000', 'hex')),
  ),
  switching_protocols: onRequest(
    '101 Switching Protocols',
    unreadable,
    sayAndClose('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  ),
  informational_drip: onRequest(
    '103 without end, one a second',
    timedOut,
    drip('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 1_000),
  ),
  informational_flood: onRequest(
    '103 without end, as fast as it is read',
    unreadable,
    flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(500)),
  ),
  blank_line_flood: onRequest('blank lines without end', unreadable, flood('', '\r\n'.repeat(10_000))),
} as const satisfies Record<string, Kind>;
