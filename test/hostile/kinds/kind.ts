import type { Socket } from 'node:net';
import type { ConnectionFault, Outcome } from '../../../shared/domain/retry/vocabulary.ts';

/** The expected record of an attempt. `detail`: the text after the error code, where this product words it. */
export type Expected =
  | { outcome: Outcome; statusCode: number }
  | { outcome: Outcome; error: ConnectionFault; detail?: string };

/** The receiver's. `client_…`: a good one, and the client is asked for one too. */
export type Certificate =
  | 'good'
  | 'expired'
  | 'not_yet_valid'
  | 'unknown_issuer'
  | 'wrong_name'
  | 'tls_1_1'
  | 'client_wanted'
  | 'client_required';

/** A kind of hostile receiver. */
export type Kind = {
  /** What it does, for the table. */
  what: string;
  expected: Expected;
  /** Bytes of message data to send to it. Default 100. */
  dataBytes?: number;
  /** Its subscriptions have a client certificate, or get a token from it. */
  auth?: 'certificate' | 'token';
} & (
  | { when: 'never' }
  /** Acts on connection, without reading. */
  | { when: 'connected'; isSecure?: boolean; act: (socket: Socket) => void }
  /** Acts after a whole request; with `certificate` over TLS. */
  | { when: 'requested'; certificate?: Certificate; act: (socket: Socket) => void }
);

type More = Pick<Kind, 'dataBytes' | 'auth'>;

export type Act = (socket: Socket) => void;

export const onConnection = (
  what: string,
  expected: Expected,
  act: Act,
  more: More & { isSecure?: true } = {},
): Kind => ({ what, expected, when: 'connected', act, ...more });

export const onRequest = (what: string, expected: Expected, act: Act, more: More = {}): Kind => ({
  what,
  expected,
  when: 'requested',
  act,
  ...more,
});

export const onSecureRequest = (
  certificate: Certificate,
  ...[what, expected, act, more]: Parameters<typeof onRequest>
): Kind => ({ ...onRequest(what, expected, act, more), when: 'requested', certificate, act });

export const onSecureConnection = (what: string, expected: Expected, act: Act, more: More = {}): Kind =>
  onConnection(what, expected, act, { ...more, isSecure: true });

export const delivered = { outcome: 'delivered', statusCode: 200 } as const;
export const timedOut = { outcome: 'failed', error: 'timeout', detail: 'before an answer' } as const;
export const closed = { outcome: 'failed', error: 'connection_reset' } as const;
export const unreadable = { outcome: 'failed', error: 'invalid_response' } as const;

/** Writes the parts and leaves the connection open. */
export const say =
  (...parts: readonly (string | Buffer)[]) =>
  (socket: Socket): void => {
    for (const part of parts) socket.write(part);
  };

/** Writes the parts and closes the connection. */
export const sayAndClose =
  (...parts: readonly (string | Buffer)[]) =>
  (socket: Socket): void => {
    say(...parts)(socket);
    socket.end();
  };

/** Writes `start`, then `drop` at every interval, without end. */
export const drip =
  (start: string, drop: string, everyMs: number) =>
  (socket: Socket): void => {
    socket.write(start);
    const timer = setInterval(() => socket.write(drop), everyMs);
    socket.once('close', () => {
      clearInterval(timer);
    });
  };

/** Writes `start`, then `block` as fast as the client reads it, `times` times or without end. */
export const flood =
  (start: string | Buffer, block: string | Buffer, times = Infinity) =>
  (socket: Socket): void => {
    let left = times;
    const pour = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= 1;
        if (!socket.write(block)) {
          socket.once('drain', pour);
          return;
        }
      }
    };
    socket.write(start);
    pour();
  };
