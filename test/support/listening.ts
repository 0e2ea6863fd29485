import type { Server as HttpServer } from 'node:http';

/** An HTTP or HTTPS server. The two share no type except this one. */
type Server = Pick<HttpServer, 'once' | 'listen' | 'address' | 'close' | 'closeAllConnections'>;

/**
 * Starts the server and returns its port; port 0 means any free port.
 * @throws Node's error if it cannot listen
 */
export const listen = (server: Server, host: string, port = 0): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The server has no port.'));
      else resolve(address.port);
    });
  });

/** Closes the server and its open connections. */
export const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
