import { isIP } from 'node:net';

import ipaddr from 'ipaddr.js';

import { parseSubscriberUrl } from '../domain/subscriber-url.ts';

/** Whether a connection may be made to an address. Anything that is not an IP address is not allowed. */
export type AddressGuard = (address: string) => boolean;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** A range of `allowedAddresses` that cannot be read. */
export class InvalidAddressRange extends Error {
  override readonly name = 'InvalidAddressRange';

  readonly range: string;

  constructor(range: string) {
    super(`"${range}" is not an address range such as 10.1.0.0/16 or fd00:1::/64.`);
    this.range = range;
  }
}

/**
 * Allows global unicast addresses, and those of the given CIDR ranges whatever they are.
 * @throws InvalidAddressRange
 */
export const addressGuard = (allowedAddresses: readonly string[]): AddressGuard => {
  const ranges = allowedAddresses.map(rangeOf);
  return (text) => {
    const address = addressOf(text);
    if (address === undefined) return false;
    return ranges.some((range) => contains(range, address)) || isGlobalUnicast(address);
  };
};

/**
 * What is wrong with a subscriber's URL as far as it can be told without a DNS look-up: its form, or a forbidden
 * address in it. A sentence without subject; undefined if nothing is. Names are checked when they are resolved.
 * @throws InvalidAddressRange
 */
export const subscriberUrlFault = (text: string, allowedAddresses: readonly string[]): string | undefined => {
  const parsed = parseSubscriberUrl(text);
  if (parsed.kind === 'invalid') return parsed.fault;
  const literal = literalAddressOf(parsed.url.hostname);
  if (literal === undefined || addressGuard(allowedAddresses)(literal)) return undefined;
  return 'must not lead to a private or reserved address';
};

/** The address in a URL's host, if it is one: the URL parser has brought every spelling of it into one form. */
const literalAddressOf = (hostname: string): string | undefined => {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return bare;
  // Resolvers must answer these with loopback (RFC 6761 §6.3).
  return /(^|\.)localhost\.?$/.test(bare) ? '127.0.0.1' : undefined;
};

const rangeOf = (text: string): Range => {
  const [address = '', bits] = text.split('/');
  const isRange = isIP(address) !== 0 && bits !== undefined && ipaddr.isValidCIDR(text);
  if (!isRange) throw new InvalidAddressRange(text);
  return ipaddr.parseCIDR(text);
};

/** Only the one canonical way to write IPv4, which is what resolvers and the URL parser give. The zone is no part of it. */
const addressOf = (text: string): Address | undefined =>
  isIP(text) === 0 ? undefined : ipaddr.parse(text.replace(/%.*$/, ''));

const contains = ([network, bits]: Range, address: Address): boolean =>
  network.kind() === address.kind() && address.match(network, bits);

const isGlobalUnicast = (address: Address): boolean => {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (address.match(GLOBAL_UNICAST_IPV6, 3) && !isIsatap(address));
};

/**
 * The only part of IPv6 given out for global unicast (IANA; RFC 4291 §2.4). What lies outside carries IPv4 inside
 * (compatible ::/96, mapped, SIIT, NAT64), is site-local, or is not assigned at all.
 */
const GLOBAL_UNICAST_IPV6 = ipaddr.IPv6.parse('2000::');

const ISATAP_MARK = 0x5efe;
/** The universal and group bits of an interface identifier, which ISATAP leaves open. */
const ISATAP_FLAGS = 0x0300;

/** ISATAP puts an IPv4 address behind any prefix: …:0000:5efe:a.b.c.d (RFC 5214 §6.1). */
const isIsatap = (address: ipaddr.IPv6): boolean =>
  ((address.parts[4] ?? 0) & ~ISATAP_FLAGS) === 0 && address.parts[5] === ISATAP_MARK;
