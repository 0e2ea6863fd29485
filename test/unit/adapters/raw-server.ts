import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';

/** A TCP server on loopback that does with its connections what a test says. */
export type RawServer = {
  url: string;
  port: number;
  /** All connections so far, the closed ones too. */
  connections: readonly Socket[];
  /** How many are open. */
  open: () => number;
  /** Bytes that the other side, or the system between, has taken of what was written to it. */
  taken: () => number;
  /** Heads of requests that have come, as text; of bodies nothing. */
  requests: () => readonly string[];
  close: () => Promise<void>;
};

type Behaviour = (socket: Socket, connection: number) => void;

/** Called for each connection, counted from 1. Errors of sockets are expected. */
export const startRawServer = async (
  behave: Behaviour,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number } = {},
): Promise<RawServer> => {
  const connections: Socket[] = [];
  let received = '';
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    behave(socket, connections.length);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://${host}:${address.port}/`,
    port: address.port,
    connections,
    open: () => connections.filter(({ destroyed }) => !destroyed).length,
    taken: () =>
      connections.reduce(
        (total, { bytesWritten, writableLength }) => total + bytesWritten - writableLength,
        0,
      ),
    requests: () => received.match(/POST \S+ HTTP\/1\.1/g) ?? [],
    close: async () => {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Writes `block` as often as the other side takes it, until it hangs up. */
export const pour = (socket: Socket, block: string): void => {
  while (!socket.destroyed && socket.write(block, 'latin1'));
  if (!socket.destroyed) {
    socket.once('drain', () => {
      pour(socket, block);
    });
  }
};
