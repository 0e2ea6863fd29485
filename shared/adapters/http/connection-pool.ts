import type { Socket } from 'node:net';

import Client from 'undici/lib/dispatcher/client.js';

import type { Stage } from './connection-fault.ts';
import { type ConnectorMeans, guardedConnector } from './guarded-connector.ts';

/** Of what comes in. Lines are what a parser takes time and memory for. */
export type Amount = { readonly bytes: number; readonly lines: number };

/** One HTTP/1.1 connection, used by one attempt at a time. */
export type Connection = {
  readonly origin: string;
  readonly client: Client;
  readonly stage: () => Stage;
  /** From now on it may receive as much as `most` says then, whatever it is; `exceeded` is called when it has received more. */
  readonly limit: (most: () => Amount, exceeded: () => void) => void;
  /** Whether all that was written has gone out. */
  readonly isDrained: () => boolean;
  /** Ends it at whatever stage it is, and whatever is under way on it. */
  readonly destroy: () => void;
};

export type ConnectionPool = {
  /** An idle connection to the origin, if there is one that may still be used. */
  takeIdle: (origin: string) => Connection | undefined;
  /** A new one. It connects when a request is dispatched on it. */
  open: (origin: string) => Connection;
  /** Only after a whole answer was read. One that the server has closed, or has not read all of, is not taken again. */
  giveBack: (connection: Connection) => void;
};

/**
 * Milliseconds. A server may close a connection while the function is frozen between two invocations; 2 s is less than
 * the usual keep-alive of servers (Apache and Node 5 s), so that a request is not sent into a closed connection.
 */
const REUSABLE_FOR_MS = 2_000;
const MAX_IDLE = 100;

/** Bytes. Beyond 16 KB headers are not looked at (see reply-reading); this bounds what may be buffered of them. */
const MAX_PARSED_HEADERS = 512 * 1024;

/**
 * Connections by origin. undici's own pools expire sockets by timers, which stand still while the function is frozen;
 * this one reads the clock, `now`, in milliseconds.
 */
export function connectionPool(means: ConnectorMeans, now: () => number): ConnectionPool {
  const idle = new Map<Connection, number>();

  const isReusable = (connection: Connection, since: number): boolean => {
    const idleFor = now() - since;
    return idleFor >= 0 && idleFor < REUSABLE_FOR_MS && connection.client.stats.connected;
  };

  const drop = (connection: Connection): void => {
    idle.delete(connection);
    connection.destroy();
  };

  return {
    takeIdle: (origin) => {
      for (const [connection, since] of idle) {
        if (!isReusable(connection, since)) drop(connection);
      }
      const connection = [...idle.keys()].findLast((candidate) => candidate.origin === origin);
      if (connection !== undefined) idle.delete(connection);
      return connection;
    },
    open: (origin) => newConnection(origin, means),
    giveBack: (connection) => {
      // An answer that comes before its request was read leaves the rest of that in our memory.
      if (!connection.isDrained()) {
        connection.destroy();
        return;
      }
      idle.set(connection, now());
      const [oldest] = idle.keys();
      if (idle.size > MAX_IDLE && oldest !== undefined) drop(oldest);
    },
  };
}

/** Bytes. A socket has up to 64 KB to read, of which a parser may make many times as much at once. */
const PIECE = 4 * 1024;

/** undici reads all that there is, without asking in between; so it is given pieces, and none any more once `mayGoOn` denies it. */
function readInPieces(socket: Socket, mayGoOn: () => boolean, took: (piece: Buffer) => void): void {
  const read = socket.read.bind(socket);
  socket.read = (): unknown => {
    if (!mayGoOn()) return null;
    const piece: unknown = read(Math.min(PIECE, socket.readableLength) || undefined);
    if (Buffer.isBuffer(piece)) took(piece);
    return piece;
  };
}

const LINE_FEED = 0x0a;

function linesIn(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(LINE_FEED); at >= 0; at = piece.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

function newConnection(origin: string, means: ConnectorMeans): Connection {
  const ended = new AbortController();
  let stage: Stage = 'resolving';
  let socket: Socket | null = null;
  let taken: Amount = { bytes: 0, lines: 0 };
  let limit: { most: () => Amount; exceeded: () => void } | undefined;
  const mayGoOn = (): boolean => {
    if (limit === undefined) return true;
    const { bytes, lines } = limit.most();
    if (taken.bytes <= bytes && taken.lines <= lines) return true;
    limit.exceeded();
    return false;
  };
  const connect = guardedConnector(means, {
    ended: ended.signal,
    reached: (reached) => {
      stage = reached;
    },
  });
  const client = new Client(origin, {
    connect: (options, callback) => {
      connect(options, (...made) => {
        [, socket] = made;
        if (socket !== null)
          readInPieces(socket, mayGoOn, (piece) => {
            taken = { bytes: taken.bytes + piece.length, lines: taken.lines + linesIn(piece) };
          });
        callback(...made);
      });
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_PARSED_HEADERS,
    keepAliveTimeout: REUSABLE_FOR_MS,
    keepAliveMaxTimeout: REUSABLE_FOR_MS,
    // The attempt has one deadline of its own for all of this.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    origin,
    client,
    stage: () => stage,
    limit: (most, exceeded) => {
      taken = { bytes: 0, lines: 0 };
      limit = { most, exceeded };
    },
    isDrained: () => socket?.writableLength === 0,
    destroy: () => {
      ended.abort();
      void client.destroy();
    },
  };
}
