import { hash } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  DEFAULT_CIPHERS,
  getCACertificates,
  type SecureContext,
} from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { ClientTls } from '../../ports/subscriber.ts';
import { type AddressGuard, getPort } from './address-guard.ts';
import {
  type ConnectionStage,
  ForbiddenAddress,
  NameNotResolved,
  requestNotSentError,
  TlsFailed,
} from './connection-fault.ts';
import type { Resolve } from './resolver.ts';

type Connector = { guard: AddressGuard; resolve: Resolve; secureContext: SecureContext };

/** Controls a connection attempt: `reached` is called at each stage, `signal` aborts it at any stage. */
type ConnectionControl = { signal: AbortSignal; reached: (stage: ConnectionStage) => void };

/**
 * Connects to the host of a URL. A name is resolved once, all of its addresses are checked, and only these
 * addresses are used: a second look-up between check and connection could return others.
 * @throws ForbiddenAddress, NameNotResolved, RequestNotSentError, the socket's error, or another error as soon as
 * the signal aborts
 */
export async function connect(url: URL, connector: Connector, control: ConnectionControl): Promise<Socket> {
  const { guard, resolve, secureContext } = connector;
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const port = getPort(url);
  control.signal.throwIfAborted();
  control.reached('resolving');
  if (!guard.allowsPort(port)) throw new ForbiddenAddress();
  const addresses = await resolveAddresses(hostname, resolve, control.signal);
  // A name with one forbidden address may be set up to reach it in some of the attempts.
  if (!addresses.every(({ address }) => guard.allows(address, port))) throw new ForbiddenAddress();
  control.signal.throwIfAborted();
  control.reached('connecting');
  const tcp = connectTcp({
    host: hostname,
    port,
    // Not called for a literal address: Node connects to the literal, which was already checked.
    lookup: lookupReturning(addresses.slice(0, MAX_ADDRESSES)),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  });
  const socket = await waitUntilReady(tcp, 'connect', control);
  if (url.protocol !== 'https:') return socket;
  control.reached('securing');
  const secured = tlsSocket(socket, hostname, secureContext);
  destroyOnTlsFlood(secured, socket);
  return waitUntilReady(secured, 'secureConnect', control);
}

async function resolveAddresses(
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

/**
 * The most addresses of a name that are tried. A name may have thousands, each of which would cost a connection.
 */
const MAX_ADDRESSES = 8;

/**
 * Milliseconds before an address that does not answer is abandoned for the next one. Node's default of 250 is too
 * short for a distant subscriber, or for a lost SYN, which is sent again after 1 s (RFC 6298 §2).
 */
const NEXT_ADDRESS_MS = 1_500;

function tlsSocket(socket: Socket, hostname: string, secureContext: SecureContext): Socket {
  return connectTls({
    socket,
    host: hostname,
    secureContext,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // SNI takes no address and no trailing dot (RFC 6066 §3).
    ...(isIP(hostname) === 0 ? { servername: hostname.replace(/\.$/, '') } : {}),
  });
}

/** Bytes that TLS may add to the data of a connection, which it at most doubles besides. */
const MAX_TLS_OVERHEAD = 128 * 1024;
const TLS_CHECK_MS = 50;

/**
 * Key updates, renegotiations and session tickets raise no event, have no limit in OpenSSL, and cost computing time:
 * 4 MB of key updates take 2 s.
 */
function destroyOnTlsFlood(secured: Socket, tcp: Socket): void {
  const timer = setInterval(() => {
    if (tcp.bytesRead > MAX_TLS_OVERHEAD + 2 * secured.bytesRead)
      secured.destroy(new TlsFailed('no end of TLS messages'));
  }, TLS_CHECK_MS).unref();
  secured.once('close', () => {
    clearInterval(timer);
  });
}

function lookupReturning(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };
}

function waitUntilReady(
  socket: Socket,
  ready: 'connect' | 'secureConnect',
  { signal, reached }: ConnectionControl,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      socket.destroy();
      reject(new Error('The connection attempt was aborted.'));
    };
    signal.addEventListener('abort', giveUp, { once: true });
    socket.once(ready, () => {
      signal.removeEventListener('abort', giveUp);
      reached('connected');
      // Also needed for TLS, which has no such connection option.
      socket.setNoDelay(true);
      resolve(socket);
    });
    // Stays for the socket's lifetime: an idle socket may fail, and an error without a listener would stop the
    // process.
    socket.on('error', (error) => {
      signal.removeEventListener('abort', giveUp);
      reject(error);
    });
  });
}

/** The client's side of TLS. `name`: different for each certificate, key and authority; empty without any of them. */
export type TlsIdentity = { name: string; secureContext: SecureContext };

/** Each takes about 40 KB and a millisecond. */
const MAX_CONTEXTS = 200;

/** With the public authorities in each: 1.3 MB and 30 ms. */
const MAX_LARGE_CONTEXTS = 50;

/**
 * The identities of a process, the least recently used one forgotten first.
 * @throws TlsFailed from the returned function, if a certificate or its key cannot be used
 */
export function clientCertificates(
  trustedCertificates: readonly string[],
): (tls: ClientTls | undefined) => TlsIdentity {
  const ca =
    trustedCertificates.length === 0 ? {} : { ca: [...getCACertificates('default'), ...trustedCertificates] };
  const most = trustedCertificates.length === 0 ? MAX_CONTEXTS : MAX_LARGE_CONTEXTS;
  const anonymous = { name: '', secureContext: createSecureContext({ ...PROTOCOL, ...ca }) };
  const known = new LRUCache<string, TlsIdentity>({ max: most });

  return (tls) => {
    if (tls === undefined) return anonymous;
    const name = hashIdentity(tls);
    const identity = known.get(name) ?? { name, secureContext: buildSecureContext(tls, ca) };
    known.set(name, identity);
    return identity;
  };
}

/** No DHE: the receiver chooses the group, and one of 10,000 bits stops the process for a second at each handshake. */
const PROTOCOL = { minVersion: 'TLSv1.2', ciphers: `${DEFAULT_CIPHERS}:!DHE` } as const;

/** `ca` takes the place of the public authorities: none of them can vouch for a private receiver. */
function buildSecureContext({ identity, ca }: ClientTls, trusted: { ca?: string[] }): SecureContext {
  try {
    return createSecureContext({
      ...PROTOCOL,
      ...(identity && { cert: identity.certificate, key: identity.privateKey }),
      ...(ca === undefined ? trusted : { ca }),
    });
  } catch {
    // No cause: messages of OpenSSL may quote the input.
    throw new TlsFailed('client certificate or key unusable');
  }
}

function hashIdentity({ identity, ca }: ClientTls): string {
  return hash('sha256', JSON.stringify([identity?.certificate, identity?.privateKey, ca]), 'base64');
}
