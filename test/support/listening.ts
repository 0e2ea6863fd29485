import type { Server as HttpServer } from 'node:http';

/** A server of HTTP, or of HTTPS, which has no type in common with it but this. */
type Server = Pick<HttpServer, 'once' | 'listen' | 'address' | 'close' | 'closeAllConnections'>;

/** The port on which it listens then; 0 takes one that is free. @throws what Node says where it cannot */
export const listen = (server: Server, host: string, port = 0): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The server has no port.'));
      else resolve(address.port);
    });
  });

/** With the connections that are open on it. */
export const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
