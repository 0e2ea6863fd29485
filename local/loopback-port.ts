import { once } from 'node:events';
import { createServer } from 'node:net';
import { Problem } from './install/problem.mjs';

/**
 * A free port on 127.0.0.1: the wanted one, or any.
 * @throws Problem if the wanted port is not available
 */
export async function loopbackPort(wanted?: number): Promise<number> {
  const server = createServer();
  try {
    await once(server.listen(wanted ?? 0, '127.0.0.1'), 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no TCP port.');
    return address.port;
  } catch (error) {
    throw portProblem(wanted, error);
  } finally {
    server.close();
  }
}

function portProblem(port: number | undefined, error: unknown): unknown {
  if (port === undefined || !(error instanceof Error && 'code' in error)) return error;
  if (error.code === 'EADDRINUSE') {
    return new Problem(
      `Port ${port} is in use by another program. Choose another port with --port, or omit --port to use a free one.`,
    );
  }
  return error.code === 'EACCES'
    ? new Problem(`Opening port ${port} requires more permissions. Choose a port from 1024 with --port.`)
    : error;
}
