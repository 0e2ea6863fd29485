import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';

import type { buildConnector } from 'undici';

import type { AddressGuard } from './address-guard.ts';
import { ForbiddenAddress, NameNotResolved } from './connection-fault.ts';
import type { Stage } from './connection-fault.ts';

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true, order: 'verbatim' });

export type ConnectorMeans = { isAllowed: AddressGuard; resolve: Resolve; secureContext: SecureContext };

/** What becomes of one connection: `ended` stops its making at any stage. */
type ConnectionLife = { ended: AbortSignal; reached: (stage: Stage) => void };

type Target = { hostname: string; port: number; isSecure: boolean };

/**
 * Makes undici's connections. A name is resolved once, every address of it is checked, and the connection is made
 * to the addresses checked: there is no second look-up between check and connection that could answer otherwise.
 */
export const guardedConnector =
  (means: ConnectorMeans, life: ConnectionLife): buildConnector.connector =>
  (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = Number(options.port) || (isSecure ? 443 : 80);
    connectTo({ hostname: options.hostname, port, isSecure }, means, life).then(
      (socket) => {
        callback(null, socket);
      },
      (error: unknown) => {
        callback(
          error instanceof Error ? error : new Error('The connection failed.', { cause: error }),
          null,
        );
      },
    );
  };

const connectTo = async (target: Target, means: ConnectorMeans, life: ConnectionLife): Promise<Socket> => {
  life.reached('resolving');
  const addresses = await addressesOf(target.hostname, means.resolve);
  // One forbidden address among allowed ones is an attempt to get in by chance.
  if (!addresses.every(({ address }) => means.isAllowed(address))) throw new ForbiddenAddress();
  life.ended.throwIfAborted();
  life.reached('connecting');
  return established(socketTo(target, addresses, means.secureContext), target, life);
};

const addressesOf = async (hostname: string, resolve: Resolve): Promise<readonly LookupAddress[]> => {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw new NameNotResolved(error);
  });
  if (addresses.length === 0) throw new NameNotResolved(undefined);
  return addresses;
};

/** Node does not call `lookup` for a literal address: it connects to the literal, which was checked as it is. */
const socketTo = (
  { hostname, port, isSecure }: Target,
  addresses: readonly LookupAddress[],
  secureContext: SecureContext,
): Socket => {
  const options = { host: hostname, port, lookup: answering(addresses), autoSelectFamily: true };
  if (!isSecure) return connectTcp(options);
  return connectTls({
    ...options,
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // SNI takes no address and no trailing dot (RFC 6066 §3).
    ...(isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : {}),
  });
};

const answering =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

const established = (socket: Socket, target: Target, life: ConnectionLife): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const give = (): void => {
      socket.destroy();
      reject(new Error('The connection was given up.'));
    };
    life.ended.addEventListener('abort', give, { once: true });
    if (target.isSecure) {
      socket.once('connect', () => {
        life.reached('securing');
      });
    }
    socket.once(target.isSecure ? 'secureConnect' : 'connect', () => {
      life.ended.removeEventListener('abort', give);
      life.reached('connected');
      socket.setNoDelay(true);
      resolve(socket);
    });
    // Stays on: until undici listens itself, an error without a listener would end the process.
    socket.on('error', (error) => {
      life.ended.removeEventListener('abort', give);
      reject(error);
    });
  });
