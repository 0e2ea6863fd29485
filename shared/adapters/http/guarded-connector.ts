import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';

import type { buildConnector } from 'undici';

import { type AddressGuard, portOf } from './address-guard.ts';
import { ForbiddenAddress, NameNotResolved, type Stage } from './connection-fault.ts';

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true, order: 'verbatim' });

export type ConnectorMeans = { guard: AddressGuard; resolve: Resolve; secureContext: SecureContext };

/** What becomes of one connection: `ended` stops its making at any stage. */
type ConnectionLife = { ended: AbortSignal; reached: (stage: Stage) => void };

type Target = { hostname: string; port: number; isSecure: boolean };

/**
 * Makes undici's connections. A name is resolved once, every address of it is checked, and the connection is made
 * to the addresses checked: there is no second look-up between check and connection that could answer otherwise.
 */
export function guardedConnector(means: ConnectorMeans, life: ConnectionLife): buildConnector.connector {
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const port = portOf(options);
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
}

async function connectTo(target: Target, means: ConnectorMeans, life: ConnectionLife): Promise<Socket> {
  life.reached('resolving');
  if (!means.guard.allowsPort(target.port)) throw new ForbiddenAddress();
  const addresses = await addressesOf(target.hostname, means.resolve);
  // One forbidden address among allowed ones is an attempt to get in by chance.
  if (!addresses.every(({ address }) => means.guard.allows(address, target.port))) {
    throw new ForbiddenAddress();
  }
  life.ended.throwIfAborted();
  life.reached('connecting');
  return established(socketTo(target, addresses.slice(0, MAX_TRIED), means.secureContext), target, life);
}

async function addressesOf(hostname: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  const addresses = await resolve(hostname).catch((error: unknown) => {
    throw new NameNotResolved(error);
  });
  if (addresses.length === 0) throw new NameNotResolved(undefined);
  return addresses;
}

/** Addresses of one name that are tried. A name may have thousands, which would make as many connections of one attempt. */
const MAX_TRIED = 8;

/**
 * Milliseconds after which an address that does not answer is given up for the next one of its name. Node's own 250 are
 * too few for a subscriber on the other side of the world, or for a lost SYN, which is sent again after 1 s (RFC 6298 §2).
 */
const NEXT_ADDRESS_MS = 1_500;

/** Node does not call `lookup` for a literal address: it connects to the literal, which was checked as it is. */
function socketTo(
  { hostname, port, isSecure }: Target,
  addresses: readonly LookupAddress[],
  secureContext: SecureContext,
): Socket {
  const options = {
    host: hostname,
    port,
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  };
  if (!isSecure) return connectTcp(options);
  return connectTls({
    ...options,
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // SNI takes no address and no trailing dot (RFC 6066 §3).
    ...(isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : {}),
  });
}

function answering(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function established(socket: Socket, target: Target, life: ConnectionLife): Promise<Socket> {
  return new Promise((resolve, reject) => {
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
}
