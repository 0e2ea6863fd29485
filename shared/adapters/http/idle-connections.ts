import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Milliseconds. A server may close a connection while the function is frozen between two invocations; 2 s is less than
 * the usual keep-alive of servers (Apache and Node 5 s), so that a request is not sent into a closed connection.
 */
export const REUSABLE_FOR_MS = 2_000;
const MAX_IDLE = 100;

/** Connections that had a whole answer and may carry the next request to their origin. */
export type IdleConnections = {
  /** One that is still open, if there is one. It is the caller's from then on. */
  take: (origin: string) => Promise<Socket | undefined>;
  put: (origin: string, socket: Socket) => void;
};

/**
 * Reads the clock, `now` in milliseconds, and sets no timers: these stand still while the function is frozen. That is why
 * Node's own agent, which expires connections by timers, does not serve here.
 */
export function idleConnections(now: () => number): IdleConnections {
  const idle = new Map<Socket, { origin: string; since: number }>();

  const remove = (socket: Socket): void => {
    idle.delete(socket);
    socket.off('data', destroyOnData).off('close', forget);
  };
  function forget(this: Socket): void {
    remove(this);
  }
  /** Nothing was asked: what a server sends now would be taken for the answer to the next request. */
  function destroyOnData(this: Socket): void {
    this.destroy();
  }

  const drop = (socket: Socket): void => {
    remove(socket);
    socket.destroy();
  };

  const dropExpired = (): void => {
    for (const [socket, { since }] of idle) {
      const idleMs = now() - since;
      if (idleMs < 0 || idleMs >= REUSABLE_FOR_MS) drop(socket);
    }
  };

  const newestOf = (origin: string): Socket | undefined =>
    [...idle].findLast(([, entry]) => entry.origin === origin)?.[0];

  return {
    take: async (origin) => {
      dropExpired();
      for (let socket = newestOf(origin); socket !== undefined; socket = newestOf(origin)) {
        idle.delete(socket);
        // A server's close may have arrived without having been read; it is after one turn of the event loop.
        await nextTurn();
        remove(socket);
        if (socket.readyState === 'open') return socket.ref();
        socket.destroy();
      }
      return undefined;
    },
    put: (origin, socket) => {
      if (socket.destroyed) return;
      idle.set(socket.unref(), { origin, since: now() });
      socket.on('data', destroyOnData).on('close', forget).resume();
      const [oldest] = idle.keys();
      if (idle.size > MAX_IDLE && oldest !== undefined) drop(oldest);
    },
  };
}
