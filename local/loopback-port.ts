import { createServer } from 'node:net';
import { Problem } from './install/problem.mjs';

/**
 * A port of 127.0.0.1 that nobody listens on: the one asked for, or any.
 * @throws Problem when the one asked for is taken.
 */
export async function loopbackPort(wanted?: number): Promise<number> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(wanted ?? 0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
    return address.port;
  } catch (error) {
    throw wanted === undefined ? error : portProblem(wanted, error);
  } finally {
    server.close();
  }
}

function portProblem(port: number, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error;
  if (error.code === 'EADDRINUSE') {
    return new Problem(
      `Port ${port} is taken by another program. Choose another with --port, or leave --port out and a free one is found.`,
    );
  }
  return error.code === 'EACCES'
    ? new Problem(`Port ${port} is not ours to open. Choose one from 1024 on.`)
    : error;
}
