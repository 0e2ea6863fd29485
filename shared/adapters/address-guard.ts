import { isIP } from 'node:net';

import { isWithin, parsePortRange } from '../domain/port-range.ts';
import type { PortRange } from '../domain/port-range.ts';
import { parseSubscriberUrl } from '../domain/subscriber-url.ts';
import {
  addressOf,
  contains,
  isGlobalUnicast,
  isLoopback,
  isNeverAllowed,
  rangeOf,
  translatedOf,
} from './address-kind.ts';
import type { Address, AddressRange } from './address-kind.ts';

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
export const addressGuard = (places: AllowedPlaces): AddressGuard => {
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
};

/**
 * What is wrong with a subscriber's URL as far as it can be told without a DNS look-up: its form, a forbidden port, or
 * a forbidden address in it. A sentence without subject; undefined if nothing is. Names are checked when they are resolved.
 * @throws InvalidAddressRange
 * @throws InvalidPortRange
 */
export const subscriberUrlFault = (text: string, places: AllowedPlaces): string | undefined => {
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
};

/** The port that a URL stands for, written in it or not. */
export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number => {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
};

/** The address in a URL's host, if it is one: the URL parser has brought every spelling of it into one form. */
const literalAddressOf = (hostname: string): string | undefined => {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return bare;
  // Resolvers must answer these with loopback (RFC 6761 §6.3).
  return /(^|\.)localhost\.?$/.test(bare) ? '127.0.0.1' : undefined;
};

const addressRangeOf = (text: string): AddressRange => {
  const range = rangeOf(text);
  if (range === undefined) throw new InvalidAddressRange(text);
  return range;
};

const portRangeOf = (text: string): PortRange => {
  const range = parsePortRange(text);
  if (range === undefined) throw new InvalidPortRange(text);
  return range;
};

/**
 * Every loopback address at its port leads to a runtime API on loopback. Where it has a name in place of an address,
 * its port is taken for it at every address that is not public.
 */
const runtimeApiAt = (runtimeApi: string | undefined): ((address: Address, port: number) => boolean) => {
  if (runtimeApi === undefined) return () => false;
  const url = new URL(`http://${runtimeApi}`);
  const own = addressOf(literalAddressOf(url.hostname) ?? '');
  return (address, port) => {
    if (port !== portOf(url)) return false;
    if (own === undefined) return !isGlobalUnicast(address);
    return isLoopback(own) ? isLoopback(address) : own.toString() === address.toString();
  };
};
