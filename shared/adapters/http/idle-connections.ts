import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Milliseconds. A server may close a connection while the function is frozen between invocations. 2 s is below
 * the usual keep-alive of servers (Apache and Node 5 s), so that no request is sent into a closed connection.
 */
export const REUSABLE_FOR_MS = 2_000;
const MAX_IDLE = 100;

/**
 * Connections that received a complete response and may carry the next request to their peer: all that they must have
 * in common, which is the origin, and the client's certificate. The pool reads the clock, `now` in milliseconds, and sets no timers, because timers stop while the function
 * is frozen. Node's agent expires connections by timers, so it cannot be used here.
 */
export function idleConnections(now: () => number) {
  const idle = new Map<Socket, { peer: string; since: number }>();

  const remove = (socket: Socket): void => {
    idle.delete(socket);
    socket.off('data', destroyOnData).off('close', forget);
  };
  function forget(this: Socket): void {
    remove(this);
  }
  /** No request is pending: data that arrives now would be taken for the response to the next request. */
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

  const findNewest = (peer: string): Socket | undefined =>
    [...idle].findLast(([, entry]) => entry.peer === peer)?.[0];

  return {
    /** An open connection, if there is one. The caller owns it from then on. */
    take: async (peer: string): Promise<Socket | undefined> => {
      dropExpired();
      for (let socket = findNewest(peer); socket !== undefined; socket = findNewest(peer)) {
        idle.delete(socket);
        // A close by the server may have arrived but not been read; after one turn of the event loop it has.
        await nextTurn();
        remove(socket);
        if (socket.readyState === 'open') return socket.ref();
        socket.destroy();
      }
      return undefined;
    },
    put: (peer: string, socket: Socket): void => {
      if (socket.destroyed) return;
      idle.set(socket.unref(), { peer, since: now() });
      socket.on('data', destroyOnData).on('close', forget).resume();
      const [oldest] = idle.keys();
      if (idle.size > MAX_IDLE && oldest !== undefined) drop(oldest);
    },
  };
}
