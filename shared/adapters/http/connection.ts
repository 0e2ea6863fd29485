import type { LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';

import { type AddressGuard, portOf } from './address-guard.ts';
import {
  ForbiddenAddress,
  NameNotResolved,
  requestNotSentError,
  type ConnectionStage,
} from './connection-fault.ts';
import type { Resolve } from './resolver.ts';

export type Connector = { guard: AddressGuard; resolve: Resolve; secureContext: SecureContext };

/** Follows a connection that is being made: `reached` is told each stage, `signal` gives it up at any of them. */
export type Connecting = { signal: AbortSignal; reached: (stage: ConnectionStage) => void };

/**
 * Connects to the host of a URL. A name is resolved once, every address of it is checked, and the connection is made to the
 * addresses checked: there is no second look-up between check and connection that could answer otherwise.
 * @throws ForbiddenAddress, NameNotResolved, RequestNotSentError, the socket's error, or another error as soon as the signal aborts
 */
export async function connect(url: URL, connector: Connector, connecting: Connecting): Promise<Socket> {
  const { guard, resolve, secureContext } = connector;
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const port = portOf(url);
  connecting.signal.throwIfAborted();
  connecting.reached('resolving');
  if (!guard.allowsPort(port)) throw new ForbiddenAddress();
  const addresses = await addressesOf(hostname, resolve, connecting.signal);
  // One forbidden address among allowed ones is an attempt to get in by chance.
  if (!addresses.every(({ address }) => guard.allows(address, port))) throw new ForbiddenAddress();
  connecting.signal.throwIfAborted();
  connecting.reached('connecting');
  const target = { hostname, port, addresses: addresses.slice(0, MAX_TRIED) };
  return url.protocol === 'https:'
    ? established(tlsSocket(target, secureContext), 'secureConnect', connecting)
    : established(connectTcp(optionsFor(target)), 'connect', connecting);
}

async function addressesOf(
  hostname: string,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  const addresses = await resolve(hostname, signal).catch((error: unknown) => {
    throw requestNotSentError(error) ?? new NameNotResolved(error);
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

type Target = { hostname: string; port: number; addresses: readonly LookupAddress[] };

/** Node does not call `lookup` for a literal address: it connects to the literal, which was checked as it is. */
function optionsFor({ hostname, port, addresses }: Target) {
  return {
    host: hostname,
    port,
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  };
}

function tlsSocket(target: Target, secureContext: SecureContext): Socket {
  const { hostname } = target;
  return connectTls({
    ...optionsFor(target),
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

function established(
  socket: Socket,
  ready: 'connect' | 'secureConnect',
  { signal, reached }: Connecting,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      socket.destroy();
      reject(new Error('The connection was given up.'));
    };
    signal.addEventListener('abort', giveUp, { once: true });
    if (ready === 'secureConnect') {
      socket.once('connect', () => {
        reached('securing');
      });
    }
    socket.once(ready, () => {
      signal.removeEventListener('abort', giveUp);
      reached('connected');
      // For TLS as well, where it is no option of the connection.
      socket.setNoDelay(true);
      resolve(socket);
    });
    // Stays for the life of the socket: an idle one may fail, and an error without a listener would end the process.
    socket.on('error', (error) => {
      signal.removeEventListener('abort', giveUp);
      reject(error);
    });
  });
}
