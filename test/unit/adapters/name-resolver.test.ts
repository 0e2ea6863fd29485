import { execFile } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { nameResolver, type Resolve } from '../../../shared/adapters/http/resolver.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { type DnsAnswer, type DnsRecord, type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { turnsUntil } from '../../support/eventually.ts';

const NAME = 'hooks.example';
const PATIENT = new AbortController().signal;

const a = (name: string, value: string): DnsRecord => ({ name, type: 'A', value });
const aaaa = (name: string, value: string): DnsRecord => ({ name, type: 'AAAA', value });

const closing: (() => Promise<unknown>)[] = [];
// At the end, because some tests run concurrently.
afterAll(() => Promise.all(closing.map((close) => close())));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const hostsFileOf = async (text: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
  closing.push(() => rm(folder, { recursive: true }));
  const file = join(folder, 'hosts');
  await writeFile(file, text);
  return file;
};

/** A resolver that uses a server with these answers. */
const resolverOn = async (
  answer: DnsAnswer,
  { hostsFile = '/nowhere', takesTcp = true } = {},
): Promise<{ dns: DnsServer; resolve: Resolve }> => {
  const dns = await startDnsServer(answer, { takesTcp });
  closing.push(dns.close);
  return { dns, resolve: nameResolver({ servers: [dns.address], hostsFile }) };
};

const addressesOf = async (resolve: Resolve, name = NAME): Promise<string[]> =>
  (await resolve(name, PATIENT)).map(({ address }) => address);

const ofType =
  (four: readonly string[], six: readonly string[]): DnsAnswer =>
  ({ name, type }) =>
    type === 'A' ? four.map((value) => a(name, value)) : six.map((value) => aaaa(name, value));

// Concurrent, because two of these tests wait for a repeated question.
describe.concurrent('a look-up', () => {
  it('returns the addresses of both families, alternating', async () => {
    const { resolve } = await resolverOn(ofType(['192.0.2.1', '192.0.2.2', '192.0.2.3'], ['2001:db8::1']));
    expect(await resolve(NAME, PATIENT)).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.2', family: 4 },
      { address: '192.0.2.3', family: 4 },
    ]);
  });

  it('asks for both families at once, and for the full name only', async () => {
    const { dns, resolve } = await resolverOn(ofType(['192.0.2.1'], []));
    await resolve('Hooks.example.', PATIENT);
    expect(dns.questions().toSorted((one, other) => one.type.localeCompare(other.type))).toEqual([
      { name: NAME, type: 'A' },
      { name: NAME, type: 'AAAA' },
    ]);
  });

  it('of a single label does not try search domains', async () => {
    const { dns, resolve } = await resolverOn(() => 'NXDOMAIN');
    await expect(resolve('intranet', PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(new Set(dns.questions().map(({ name }) => name))).toEqual(new Set(['intranet']));
  });

  it('succeeds with one family if the other fails', async () => {
    const { resolve } = await resolverOn(({ name, type }) =>
      type === 'A' ? 'SERVFAIL' : [aaaa(name, '2001:db8::1')],
    );
    expect(await addressesOf(resolve)).toEqual(['2001:db8::1']);
  });

  it('repeats a question over TCP if the answer is too long for a datagram', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `192.0.2.${index + 1}`);
    const { resolve } = await resolverOn(ofType(many, []));
    expect((await addressesOf(resolve)).toSorted()).toEqual(many.toSorted());
  });

  it.each<[string, 'ENOTFOUND' | 'EAI_AGAIN', DnsAnswer]>([
    ['does not exist', 'ENOTFOUND', () => 'NXDOMAIN'],
    ['has no address', 'ENOTFOUND', () => []],
    ['cannot be resolved now', 'EAI_AGAIN', () => 'SERVFAIL'],
    ['is refused', 'EAI_AGAIN', () => 'REFUSED'],
    ['gets FORMERR', 'EAI_AGAIN', () => 'FORMERR'],
    ['has no IPv4, and fails for IPv6', 'EAI_AGAIN', ({ type }) => (type === 'A' ? [] : 'SERVFAIL')],
  ])('of a name that %s fails with %s', async (_what, code, answer) => {
    const { resolve } = await resolverOn(answer);
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ code });
  });

  it('of an invalid name fails with ENOTFOUND', async () => {
    const { resolve } = await resolverOn(() => 'SERVFAIL');
    await expect(resolve(`${'a'.repeat(64)}.example`, PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('that reaches no name server fails with RequestNotSentError', async () => {
    const dns = await startDnsServer(() => []);
    await dns.close();
    const resolve = nameResolver({ servers: [dns.address], hostsFile: '/nowhere' });
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ name: 'RequestNotSentError' });
  });

  it('is shared by concurrent callers, and repeated for the next one', async () => {
    const { dns, resolve } = await resolverOn(({ name, type }, time) =>
      type === 'A' ? [a(name, `192.0.2.${time}`)] : [],
    );
    const together = await Promise.all(Array.from({ length: 40 }, () => addressesOf(resolve)));
    expect(together).toEqual(together.map(() => ['192.0.2.1']));
    expect(dns.questions()).toHaveLength(2);
    expect(await addressesOf(resolve)).toEqual(['192.0.2.2']);
    expect(dns.questions()).toHaveLength(4);
  });

  it('continues for the other callers when one aborts', async () => {
    let answers = false;
    const { dns, resolve } = await resolverOn((question) =>
      answers ? ofType(['192.0.2.1'], [])(question, 1) : undefined,
    );
    const impatient = new AbortController();
    const given = expect(resolve(NAME, impatient.signal)).rejects.toThrow('The look-up was aborted');
    const waiting = addressesOf(resolve);
    await turnsUntil(() => dns.questions().length === 2);
    answers = true;
    impatient.abort();
    await given;
    // The question is repeated after 1.5 s.
    expect(await waiting).toEqual(['192.0.2.1']);
    expect(dns.questions()).toHaveLength(4);
  });

  it('is not made for a caller that has already aborted', async () => {
    const { dns, resolve } = await resolverOn(ofType(['192.0.2.1'], []));
    await expect(resolve(NAME, AbortSignal.abort())).rejects.toThrow('aborted');
    expect(await addressesOf(resolve, 'other.example')).toEqual(['192.0.2.1']);
    expect(dns.questions()).toHaveLength(2);
  });

  it('starts again for a caller that comes after the last one aborted', async () => {
    const { dns, resolve } = await resolverOn((question, time) =>
      time === 1 ? undefined : ofType(['192.0.2.1'], [])(question, time),
    );
    const impatient = new AbortController();
    const given = resolve(NAME, impatient.signal);
    await turnsUntil(() => dns.questions().length === 2);
    impatient.abort();
    const next = addressesOf(resolve);
    await expect(given).rejects.toThrow();
    expect(await next).toEqual(['192.0.2.1']);
    expect(dns.questions()).toHaveLength(4);
  });

  it('ends when its last caller aborts', async () => {
    const { dns, resolve } = await resolverOn(() => undefined);
    const impatient = new AbortController();
    const given = expect(resolve(NAME, impatient.signal)).rejects.toThrow();
    await turnsUntil(() => dns.questions().length === 2);
    impatient.abort();
    await given;
    // Otherwise the question would be repeated after 1.5 s.
    await pause(1_800);
    expect(dns.questions()).toHaveLength(2);
  });
});

