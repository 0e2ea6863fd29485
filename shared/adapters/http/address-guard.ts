import ipaddr from 'ipaddr.js';
import {
  isWithin,
  parsePortRange,
  parseSubscriberUrl,
  type PortRange,
} from '../../domain/subscription/subscriber-url.ts';
import { isIP } from 'node:net';

/** Where subscribers may be. */
export type AllowedPlaces = {
  /** CIDR ranges that subscribers may be at though they are not global unicast. */
  allowedAddresses: readonly string[];
  /** Ports and ranges of ports, such as `443` and `8000-9000`. Default any. */
  allowedPorts?: readonly string[];
  /** Host and port of Lambda's runtime API, at which requests are answered without a signature. Never allowed. */
  runtimeApi?: string | undefined;
};

/** Whether a connection may be made. */
export type AddressGuard = {
  allowsPort: (port: number) => boolean;
  /** The port counts as well. Anything that is not an IP address is not allowed. */
  allows: (address: string, port: number) => boolean;
};

/** A range of `allowedAddresses` that cannot be read. */
export class InvalidAddressRange extends Error {
  override readonly name = 'InvalidAddressRange';

  readonly range: string;

  constructor(range: string) {
    super(`"${range}" is not an address range such as 10.1.0.0/16 or fd00:1::/64.`);
    this.range = range;
  }
}

/** An entry of `allowedPorts` that cannot be read. */
export class InvalidPortRange extends Error {
  override readonly name = 'InvalidPortRange';

  readonly range: string;

  constructor(range: string) {
    super(`"${range}" is not a port such as 443, nor a range of ports such as 8000-9000.`);
    this.range = range;
  }
}

/**
 * Allows global unicast addresses, and those of the given ranges but for what is never allowed (see address-kind).
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function addressGuard(places: AllowedPlaces): AddressGuard {
  const ranges = places.allowedAddresses.map(addressRangeOf);
  const ports = (places.allowedPorts ?? []).map(portRangeOf);
  const isRuntimeApi = runtimeApiAt(places.runtimeApi);

  const isAllowed = (address: Address): boolean => {
    if (isGlobalUnicast(address)) return true;
    if (isNeverAllowed(address) || !ranges.some((range) => contains(range, address))) return false;
    const translated = translatedOf(address);
    return translated === undefined || isAllowed(translated);
  };
  const allowsPort = (port: number): boolean =>
    ports.length === 0 || ports.some((range) => isWithin(port, range));

  return {
    allowsPort,
    allows: (text, port) => {
      const address = addressOf(text);
      return address !== undefined && allowsPort(port) && isAllowed(address) && !isRuntimeApi(address, port);
    },
  };
}

/**
 * What is wrong with a subscriber's URL as far as it can be told without a DNS look-up: its form, a forbidden port, or
 * a forbidden address in it. A sentence without subject; undefined if nothing is. Names are checked when they are resolved.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export function subscriberUrlFault(text: string, places: AllowedPlaces): string | undefined {
  const parsed = parseSubscriberUrl(text);
  if (parsed.kind === 'invalid') return parsed.fault;
  const guard = addressGuard(places);
  const port = portOf(parsed.url);
  if (!guard.allowsPort(port)) {
    return `must not lead to port ${port}; allowed are ${(places.allowedPorts ?? []).join(', ')}`;
  }
  const literal = literalAddressOf(parsed.url.hostname);
  if (literal === undefined || guard.allows(literal, port)) return undefined;
  return 'must not lead to a private or reserved address';
}

/** The port that a URL stands for, written in it or not. */
export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** The address in a URL's host, if it is one: the URL parser has brought every spelling of it into one form. */
function literalAddressOf(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return bare;
  return isLocalhost(bare) ? '127.0.0.1' : undefined;
}

/** Names that stand for loopback and are never asked of DNS (RFC 6761 §6.3). */
export function isLocalhost(hostname: string): boolean {
  return /(^|\.)localhost\.?$/.test(hostname);
}

