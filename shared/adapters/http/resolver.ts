import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { RequestNotSentError } from '../../ports/subscriber.ts';
import { isLocalhost } from './address-guard.ts';
import { codeOf } from './connection-fault.ts';

/** All addresses of a name. The signal aborts when the caller no longer waits. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

export type NameResolverOptions = {
  /** Name servers, as `dns.setServers` takes them. Default: those of /etc/resolv.conf. */
  servers?: readonly string[];
  /** Default: /etc/hosts. */
  hostsFile?: string;
};

/** Look-ups under way at once. Each takes one descriptor, in place of the connection that its attempts do not have yet. */
const MOST_LOOKUPS = 256;

/** Look-ups under way at once of names that did not answer lately. */
const MOST_MUTE_LOOKUPS = 32;

/** Milliseconds for which a name that did not answer counts as mute. */
const MUTE_FOR_MS = 60_000;

/** Names remembered as mute; the oldest is forgotten first. */
const MOST_MUTE_NAMES = 1_000;

/** A question is sent again after 1.5 s (0.25 s where c-ares knows the server to be quick), then twice as late each time: for over 5 s. */
const QUESTIONS = { timeout: 1_500, tries: 6 };

/**
 * Resolves names by the hosts file and by DNS, without threads. `dns.lookup` holds one of libuv's threads for up to 10 s for
 * each name with mute servers, and all other look-ups of the process wait for a thread, those of AWS endpoints too.
 *
 * - Attempts to one host share the look-up that is under way. Nothing else is kept: the next attempt asks again.
 * - A look-up is cancelled as soon as no attempt waits for it.
 * - The number of look-ups under way is bounded. Names that did not answer lately have places of their own, so they never
 *   take those of other names.
 * - The host of a URL is a full name: the search domains of /etc/resolv.conf are not applied.
 *
 * Rejects with the codes of `dns.lookup`: ENOTFOUND where the name has no address, EAI_AGAIN where DNS fails or does not answer.
 * @throws RequestNotSentError where no name server can be reached
 */
export function nameResolver({ servers, hostsFile = '/etc/hosts' }: NameResolverOptions = {}): Resolve {
  const hosts = hostsIn(hostsFile);
  const lookups = new Map<string, SharedLookup>();
  const idle: Resolver[] = [];
  const muteNames = new MuteNames();
  const lane = new Lane(MOST_LOOKUPS);
  const muteLane = new Lane(MOST_MUTE_LOOKUPS);

  const begin = (name: string): SharedLookup => {
    // A resolver for each look-up, because `cancel` ends all its questions. It is used again if it was answered; a new one reads
    // /etc/resolv.conf, where the name servers may have changed.
    const resolver = idle.pop() ?? new Resolver(QUESTIONS);
    if (servers !== undefined) resolver.setServers(servers);
    let isOver = false;
    const ask = async (): Promise<readonly LookupAddress[]> => {
      if (isOver) throw new Error('No attempt waits for the look-up any more.');
      const { addresses, failures } = await askDns(resolver, name);
      isOver = true;
      const isMute = failures.includes('ETIMEOUT') || failures.includes('ECANCELLED');
      muteNames.note(name, isMute);
      if (!isMute) idle.push(resolver);
      if (addresses.length === 0) throw lookupError(failures);
      return addresses;
    };
    const abandon = (): void => {
      if (isOver) return;
      isOver = true;
      resolver.cancel();
    };
    return { answer: (muteNames.has(name) ? muteLane : lane).run(ask), abandon, waiting: 0 };
  };

  return async (hostname, signal) => {
    signal.throwIfAborted();
    const name = hostname.toLowerCase().replace(/\.$/, '');
    const known = hosts().get(name) ?? (isLocalhost(name) ? LOOPBACK : undefined);
    if (known !== undefined) return known;
    const lookup = lookups.get(name) ?? begin(name);
    lookups.set(name, lookup);
    lookup.waiting += 1;
    const leave = (): void => {
      lookup.waiting -= 1;
      if (lookup.waiting === 0) lookups.delete(name);
    };
    const giveUp = (): void => {
      leave();
      if (lookup.waiting === 0) lookup.abandon();
    };
    signal.addEventListener('abort', giveUp, { once: true });
    return lookup.answer.finally(() => {
      signal.removeEventListener('abort', giveUp);
      if (!signal.aborted) leave();
    });
  };
}

/** A look-up under way, and how many attempts wait for it. */
type SharedLookup = {
  answer: Promise<readonly LookupAddress[]>;
  abandon: () => void;
  waiting: number;
};

/** A, then AAAA, in turn: where one family has no route, the first address of the other is tried second. */
async function askDns(
  resolver: Resolver,
  name: string,
): Promise<{ addresses: LookupAddress[]; failures: string[] }> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((one) =>
    one.status === 'fulfilled' ? one.value.map((address, place) => ({ address, place })) : [],
  );
  return {
    addresses: addresses
      .toSorted((one, other) => one.place - other.place)
      .map(({ address }) => ({ address, family: isIP(address) })),
    failures: answers.flatMap((one) => (one.status === 'rejected' ? [codeOf(one.reason)] : [])),
  };
}

/** Codes of c-ares for a name that has no address, or cannot have one. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** c-ares says ECONNREFUSED where it could not open a socket, or where every name server refused: both are no fault of the name. */
function lookupError(failures: readonly string[]): Error {
  if (failures.includes('ECONNREFUSED')) return new RequestNotSentError('no name server can be reached');
  const code = failures.every((failure) => NO_ADDRESS.has(failure)) ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error('The look-up failed.'), { code });
}

/** A bounded number of places. Work that finds none waits in the order in which it came. */
class Lane {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

class MuteNames {
  readonly #until = new Map<string, number>();

  has(name: string): boolean {
    return (this.#until.get(name) ?? 0) > Date.now();
  }

  note(name: string, isMute: boolean): void {
    this.#until.delete(name);
    if (isMute) this.#until.set(name, Date.now() + MUTE_FOR_MS);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST_MUTE_NAMES && oldest !== undefined) this.#until.delete(oldest);
  }
}

const LOOPBACK = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }));

/** What the hosts file says (hosts(5)), read again when it has changed. */
function hostsIn(file: string): () => ReadonlyMap<string, readonly LookupAddress[]> {
  let hosts = new Map<string, LookupAddress[]>();
  let readAt: number | undefined;
  return () => {
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (changedAt !== readAt) hosts = parseHosts(changedAt === undefined ? '' : readFileSync(file, 'utf8'));
    readAt = changedAt;
    return hosts;
  };
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((one) => one.toLowerCase()))
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }]);
  }
  return hosts;
}
