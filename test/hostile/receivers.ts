import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

import { certificateAuthority } from '../support/certificates.ts';
import { allKinds, type KindName } from './kinds/all-kinds.ts';
import type { Certificate, Kind } from './kinds/kind.ts';

const HOST = '127.0.0.1';
const DAY_MS = 86_400_000;

const trusted = certificateAuthority('Authority of the hostile');
const unknown = certificateAuthority('Unknown authority');
const here = { names: [HOST] };

/** The certificate to trust for receivers with valid TLS. */
export const trustedCertificate = trusted.cert;

const certificates: Record<Certificate, () => TlsOptions> = {
  good: () => trusted.issue(here),
  expired: () => trusted.issue({ ...here, notAfter: new Date(Date.now() - DAY_MS / 2) }),
  not_yet_valid: () => trusted.issue({ ...here, notBefore: new Date(Date.now() + DAY_MS / 2) }),
  unknown_issuer: () => unknown.issue(here),
  wrong_name: () => trusted.issue({ names: ['other.example'] }),
  client_wanted: () => ({ ...trusted.issue(here), requestCert: true, rejectUnauthorized: false }),
  client_required: () => ({ ...trusted.issue(here), requestCert: true, ca: unknown.cert }),
  tls_1_1: () => ({ ...trusted.issue(here), minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
};

/** Starts one receiver of each kind, each on an ephemeral loopback port. */
export const startHostileReceivers = async (names: readonly KindName[]) => {
  const connections = new Map<KindName, number>();
  const start = async (name: KindName): Promise<[KindName, string]> => {
    const kind: Kind = allKinds[name];
    const server = serverOf(kind);
    server.on('connection', (socket: Socket) => {
      connections.set(name, (connections.get(name) ?? 0) + 1);
      // The client may reset any connection; that is not an error of the test.
      socket.on('error', () => socket.destroy());
    });
    const origin = `${isSecure(kind) ? 'https' : 'http'}://${HOST}:${await listen(server)}`;
    if (kind.when === 'never') server.close();
    return [name, origin];
  };
  return {
    /** The origin of each kind, without a path. */
    origins: new Map(await Promise.all(names.map(start))),
    /** The number of connections to each kind. */
    connections: () => connections,
  };
};

export type HostileReceivers = Awaited<ReturnType<typeof startHostileReceivers>>;

const isSecure = (kind: Kind): boolean =>
  (kind.when === 'connected' && kind.isSecure === true) ||
  (kind.when === 'requested' && kind.certificate !== undefined);

const serverOf = (kind: Kind): Server => {
  switch (kind.when) {
    case 'never':
      return createServer();
    case 'connected':
      return createServer({ allowHalfOpen: true }, (socket) => {
        kind.act(socket);
      });
    case 'requested': {
      const onConnection = (socket: Socket): void => {
        // With TLS this is not the socket of the event `connection`, and emits separate errors.
        socket.on('error', () => socket.destroy());
        onceRequested(socket, () => {
          kind.act(socket);
        });
      };
      return kind.certificate === undefined
        ? createServer(onConnection)
        : createTlsServer(certificates[kind.certificate](), onConnection);
    }
  }
};

/** Calls `act` after every request. It relies on requests from this test: one at a time, with a content length. */
const onceRequested = (socket: Socket, act: () => void): void => {
  let head = '';
  let missing: number | undefined;
  socket.on('data', (chunk) => {
    if (missing === undefined) {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      missing = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4);
    } else {
      missing -= chunk.length;
    }
    if (missing > 0) return;
    head = '';
    missing = undefined;
    act();
  });
};

const listen = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, HOST, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The receiver has no port.'));
      else resolve(address.port);
    });
  });

/** Response time of a healthy receiver in milliseconds. */
export const HEALTHY_ANSWER_MS = 100;

/** Starts a receiver that responds with 200 to every request, and returns its origin. */
export const startHealthyReceiver = async (): Promise<string> => {
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().once('end', () => setTimeout(() => response.end('ok'), HEALTHY_ANSWER_MS));
  });
  return `http://${HOST}:${await listen(server)}`;
};
