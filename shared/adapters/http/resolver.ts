import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { RequestNotSentError } from '../../ports/subscriber.ts';
import { limitConcurrency } from '../in-parallel.ts';
import { isLocalhost } from './address-guard.ts';
import { findErrorCode } from './connection-fault.ts';

/**
 * All addresses of a name. Rejects as soon as the signal aborts.
 * @throws RequestNotSentError if the look-up failed for lack of a local resource
 */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>;

type NameResolverOptions = {
  /** Name servers, as `dns.setServers` takes them. Default: those of /etc/resolv.conf. */
  servers?: readonly string[];
  /** Default: /etc/hosts. */
  hostsFile?: string;
};

/** Most concurrent look-ups. Each uses a descriptor; its attempts have no connection yet. */
const MAX_LOOKUPS = 256;

/** Most concurrent look-ups of mute names, whose name servers do not answer. */
const MAX_MUTE_LOOKUPS = 32;

/** Milliseconds without an answer after which a name is mute. Attempts that end earlier do not count. */
const MUTE_AFTER_MS = 3_000;

/** Milliseconds for which a name stays mute. */
const MUTE_FOR_MS = 60_000;

/** Names remembered as mute. */
const MAX_MUTE_NAMES = 1_000;

/** A question is repeated after 1.5 s (0.25 s if c-ares knows the server to be fast), doubling, for over 5 s. */
const QUESTIONS = { timeout: 1_500, tries: 6 };

/**
 * Milliseconds to wait for the second family after the first has answered: the "Resolution Delay" of RFC 8305 §3,
 * which recommends 50 for interactive use. IPv4 gets time for a second question (2 s, since Node checks once a
 * second), because a function without IPv6 needs its addresses.
 */
const GRACE_MS = { ipv4: 2_500, ipv6: 250 };

/** Resolvers answer at once and briefly that it does not exist (RFC 6761 §6.4). */
const NONEXISTENT_NAME = 'invalid';

/**
 * Resolves names by the hosts file and by DNS, without threads. `dns.lookup` occupies one of libuv's threads for up to
 * 10 s for each name with mute servers, and delays all other look-ups of the process, including those of AWS endpoints.
 *
 * - Attempts to one host share a look-up in progress. Results are not cached: the next attempt asks again.
 * - A look-up is cancelled as soon as no attempt waits for it.
 * - One family is enough: the other is awaited no longer than `GRACE_MS`.
 * - Concurrent look-ups are limited. Mute names have a separate limit, so they never delay other names.
 * - The host of a URL is a full name: the search domains of /etc/resolv.conf are not applied.
 *
 * Rejects with the codes of `dns.lookup`: ENOTFOUND if the name has no address, EAI_AGAIN if DNS fails or does not answer.
 * @throws RequestNotSentError if no name server can be reached, or the signal aborts before the look-up could start
 */
export function nameResolver({ servers, hostsFile = '/etc/hosts' }: NameResolverOptions = {}): Resolve {
  const hosts = hostsIn(hostsFile);
  const lookups = new Map<string, SharedLookup>();
  const idle: Resolver[] = [];
  const muteNames = new LRUCache<string, true>({
    max: MAX_MUTE_NAMES,
    ttl: MUTE_FOR_MS,
    perf: { now: () => Date.now() },
  });
  const slots = limitConcurrency(MAX_LOOKUPS);
  const muteSlots = limitConcurrency(MAX_MUTE_LOOKUPS);

  const begin = (name: string): SharedLookup => {
    // One resolver per look-up, because `cancel` ends all of its questions. It is reused only after an answer; a
    // new one reads /etc/resolv.conf, where the name servers may have changed.
    const resolver = idle.pop() ?? new Resolver(QUESTIONS);
    if (servers !== undefined) resolver.setServers(servers);
    let askedAt: number | undefined;
    let isOver = false;
    const noteSilence = (): void => {
      if (askedAt !== undefined && Date.now() - askedAt >= MUTE_AFTER_MS) muteNames.set(name, true);
    };
    const ask = async (): Promise<readonly LookupAddress[]> => {
      if (isOver) throw new Error('The look-up was abandoned before it started.');
      askedAt = Date.now();
      const { addresses, failures } = await askAgainIfRefused(resolver, name, () => isOver);
      isOver = true;
      const isAnswered = !failures.some((failure) => NO_ANSWER.has(failure));
      if (isAnswered) idle.push(resolver);
      if (isAnswered || addresses.length > 0) muteNames.delete(name);
      else noteSilence();
      if (addresses.length === 0) throw lookupError(failures);
      return addresses;
    };
    const abandon = (): void => {
      if (isOver) return;
      isOver = true;
      noteSilence();
      resolver.cancel();
    };
    const answer = (muteNames.has(name) ? muteSlots : slots)(ask);
    return { answer, isAsked: () => askedAt !== undefined, abandon, waiting: 0 };
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
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        leave();
        if (lookup.waiting === 0) lookup.abandon();
        reject(lookup.isAsked() ? new Error('The look-up was aborted.') : new RequestNotSentError(TOO_MANY));
      };
      signal.addEventListener('abort', giveUp, { once: true });
      lookup.answer
        .finally(() => {
          signal.removeEventListener('abort', giveUp);
          if (!signal.aborted) leave();
        })
        .then(resolve, reject);
    });
  };
}