describe('the hosts file', () => {
  const HOSTS = `
    # 192.0.2.9 ${NAME}
    192.0.2.1\tone.example  Two.Example # of the office
    2001:db8::1 one.example
    999.0.0.1 one.example
  `;

  it('takes precedence over DNS, by name and alias, in any case', async () => {
    const hostsFile = await hostsFileOf(HOSTS);
    const { dns, resolve } = await resolverOn(() => 'NXDOMAIN', { hostsFile });
    expect(await resolve('one.example', PATIENT)).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]);
    expect(await addressesOf(resolve, 'TWO.example.')).toEqual(['192.0.2.1']);
    expect(dns.questions()).toEqual([]);
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('is read again after a change, and may be deleted', async () => {
    const hostsFile = await hostsFileOf(HOSTS);
    const { resolve } = await resolverOn(() => 'NXDOMAIN', { hostsFile });
    expect(await addressesOf(resolve, 'two.example')).toEqual(['192.0.2.1']);
    await writeFile(hostsFile, '192.0.2.2 two.example');
    await utimes(hostsFile, 1, 1);
    expect(await addressesOf(resolve, 'two.example')).toEqual(['192.0.2.2']);
    await rm(hostsFile);
    await expect(resolve('two.example', PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it.each(['localhost', 'LOCALHOST.', 'receiver.localhost'])('need not contain %s', async (name) => {
    const { dns, resolve } = await resolverOn(() => 'NXDOMAIN');
    expect(await addressesOf(resolve, name)).toEqual(['127.0.0.1', '::1']);
    expect(dns.questions()).toEqual([]);
  });
});

const FOUR = '192.0.2.1';
const SIX = '2001:db8::1';
const oneOfEach = ofType([FOUR], [SIX]);

describe('a look-up with an answer for one family only', () => {
  it.each([
    ['A', FOUR, 250],
    ['AAAA', SIX, 2_500],
  ])('returns the addresses of %s after a wait for the other', async (answered, address, waitMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { resolve } = await resolverOn((question, time) =>
      question.type === answered ? oneOfEach(question, time) : undefined,
    );
    let found: string[] | undefined;
    const looked = addressesOf(resolve, 'half.example').then((addresses) => (found = addresses));
    await turnsUntil(() => vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(found).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await looked).toEqual([address]);
  });

  it('returns both if AAAA arrives within the wait', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { resolve } = await resolverOn(async (question, time) => {
      if (question.type === 'AAAA') await turnsUntil(() => vi.getTimerCount() === 1);
      return oneOfEach(question, time);
    });
    expect(await addressesOf(resolve, 'slow.example')).toEqual([FOUR, SIX]);
  });

  it('repeats the question for A', async () => {
    const { resolve } = await resolverOn((question, time) =>
      question.type === 'A' && time === 1 ? undefined : oneOfEach(question, time),
    );
    expect(await addressesOf(resolve, 'lost.example')).toEqual([FOUR, SIX]);
  });
});

describe('a look-up that a name server refuses', () => {
  /** Too many addresses for one datagram, for the long one. */
  const answerOf: DnsAnswer = ({ name, type }) =>
    Array.from({ length: name === 'long.example' ? 100 : 1 }, () =>
      type === 'A' ? a(name, FOUR) : aaaa(name, SIX),
    );

  it('because the answer for one name is too long without TCP counts as a fault of the name', async () => {
    const { resolve } = await resolverOn(answerOf, { takesTcp: false });
    await expect(addressesOf(resolve, 'long.example')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    expect(await addressesOf(resolve, 'short.example')).toEqual([FOUR, SIX]);
  });

  it('makes the next look-up use a new resolver, while a resolver that got an answer is reused', async () => {
    const { resolve } = await resolverOn(answerOf, { takesTcp: false });
    const resolvers = vi.spyOn(Resolver.prototype, 'setServers').mock.contexts;
    await addressesOf(resolve, 'short.example');
    await expect(addressesOf(resolve, 'long.example')).rejects.toThrow();
    await addressesOf(resolve, 'short.example');
    const [first, second, third] = resolvers;
    expect(second).toBe(first);
    expect(third).not.toBe(second);
  });
});

const MAX_LOOKUPS = 256;
const MAX_MUTE_LOOKUPS = 32;
const MUTE_AFTER_MS = 3_000;
const MUTE_FOR_MS = 60_000;
const MAX_MUTE_NAMES = 1_000;

const numbered = (kind: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${from + index}.example`);

const asked = (dns: DnsServer, since = 0): string[] => [
  ...new Set(
    dns
      .questions()
      .slice(since)
      .map(({ name }) => name),
  ),
];

/** Asks for all names. `giveUp` aborts the given ones and waits for that. */
const asking = (resolve: Resolve, names: readonly string[]) => {
  const controllers = new Map(names.map((name) => [name, new AbortController()]));
  const ended = [...controllers].map(([name, { signal }]) => resolve(name, signal).catch(() => undefined));
  return {
    giveUp: async (which: readonly string[] = names): Promise<void> => {
      for (const name of which) controllers.get(name)?.abort();
      if (which === names) await Promise.all(ended);
    },
    ended: Promise.all(ended),
  };
};

/** Waits as long as an unblocked look-up takes on a busy machine. */
const waitForLookups = async (resolve: Resolve): Promise<void> => {
  for (const name of numbered('healthy', 20)) await resolve(name, new AbortController().signal);
};

const NAMES = numbered('mute', 40);

/** A name server that answers for healthy names, and for the others once `answers` is set. */
const startDns = async () => {
  const state = { answers: false };
  const { dns, resolve } = await resolverOn(({ name, type }) => {
    if (!name.startsWith('healthy') && !state.answers) return undefined;
    return type === 'A' ? [a(name, '127.0.0.1')] : [];
  });
  /** Asks for names without an answer and aborts after `silentMs`, by default long enough to make them mute. */
  const silence = async (names: readonly string[] = NAMES, silentMs = MUTE_AFTER_MS): Promise<void> => {
    const before = dns.questions().length;
    const askedAt = Date.now();
    vi.setSystemTime(askedAt);
    const first = asking(resolve, names);
    await turnsUntil(() => asked(dns, before).length === names.length);
    vi.setSystemTime(askedAt + silentMs);
    await first.giveUp();
  };
  /** Those of the mute names that are asked for at once. */
  const askedAgain = async (): Promise<string[]> => {
    const before = dns.questions().length;
    const again = asking(resolve, NAMES);
    await waitForLookups(resolve);
    // An end makes room for the next.
    const started = asked(dns, before).filter((name) => name.startsWith('mute'));
    await again.giveUp();
    return started;
  };
  const post = (name: string, timeoutMs: number): Promise<Reply> =>
    httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], resolve }).post(
      { url: `http://${name}/`, headers: {}, body: Buffer.from('{}') },
      timeoutMs,
    );
  return { dns, state, resolve, silence, askedAgain, post };
};

describe('names whose name servers are mute', () => {
  it(`are looked up ${MAX_LOOKUPS} at a time, the next as soon as one is aborted`, async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', MAX_LOOKUPS + 44);
    const all = asking(resolve, names);
    await turnsUntil(() => asked(dns).length === MAX_LOOKUPS);
    await all.giveUp(names.slice(0, 10));
    await turnsUntil(() => asked(dns).length === MAX_LOOKUPS + 10);
    await all.giveUp();
    expect(asked(dns)).toHaveLength(MAX_LOOKUPS + 10);
  });

  it(`are looked up ${MAX_MUTE_LOOKUPS} at a time once mute, without delaying other names`, async () => {
    const { silence, askedAgain } = await startDns();
    await silence();
    expect(await askedAgain()).toEqual(NAMES.slice(0, MAX_MUTE_LOOKUPS));
  });

  it('do not include names of attempts that were aborted early', async () => {
    const { silence } = await startDns();
    await silence(NAMES, MUTE_AFTER_MS - 1);
    // All at once: they are not limited.
    await silence(NAMES, 0);
  });

  it('stay mute after an attempt that was aborted early', async () => {
    const { silence, askedAgain } = await startDns();
    await silence();
    await silence(NAMES.slice(0, 20), 0);
    expect(await askedAgain()).toHaveLength(MAX_MUTE_LOOKUPS);
  });

  it('fail with a timeout if they were asked, and with RequestNotSentError if the look-up could not start', async () => {
    const { dns, resolve, post } = await startDns();
    const all = asking(resolve, numbered('mute', MAX_LOOKUPS));
    await turnsUntil(() => asked(dns).length === MAX_LOOKUPS);
    const posts = [post('mute-0.example', 200), post('waiting.example', 200)];
    const [askedFor, waiting] = await Promise.allSettled(posts);
    expect(askedFor).toMatchObject({ value: { error: 'timeout', detail: 'while the name was resolved' } });
    expect(waiting).toMatchObject({ reason: { name: 'RequestNotSentError' } });
    expect(asked(dns)).not.toContain('waiting.example');
    await all.giveUp();
  });

  it('are looked up as soon as earlier look-ups end, and are no longer mute after an answer', async () => {
    const { state, resolve, silence } = await startDns();
    await silence();
    state.answers = true;
    expect(await asking(resolve, NAMES).ended).toEqual(
      NAMES.map(() => [{ address: '127.0.0.1', family: 4 }]),
    );
    state.answers = false;
    await silence();
  });

  it('stay mute for a minute', async () => {
    const { silence, askedAgain } = await startDns();
    await silence();
    const start = Date.now();
    vi.setSystemTime(start + MUTE_FOR_MS - 1);
    // Names that were not asked keep the time of their first silence.
    expect(await askedAgain()).toHaveLength(MAX_MUTE_LOOKUPS);
    vi.setSystemTime(start + 2 * MUTE_FOR_MS);
    await silence();
  });

  it(`are remembered up to ${MAX_MUTE_NAMES}, the oldest dropped first`, async () => {
    const { dns, resolve, silence } = await startDns();
    const names = numbered('mute', MAX_MUTE_NAMES + 1);
    for (let from = 0; from < names.length; from += 200) await silence(names.slice(from, from + 200));
    const full = asking(resolve, names.slice(-MAX_MUTE_LOOKUPS));
    const before = dns.questions().length;
    const oldest = asking(resolve, names.slice(0, 2));
    await waitForLookups(resolve);
    expect(asked(dns, before)).toContain(names[0]);
    expect(asked(dns, before)).not.toContain(names[1]);
    await Promise.all([full.giveUp(), oldest.giveUp()]);
  });

  it('do not keep the process running', async () => {
    const { dns } = await startDns();
    const folder = new URL('../../../shared/adapters/http/', import.meta.url);
    const program = `
      const { httpSubscriber } = await import('${new URL('subscriber.ts', folder).href}');
      const { nameResolver } = await import('${new URL('resolver.ts', folder).href}');
      const subscriber = httpSubscriber({ allowedAddresses: [], resolve: nameResolver({ servers: ['${dns.address}'] }) });
      const reply = await subscriber.post({ url: 'http://mute.example/', headers: {}, body: Buffer.from('') }, 300);
      process.stdout.write(JSON.stringify(reply));
      setTimeout(() => process.stdout.write('kept alive'), 500).unref();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(stdout).toBe('{"kind":"unanswered","error":"timeout","detail":"while the name was resolved"}');
    expect(dns.questions()).toHaveLength(2);
  });
});
