import { closed, drip, flood, sayAndClose, timedOut, unreadable, type Kind } from './kind.ts';

const silent = (): void => undefined;

/** Receivers that never send a valid status. */
export const silence = {
  refused: {
    what: 'refuses every connection',
    expected: { outcome: 'failed', error: 'connection_refused' },
    when: 'never',
  },
  reset_at_once: {
    what: 'resets every connection',
    expected: closed,
    when: 'connected',
    act: (socket) => socket.resetAndDestroy(),
  },
  mute: {
    what: 'accepts, and neither reads (256 KB) nor writes',
    expected: timedOut,
    dataBytes: 256 * 1024,
    when: 'connected',
    act: (socket) => socket.pause(),
  },
  hang: { what: 'reads, and never responds', expected: timedOut, when: 'requested', act: silent },
  reset: {
    what: 'resets before its response',
    expected: closed,
    when: 'requested',
    act: (socket) => socket.resetAndDestroy(),
  },
  close: {
    what: 'closes before its response',
    expected: closed,
    when: 'requested',
    act: (socket) => socket.end(),
  },
  status_drip: {
    what: 'a status line, one byte a second',
    expected: timedOut,
    when: 'requested',
    act: (socket) => {
      const bytes = [...Buffer.from(`HTTP/1.1 200 ${'O'.repeat(100)}K`)];
      const timer = setInterval(() => socket.write(Buffer.of(bytes.shift() ?? 0x4b)), 1_000);
      socket.once('close', () => {
        clearInterval(timer);
      });
    },
  },
  broken_status_line: {
    what: 'a broken status line',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose('HTTP/1.1 2x0 Hm\r\n\r\n'),
  },
  not_http: {
    what: 'not HTTP: an SSH banner',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose('SSH-2.0-OpenSSH_9.6\r\n'),
  },
  http_0_9: {
    what: 'HTTP/0.9: a body without a status',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose('<html>Welcome</html>\n'),
  },
  http_2: {
    what: 'unsolicited HTTP/2 frames',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose(Buffer.from('000000040000000000', 'hex')),
  },
  switching_protocols: {
    what: '101 Switching Protocols',
    expected: unreadable,
    when: 'requested',
    act: sayAndClose('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  },
  informational_drip: {
    what: '103 without end, one a second',
    expected: timedOut,
    when: 'requested',
    act: drip('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', 1_000),
  },
  informational_flood: {
    what: '103 without end, as fast as it is read',
    expected: unreadable,
    when: 'requested',
    act: flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(500)),
  },
  blank_line_flood: {
    what: 'blank lines without end',
    expected: unreadable,
    when: 'requested',
    act: flood('', '\r\n'.repeat(10_000)),
  },
} as const satisfies Record<string, Kind>;