function addressRangeOf(text: string): AddressRange {
  const range = rangeOf(text);
  if (range === undefined) throw new InvalidAddressRange(text);
  return range;
}

function portRangeOf(text: string): PortRange {
  const range = parsePortRange(text);
  if (range === undefined) throw new InvalidPortRange(text);
  return range;
}

/**
 * Every loopback address at its port leads to a runtime API on loopback. Where it has a name in place of an address,
 * its port is taken for it at every address that is not public.
 */
function runtimeApiAt(runtimeApi: string | undefined): (address: Address, port: number) => boolean {
  if (runtimeApi === undefined) return () => false;
  const url = new URL(`http://${runtimeApi}`);
  const own = addressOf(literalAddressOf(url.hostname) ?? '');
  return (address, port) => {
    if (port !== portOf(url)) return false;
    if (own === undefined) return !isGlobalUnicast(address);
    return isLoopback(own) ? isLoopback(address) : own.toString() === address.toString();
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type AddressRange = [Address, number];

/** Only the one canonical way to write IPv4, which is what resolvers and the URL parser give. The zone is no part of it. */
function addressOf(text: string): Address | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text.replace(/%.*$/, ''));
}

/** A CIDR range whose address is in canonical form; undefined for anything else. */
function rangeOf(text: string): AddressRange | undefined {
  const [address = '', bits] = text.split('/');
  const isRange = isIP(address) !== 0 && bits !== undefined && ipaddr.isValidCIDR(text);
  return isRange ? ipaddr.parseCIDR(text) : undefined;
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
 * What no setting opens: the link-local addresses, at which AWS serves metadata, credentials and tracing to whoever is on
 * the machine; the range at which it serves the same over IPv6; another name for this machine; and the forms that only
 * wrap an IPv4 address, which is allowed or not by itself.
 */
function isNeverAllowed(address: Address): boolean {
  return (
    NEVER_ALLOWED.has(address.range()) ||
    NEVER_ALLOWED_RANGES.some((range) => contains(range, address)) ||
    (address instanceof ipaddr.IPv6 && (isIsatap(address) || isCompatible(address)))
  );
}

/**
 * The IPv4 address that a NAT64 gateway with the well-known prefix connects to (RFC 6052 §2.4). DNS64 makes up such
 * addresses for hosts that have IPv4 only, so that this one form has a use.
 */
function translatedOf(address: Address): ipaddr.IPv4 | undefined {
  return address instanceof ipaddr.IPv6 && contains(NAT64, address)
    ? new ipaddr.IPv4(address.toByteArray().slice(-4))
    : undefined;
}

/**
 * The only part of IPv6 given out for global unicast (IANA; RFC 4291 §2.4). What lies outside carries IPv4 inside
 * (compatible ::/96, mapped, SIIT, NAT64), is site-local, or is not assigned at all.
 */
const GLOBAL_UNICAST_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const COMPATIBLE = ipaddr.IPv6.parseCIDR('::/96');

/** In the words of ipaddr.js; `rfc6145` is SIIT. */
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
  // Local NAT64: where in it the IPv4 address stands is up to the gateway (RFC 8215).
  ipaddr.IPv6.parseCIDR('64:ff9b:1::/48'),
];

function isCompatible(address: ipaddr.IPv6): boolean {
  return contains(COMPATIBLE, address) && !isLoopback(address);
}

const ISATAP_MARK = 0x5efe;
/** The universal and group bits of an interface identifier, which ISATAP leaves open. */
const ISATAP_FLAGS = 0x0300;

/** ISATAP puts an IPv4 address behind any prefix: …:0000:5efe:a.b.c.d (RFC 5214 §6.1). */
function isIsatap(address: ipaddr.IPv6): boolean {
  return ((address.parts[4] ?? 0) & ~ISATAP_FLAGS) === 0 && address.parts[5] === ISATAP_MARK;
}
