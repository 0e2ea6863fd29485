import type { Socket } from 'node:net';

import { delivered, drip, flood, say, sayAndClose, timedOut, type Kind } from './kind.ts';

const inHandshake = { outcome: 'failed', error: 'timeout', detail: 'during the TLS handshake' } as const;
const failed = (detail?: string) =>
  ({ outcome: 'failed', error: 'tls_failed', ...(detail === undefined ? {} : { detail }) }) as const;

const answer = say('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');

/** The header of a handshake record of 16 KB (RFC 8446 §5.1). */
const RECORD = Buffer.from('1603034000', 'hex');
/** The header of a ServerHello that fills this record (RFC 8446 §4). */
const SERVER_HELLO = Buffer.from('02003ffc', 'hex');

/** Sends the beginning of a ServerHello and no more. */
const halfHandshake = (socket: Socket): void => {
  socket.once('data', () => socket.write(Buffer.concat([RECORD, SERVER_HELLO, Buffer.from('0303', 'hex')])));
};

/** Receivers that are hostile over TLS. */
export const tls = {
  expired_certificate: {
    what: 'a certificate that has expired',
    expected: failed('certificate expired'),
    when: 'requested',
    certificate: 'expired',
    act: answer,
  },
  future_certificate: {
    what: 'a certificate that is not valid yet',
    expected: failed('certificate not yet valid'),
    when: 'requested',
    certificate: 'not_yet_valid',
    act: answer,
  },
  unknown_issuer: {
    what: 'a certificate of an unknown issuer',
    expected: failed('certificate issuer unknown'),
    when: 'requested',
    certificate: 'unknown_issuer',
    act: answer,
  },
  wrong_name: {
    what: 'a certificate for another name',
    expected: failed('certificate is for another name'),
    when: 'requested',
    certificate: 'wrong_name',
    act: answer,
  },
  old_tls: {
    what: 'TLS 1.1',
    expected: failed(),
    when: 'requested',
    certificate: 'tls_1_1',
    act: answer,
  },
  mute_tls: {
    what: 'TLS: accepts, and writes nothing',
    expected: inHandshake,
    when: 'connected',
    isSecure: true,
    act: (socket) => socket.resume(),
  },
  half_handshake: {
    what: 'TLS: half a ServerHello',
    expected: inHandshake,
    when: 'connected',
    isSecure: true,
    act: halfHandshake,
  },
  handshake_drip: {
    what: 'TLS: a handshake, one byte a second',
    expected: inHandshake,
    when: 'connected',
    isSecure: true,
    act: (socket) => {
      const bytes = [...RECORD, ...SERVER_HELLO, 3, 3];
      const timer = setInterval(() => socket.write(Buffer.of(bytes.shift() ?? 0)), 1_000);
      socket.resume().once('close', () => {
        clearInterval(timer);
      });
    },
  },
  plain_at_tls: {
    what: 'plain HTTP instead of TLS',
    expected: failed(),
    when: 'connected',
    isSecure: true,
    act: sayAndClose('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
  },
  handshake_reset: {
    what: 'TLS: resets during the handshake',
    expected: { outcome: 'failed', error: 'connection_reset' },
    when: 'connected',
    isSecure: true,
    act: (socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    },
  },
  handshake_flood: {
    what: 'TLS: random bytes without end',
    expected: failed(),
    when: 'connected',
    isSecure: true,
    act: flood('', Buffer.alloc(64 * 1024, 'x')),
  },
  hang_over_tls: {
    what: 'TLS: reads, and never responds',
    expected: timedOut,
    when: 'requested',
    certificate: 'good',
    act: () => undefined,
  },
  drip_over_tls: {
    what: 'TLS: 200, then one byte a second',
    expected: delivered,
    when: 'requested',
    certificate: 'good',
    act: drip('HTTP/1.1 200 OK\r\n\r\n', '.', 1_000),
  },
  endless_over_tls: {
    what: 'TLS: 200, then a body without end',
    expected: delivered,
    when: 'requested',
    certificate: 'good',
    act: flood('HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(64 * 1024, 'x')),
  },
} as const satisfies Record<string, Kind>;
