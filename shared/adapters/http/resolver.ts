import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RequestNotSentError } from '../../ports/subscriber.ts';
import { isLocalhost } from './address-guard.ts';
import { codeOf } from './connection-fault.ts';
import { hostsIn } from './hosts-file.ts';

/**
 * All addresses of a name. Rejects as soon as the signal aborts.
 * @throws RequestNotSentError where the look-up failed for something that we lack
 */
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

/** Milliseconds without an answer after which a name counts as mute. An attempt that gives up earlier says nothing about the name. */
const MUTE_AFTER_MS = 3_000;

/** Milliseconds for which a name that did not answer counts as mute. */
const MUTE_FOR_MS = 60_000;

/** Names remembered as mute; the oldest is forgotten first. */
const MOST_MUTE_NAMES = 1_000;

/** A question is sent again after 1.5 s (0.25 s where c-ares knows the server to be quick), then twice as late each time: for over 5 s. */
const QUESTIONS = { timeout: 1_500, tries: 6 };

/**
 * Milliseconds that a family may take once the other one has answered: the "Resolution Delay" of RFC 8305 §3, which recommends 50
 * where a person waits for the page. IPv4 gets time for a second
 * question (2 s, since Node looks once a second), because a function without IPv6 needs its addresses.
 */
const GRACE_MS = { ipv4: 2_500, ipv6: 250 };

/** A name that never exists, so that resolvers answer at once and in a few bytes (RFC 6761 §6.4). */
const NO_NAME = 'invalid';

/**
 * Resolves names by the hosts file and by DNS, without threads. `dns.lookup` holds one of libuv's threads for up to 10 s for
 * each name with mute servers, and all other look-ups of the process wait for a thread, those of AWS endpoints too.
 *
 * - Attempts to one host share the look-up that is under way. Nothing else is kept: the next attempt asks again.
 * - A look-up is cancelled as soon as no attempt waits for it.
 * - One family is enough: the other one is not waited for longer than `GRACE_MS`.
 * - The number of look-ups under way is bounded. Names that did not answer lately have places of their own, so they never
 *   take those of other names.
 * - The host of a URL is a full name: the search domains of /etc/resolv.conf are not applied.
 *
 * Rejects with the codes of `dns.lookup`: ENOTFOUND where the name has no address, EAI_AGAIN where DNS fails or does not answer.
 * @throws RequestNotSentError where no name server can be reached, or where no place came free before the signal aborted
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
    let askedAt: number | undefined;
    let isOver = false;
    const noteSilence = (): void => {
      if (askedAt !== undefined && Date.now() - askedAt >= MUTE_AFTER_MS) muteNames.add(name);
    };
    const ask = async (): Promise<readonly LookupAddress[]> => {
      if (isOver) throw new Error('No attempt waits for the look-up any more.');
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
    const answer = (muteNames.has(name) ? muteLane : lane).run(ask);
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
        reject(lookup.isAsked() ? new Error('The look-up was given up.') : new RequestNotSentError(NO_PLACE));
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

const NO_PLACE = 'too many names are being looked up';

/** A look-up under way, and how many attempts wait for it. */
type SharedLookup = {
  answer: Promise<readonly LookupAddress[]>;
  /** False while it waits for a place. */
  isAsked: () => boolean;
  abandon: () => void;
  waiting: number;
};

type Answer = { addresses: LookupAddress[]; failures: string[] };

/**
 * c-ares says ECONNREFUSED where it could not open a socket, where every name server refused, and also where the answer for one
 * name is too long for UDP and the name server takes no TCP. So it is asked again, together with a name that has a short answer:
 * the fault is ours only if that is refused as well.
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
    await resolver.resolve4(NO_NAME);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ECONNREFUSED';
  }
}

/** A, then AAAA, in turn: where one family has no route, the first address of the other is tried second. */
async function askDns(resolver: Resolver, name: string): Promise<Answer> {
  let grace: NodeJS.Timeout | undefined;
  const thenWait = async (question: Promise<string[]>, graceOfOther: number): Promise<string[]> => {
    const found = await question;
    grace ??= setTimeout(() => {
      resolver.cancel();
    }, graceOfOther);
    return found;
  };
  const answers = await Promise.allSettled([
    thenWait(resolver.resolve4(name), GRACE_MS.ipv6),
    thenWait(resolver.resolve6(name), GRACE_MS.ipv4),
  ]);
  clearTimeout(grace);
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

/** Codes of c-ares where no name server answered. */
const NO_ANSWER: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECANCELLED', 'ECONNREFUSED']);

/** Codes of c-ares for a name that has no address, or cannot have one. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

function lookupError(failures: readonly string[]): Error {
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

  add(name: string): void {
    this.#until.delete(name);
    this.#until.set(name, Date.now() + MUTE_FOR_MS);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST_MUTE_NAMES && oldest !== undefined) this.#until.delete(oldest);
  }

  delete(name: string): void {
    this.#until.delete(name);
  }
}

const LOOPBACK = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }));
