import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { loopbackPort } from '../../local/loopback-port.ts';

export type LoopbackServer = { url: string; port: number; close: () => Promise<void> };

export type Exchange = { request: IncomingMessage; response: ServerResponse; port: number };

/**
 * Starts a server that listens on 127.0.0.1 only. If `serve` fails, the connection is closed.
 * @throws Problem when the port is in use.
 */
export async function startLoopbackServer(
  serve: (exchange: Exchange) => Promise<void>,
  wanted?: number,
): Promise<LoopbackServer> {
  const port = await loopbackPort(wanted);
  const server = createServer((request, response) => {
    serve({ request, response, port }).catch(() => {
      // A part may already be sent: destroy the connection, so that the client notices the incomplete response.
      response.destroy();
    });
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: async () => {
      const closed = once(server, 'close');
      server.close().closeAllConnections();
      await closed;
    },
  };
}