const TOO_MANY = 'too many names are being looked up';

/** A look-up in progress, and how many attempts wait for it. */
type SharedLookup = {
  answer: Promise<readonly LookupAddress[]>;
  /** False while it waits for a free look-up. */
  isAsked: () => boolean;
  abandon: () => void;
  waiting: number;
};

type Answer = { addresses: LookupAddress[]; failures: string[] };

/**
 * c-ares reports ECONNREFUSED if it could not open a socket, if every name server refused, and also if the answer
 * is too long for UDP and the name server has no TCP. So it asks again, together with a name that has a short
 * answer: only if that is refused too is the fault local.
 */
async function askAgainIfRefused(resolver: Resolver, name: string, isOver: () => boolean): Promise<Answer> {
  const answer = await askDns(resolver, name);
  if (isOver() || answer.addresses.length > 0 || !answer.failures.includes('ECONNREFUSED')) return answer;
  const [again, isReachable] = await Promise.all([askDns(resolver, name), reachesServer(resolver)]);
  if (!isReachable) throw new RequestNotSentError('no name server can be reached');
  return again;
}

async function reachesServer(resolver: Resolver): Promise<boolean> {
  try {
    await resolver.resolve4(NONEXISTENT_NAME);
    return true;
  } catch (error) {
    return findErrorCode(error) !== 'ECONNREFUSED';
  }
}

/**
 * Asks for A and AAAA and alternates the results: if one family has no route, the first address of the other is
 * tried second.
 */
async function askDns(resolver: Resolver, name: string): Promise<Answer> {
  let grace: NodeJS.Timeout | undefined;
  const withGrace = async (question: Promise<string[]>, graceOfOther: number): Promise<string[]> => {
    const found = await question;
    grace ??= setTimeout(() => {
      resolver.cancel();
    }, graceOfOther);
    return found;
  };
  const answers = await Promise.allSettled([
    withGrace(resolver.resolve4(name), GRACE_MS.ipv6),
    withGrace(resolver.resolve6(name), GRACE_MS.ipv4),
  ]);
  clearTimeout(grace);
  const addresses = answers.flatMap((one) =>
    one.status === 'fulfilled' ? one.value.map((address, place) => ({ address, place })) : [],
  );
  return {
    addresses: addresses
      .toSorted((one, other) => one.place - other.place)
      .map(({ address }) => ({ address, family: isIP(address) })),
    failures: answers.flatMap((one) => (one.status === 'rejected' ? [findErrorCode(one.reason)] : [])),
  };
}

/** c-ares codes: no name server answered. */
const NO_ANSWER: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECANCELLED', 'ECONNREFUSED']);

/** c-ares codes: the name has no address, or cannot have one. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

function lookupError(failures: readonly string[]): Error {
  const code = failures.every((failure) => NO_ADDRESS.has(failure)) ? 'ENOTFOUND' : 'EAI_AGAIN';
  return Object.assign(new Error('The look-up failed.'), { code });
}

const LOOPBACK = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }));

/** The entries of the hosts file (hosts(5)), reread after it changes. */
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
