import { isIP } from 'node:net';

import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = [Address, number];

/** Only the one canonical way to write IPv4, which is what resolvers and the URL parser give. The zone is no part of it. */
export const addressOf = (text: string): Address | undefined =>
  isIP(text) === 0 ? undefined : ipaddr.parse(text.replace(/%.*$/, ''));

/** A CIDR range whose address is in canonical form; undefined for anything else. */
export const rangeOf = (text: string): AddressRange | undefined => {
  const [address = '', bits] = text.split('/');
  const isRange = isIP(address) !== 0 && bits !== undefined && ipaddr.isValidCIDR(text);
  return isRange ? ipaddr.parseCIDR(text) : undefined;
};

export const contains = ([network, bits]: AddressRange, address: Address): boolean =>
  network.kind() === address.kind() && address.match(network, bits);

export const isLoopback = (address: Address): boolean => address.range() === 'loopback';

export const isGlobalUnicast = (address: Address): boolean => {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (contains(GLOBAL_UNICAST_IPV6, address) && !isIsatap(address));
};

/**
 * What no setting opens: the link-local addresses, at which AWS serves metadata, credentials and tracing to whoever is on
 * the machine; the range at which it serves the same over IPv6; another name for this machine; and the forms that only
 * wrap an IPv4 address, which is allowed or not by itself.
 */
export const isNeverAllowed = (address: Address): boolean =>
  NEVER_ALLOWED.has(address.range()) ||
  NEVER_ALLOWED_RANGES.some((range) => contains(range, address)) ||
  (address instanceof ipaddr.IPv6 && (isIsatap(address) || isCompatible(address)));

/**
 * The IPv4 address that a NAT64 gateway with the well-known prefix connects to (RFC 6052 §2.4). DNS64 makes up such
 * addresses for hosts that have IPv4 only, so that this one form has a use.
 */
export const translatedOf = (address: Address): ipaddr.IPv4 | undefined =>
  address instanceof ipaddr.IPv6 && contains(NAT64, address)
    ? new ipaddr.IPv4(address.toByteArray().slice(-4))
    : undefined;

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

const isCompatible = (address: ipaddr.IPv6): boolean => contains(COMPATIBLE, address) && !isLoopback(address);

const ISATAP_MARK = 0x5efe;
/** The universal and group bits of an interface identifier, which ISATAP leaves open. */
const ISATAP_FLAGS = 0x0300;

/** ISATAP puts an IPv4 address behind any prefix: …:0000:5efe:a.b.c.d (RFC 5214 §6.1). */
const isIsatap = (address: ipaddr.IPv6): boolean =>
  ((address.parts[4] ?? 0) & ~ISATAP_FLAGS) === 0 && address.parts[5] === ISATAP_MARK;
