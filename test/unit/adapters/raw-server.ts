import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { ConnectionFault } from '../../../shared/domain/retry/vocabulary.ts';

export const OK: Reply = { kind: 'answered', statusCode: 200 };

/** The reply of a subscriber that gave no answer. */
export const unanswered = (error: ConnectionFault, detail: string): Reply => ({
  kind: 'unanswered',
  error,
  detail,
});

/** A TCP server on loopback whose behaviour a test defines. */
export type RawServer = Awaited<ReturnType<typeof startRawServer>>;

type Behaviour = (socket: Socket, connection: number) => void;

/** Starts the server, which ends with the test. `behave` is called for each connection, counted from 1. Socket errors are ignored. */
export const startRawServer = async (behave: Behaviour) => {
  const connections: Socket[] = [];
  let received = '';
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    behave(socket, connections.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of connections) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    port: address.port,
    /** All connections so far, including closed ones. */
    connections,
    /** Number of open connections. */
    open: () => connections.filter(({ destroyed }) => !destroyed).length,
    /** Bytes written that the other side or the system has accepted. */
    taken: () =>
      connections.reduce(
        (total, { bytesWritten, writableLength }) => total + bytesWritten - writableLength,
        0,
      ),
    /** Request lines received so far. */
    requests: () => received.match(/POST \S+ HTTP\/1\.1/g) ?? [],
  };
};

/** Writes `block` repeatedly until the other side closes the connection. */
export const pour = (socket: Socket, block: string): void => {
  while (!socket.destroyed && socket.write(block, 'latin1'));
  if (!socket.destroyed) {
    socket.once('drain', () => {
      pour(socket, block);
    });
  }
};
