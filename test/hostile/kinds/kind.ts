import type { Socket } from 'node:net';
import type { ConnectionFault, Outcome } from '../../../shared/domain/vocabulary.ts';

/** What has to be on record of an attempt at it. Of an error also what stands behind its one word, where that is ours to say. */
export type Expected =
  { outcome: Outcome; statusCode: number } | { outcome: Outcome; error: ConnectionFault; detail?: string };

export type Certificate = 'good' | 'expired' | 'not_yet_valid' | 'unknown_issuer' | 'wrong_name' | 'tls_1_1';

/** One way to be hostile. */
export type Kind = {
  /** What it does, as the table says it. */
  what: string;
  expected: Expected;
  /** Bytes of the data that it is sent. Default 100. */
  dataBytes?: number;
} & (
  | { when: 'never' }
  /** As soon as it is connected, without reading anything. */
  | { when: 'connected'; isSecure?: boolean; act: (socket: Socket) => void }
  /** Once a whole request has come; `certificate` makes it one over TLS. */
  | { when: 'requested'; certificate?: Certificate; act: (socket: Socket) => void }
);

export const delivered = { outcome: 'delivered', statusCode: 200 } as const;
export const timedOut = { outcome: 'failed', error: 'timeout', detail: 'before an answer' } as const;
export const closed = { outcome: 'failed', error: 'connection_reset' } as const;
export const unreadable = { outcome: 'failed', error: 'invalid_response' } as const;

/** Says this, and leaves the connection open. */
export const say =
  (...parts: readonly (string | Buffer)[]) =>
  (socket: Socket): void => {
    for (const part of parts) socket.write(part);
  };

/** Says this, and closes. */
export const sayAndClose =
  (...parts: readonly (string | Buffer)[]) =>
  (socket: Socket): void => {
    say(...parts)(socket);
    socket.end();
  };

/** Says something, then a little now and then for ever. */
export const drip =
  (start: string, drop: string, everyMs: number) =>
  (socket: Socket): void => {
    socket.write(start);
    const timer = setInterval(() => socket.write(drop), everyMs);
    socket.once('close', () => {
      clearInterval(timer);
    });
  };

/** Says something, then this again and again, as fast as the other side takes it: `times`, or for ever. */
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
