import ipaddr from 'ipaddr.js';
import {
  isWithin,
  parsePortRange,
  parseSubscriberUrl,
  pullNameFault,
  type PortRange,
} from '../../domain/subscription/subscriber-url.ts';
import { parseDestination } from '../../domain/subscription/destination.ts';
import { isIP } from 'node:net';

/** Where subscribers may be located. */
export type AllowedPlaces = {
  /** CIDR ranges that are allowed although they are not global unicast. */
  allowedAddresses: readonly string[];
  /** Ports and port ranges, such as `443` and `8000-9000`. Default: any. */
  allowedPorts?: readonly string[];
  /** Host and port of Lambda's runtime API, which answers requests without a signature. Never allowed. */
  runtimeApi?: string | undefined;
};

/** Whether a connection may be made. */
export type AddressGuard = {
  allowsPort: (port: number) => boolean;
  /** Whether an address and port are allowed. Anything that is not an IP address is not. */
  allows: (address: string, port: number) => boolean;
};

/** An entry of `allowedAddresses` that is not a valid range. */
export class InvalidAddressRange extends Error {
  override readonly name = 'InvalidAddressRange';
  constructor(range: string) {
    super(`"${range}" is not an address range such as 10.1.0.0/16 or fd00:1::/64.`);
  }
}

/** An entry of `allowedPorts` that is not a valid port or range. */
export class InvalidPortRange extends Error {
  override readonly name = 'InvalidPortRange';
  constructor(range: string) {
    super(`"${range}" is not a port such as 443, nor a range of ports such as 8000-9000.`);
  }
}

/**
 * Allows global unicast addresses and the given ranges, except addresses that are never allowed.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function addressGuard(places: AllowedPlaces): AddressGuard {
  const ranges = places.allowedAddresses.map(requireAddressRange);
  const ports = (places.allowedPorts ?? []).map(requirePortRange);
  const isRuntimeApi = runtimeApiAt(places.runtimeApi);

  const isAllowed = (address: Address): boolean => {
    if (isGlobalUnicast(address)) return true;
    if (isNeverAllowed(address) || !ranges.some((range) => contains(range, address))) return false;
    const translated = translateNat64(address);
    return translated === undefined || isAllowed(translated);
  };
  const allowsPort = (port: number): boolean =>
    ports.length === 0 || ports.some((range) => isWithin(port, range));

  return {
    allowsPort,
    allows: (text, port) => {
      const address = parseAddress(text);
      return address !== undefined && allowsPort(port) && isAllowed(address) && !isRuntimeApi(address, port);
    },
  };
}

/**
 * The fault of a subscriber URL that can be found without DNS: its form, a forbidden port, or a forbidden literal
 * address. The text follows the name of the field: "must not lead to …". Undefined if there is none. Host names are
 * checked when they are resolved.
 * @throws InvalidAddressRange, InvalidPortRange
 */
export function subscriberUrlFault(text: string, places: AllowedPlaces): string | undefined {
  const parsed = parseSubscriberUrl(text);
  if (parsed.kind === 'invalid') return parsed.fault;
  const guard = addressGuard(places);
  const port = getPort(parsed.url);
  if (!guard.allowsPort(port)) {
    return `must not lead to port ${port}; allowed are ${(places.allowedPorts ?? []).join(', ')}`;
  }
  const literal = findLiteralAddress(parsed.url.hostname);
  if (literal === undefined || guard.allows(literal, port)) return undefined;
  return 'must not lead to a private or reserved address';
}

/** The same for Zaqar's `subscriber`, which may also name a pull destination. */
export function subscriberFault(subscriber: string, places: AllowedPlaces): string | undefined {
  const destination = parseDestination(subscriber);
  switch (destination.kind) {
    case 'webhook':
      return subscriberUrlFault(destination.url, places);
    case 'pull':
      return pullNameFault(destination.name);
  }
}

