import type { Socket } from 'node:net';

import {
  type Certificate,
  closed,
  delivered,
  drip,
  flood,
  say,
  sayAndClose,
  timedOut,
  type Kind,
  onSecureConnection,
  onSecureRequest,
} from './kind.ts';

const inHandshake = { outcome: 'failed', error: 'timeout', detail: 'during the TLS handshake' } as const;
const failed = (detail?: string) =>
  ({ outcome: 'failed', error: 'tls_failed', ...(detail === undefined ? {} : { detail }) }) as const;

const answer = say('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');

/** The header of a handshake record of 16 KB (RFC 8446 §5.1). */
const RECORD = Buffer.from('1603034000', 'hex');
/** The header of a ServerHello that fills this record (RFC 8446 §4). */
const SERVER_HELLO = Buffer.from('02003ffc', 'hex');

const untrusted = (certificate: Certificate, what: string, fault: string): Kind =>
  onSecureRequest(certificate, `a certificate ${what}`, failed(`certificate ${fault}`), answer);

/** Sends the beginning of a ServerHello and no more. */
const halfHandshake = (socket: Socket): void => {
  socket.once('data', () => socket.write(Buffer.concat([RECORD, SERVER_HELLO, Buffer.from('0303', 'hex')])));
};

/** Receivers that are hostile over TLS. */
export const tls = {
  expired_certificate: untrusted('expired', 'that has expired', 'expired'),
  future_certificate: untrusted('not_yet_valid', 'that is not valid yet', 'not yet valid'),
  unknown_issuer: untrusted('unknown_issuer', 'of an unknown issuer', 'issuer unknown'),
  wrong_name: untrusted('wrong_name', 'for another name', 'is for another name'),
  old_tls: onSecureRequest('tls_1_1', 'TLS 1.1', failed(), answer),
  mute_tls: onSecureConnection('TLS: accepts, and writes nothing', inHandshake, (socket) => socket.resume()),
  half_handshake: onSecureConnection('TLS: half a ServerHello', inHandshake, halfHandshake),
  handshake_drip: onSecureConnection('TLS: a handshake, one byte a second', inHandshake, (socket) => {
    const bytes = [...RECORD, ...SERVER_HELLO, 3, 3];
    const timer = setInterval(() => socket.write(Buffer.of(bytes.shift() ?? 0)), 1_000);
    socket.resume().once('close', () => {
      clearInterval(timer);
    });
  }),
  plain_at_tls: onSecureConnection(
    'plain HTTP instead of TLS',
    failed(),
    sayAndClose('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
  ),
  handshake_reset: onSecureConnection('TLS: resets during the handshake', closed, (socket) => {
    socket.once('data', () => socket.resetAndDestroy());
  }),
  handshake_flood: onSecureConnection(
    'TLS: random bytes without end',
    failed(),
    flood('', Buffer.alloc(64 * 1024, 'x')),
  ),
  hang_over_tls: onSecureRequest('good', 'TLS: reads, and never responds', timedOut, () => undefined),
  drip_over_tls: onSecureRequest(
    'good',
    'TLS: 200, then one byte a second',
    delivered,
    drip('HTTP/1.1 200 OK\r\n\r\n', '.', 1_000),
  ),
  endless_over_tls: onSecureRequest(
    'good',
    'TLS: 200, then a body without end',
    delivered,
    flood('HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(64 * 1024, 'x')),
  ),
} as const satisfies Record<string, Kind>;