/** The port of a URL, explicit or default. */
export function getPort({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** The address in a URL's host, if it is one. The URL parser has normalised every spelling of it. */
function findLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return bare;
  return isLocalhost(bare) ? '127.0.0.1' : undefined;
}

/** Names that mean loopback and are never looked up in DNS (RFC 6761 §6.3). */
export function isLocalhost(hostname: string): boolean {
  return /(^|\.)localhost\.?$/.test(hostname);
}

/** A CIDR range with an address in canonical form. */
function requireAddressRange(text: string): AddressRange {
  const [address = '', bits] = text.split('/');
  const isRange = isIP(address) !== 0 && bits !== undefined && ipaddr.isValidCIDR(text);
  if (!isRange) throw new InvalidAddressRange(text);
  return ipaddr.parseCIDR(text);
}

function requirePortRange(text: string): PortRange {
  const range = parsePortRange(text);
  if (range === undefined) throw new InvalidPortRange(text);
  return range;
}

/**
 * Matches the runtime API. If it is on loopback, every loopback address at its port matches. If it is given by
 * name, its port matches at every address that is not public.
 */
function runtimeApiAt(runtimeApi: string | undefined): (address: Address, port: number) => boolean {
  if (runtimeApi === undefined) return () => false;
  const url = new URL(`http://${runtimeApi}`);
  const api = parseAddress(findLiteralAddress(url.hostname) ?? '');
  return (address, port) => {
    if (port !== getPort(url)) return false;
    if (api === undefined) return !isGlobalUnicast(address);
    return isLoopback(api) ? isLoopback(address) : api.toString() === address.toString();
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = [Address, number];

/**
 * Parses an IP address. IPv4 only in its canonical form, which resolvers and the URL parser produce. The zone is
 * ignored.
 */
function parseAddress(text: string): Address | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text.replace(/%.*$/, ''));
}

function contains([network, bits]: AddressRange, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

function isLoopback(address: Address): boolean {
  return address.range() === 'loopback';
}

function isGlobalUnicast(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (contains(GLOBAL_UNICAST_IPV6, address) && !isIsatap(address));
}

/**
 * Addresses that no setting can allow: link-local addresses, where AWS serves metadata, credentials and tracing;
 * the range where it serves the same over IPv6; other names for this machine; and forms that wrap an IPv4
 * address, which is checked directly.
 */
function isNeverAllowed(address: Address): boolean {
  return (
    NEVER_ALLOWED.has(address.range()) ||
    NEVER_ALLOWED_RANGES.some((range) => contains(range, address)) ||
    (address instanceof ipaddr.IPv6 && (isIsatap(address) || isCompatible(address)))
  );
}

/**
 * The IPv4 address that a NAT64 gateway with the well-known prefix connects to (RFC 6052 §2.4). DNS64 synthesises
 * such addresses for IPv4-only hosts, so this form is useful.
 */
function translateNat64(address: Address): ipaddr.IPv4 | undefined {
  return address instanceof ipaddr.IPv6 && contains(NAT64, address)
    ? new ipaddr.IPv4(address.toByteArray().slice(-4))
    : undefined;
}

/**
 * The only part of IPv6 assigned to global unicast (IANA; RFC 4291 §2.4). Addresses outside embed IPv4
 * (compatible ::/96, mapped, SIIT, NAT64), are site-local, or are not assigned.
 */
const GLOBAL_UNICAST_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96');

/** Range names of ipaddr.js; `rfc6145` is SIIT. */
const NEVER_ALLOWED: ReadonlySet<string> = new Set([
  'unspecified',
  'linkLocal',
  'ipv4Mapped',
  'rfc6145',
  '6to4',
  'teredo',
]);

const NEVER_ALLOWED_RANGES = [
  // Metadata at ::254, credentials of EKS pods at ::23, DNS at ::253, time at ::123 (EC2 and EKS user guides).
  ipaddr.IPv6.parseCIDR('fd00:ec2::/32'),
  // Local NAT64: the gateway decides where in the address the IPv4 address is (RFC 8215).
  ipaddr.IPv6.parseCIDR('64:ff9b:1::/48'),
];

function isCompatible(address: ipaddr.IPv6): boolean {
  return contains(COMPATIBLE, address) && !isLoopback(address);
}

const ISATAP_MARK = 0x5efe;
/** The universal and group bits of an interface identifier, which ISATAP does not fix. */
const ISATAP_FLAGS = 0x0300;

/**
 * Whether an address is ISATAP, which embeds an IPv4 address behind any prefix: …:0000:5efe:a.b.c.d (RFC 5214
 * §6.1).
 */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & ~ISATAP_FLAGS) === 0 && address.parts[5] === ISATAP_MARK;
}
