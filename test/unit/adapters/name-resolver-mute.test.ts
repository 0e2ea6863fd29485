import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import { nameResolver, type Resolve } from '../../../shared/adapters/http/resolver.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { startReceiver } from '../../support/receiver.ts';

const MAX_LOOKUPS = 256;
const MAX_MUTE_LOOKUPS = 32;
const MUTE_AFTER_MS = 3_000;
const MUTE_FOR_MS = 60_000;
const MAX_MUTE_NAMES = 1_000;

afterEach(() => {
  vi.useRealTimers();
});

const numbered = (kind: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${from + index}.example`);

/** A name server that answers for healthy names, and for the others once `answers` is set. */
const startDns = async () => {
  const state = { answers: false };
  const dns = await startDnsServer(({ name, type }) => {
    if (!name.startsWith('healthy') && !state.answers) return undefined;
    return type === 'A' ? [{ name, type, value: '127.0.0.1' }] : [];
  });
  onTestFinished(dns.close);
  return { dns, state, resolve: nameResolver({ servers: [dns.address], hostsFile: '/nowhere' }) };
};

const asked = (dns: DnsServer, since = 0): Set<string> =>
  new Set(
    dns
      .questions()
      .slice(since)
      .map(({ name }) => name),
  );

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

/**
 * Asks for these names without an answer and aborts after `silentMs`, by default long enough to make them mute.
 */
const silence = async (
  dns: DnsServer,
  resolve: Resolve,
  names: readonly string[],
  silentMs = MUTE_AFTER_MS,
): Promise<void> => {
  const before = dns.questions().length;
  const askedAt = Date.now();
  vi.setSystemTime(askedAt);
  const first = asking(resolve, names);
  await turnsUntil(() => asked(dns, before).size === names.length);
  vi.setSystemTime(askedAt + silentMs);
  await first.giveUp();
};

/** Waits as long as an unblocked look-up takes on a busy machine. */
const waitForLookups = async (resolve: Resolve): Promise<void> => {
  for (const name of numbered('healthy', 20)) await resolve(name, new AbortController().signal);
};

describe('names whose name servers are mute', () => {
  it('do not hold up requests to other names: 40 mute names beside 60 others', async () => {
    const { resolve } = await startDns();
    const receiver = await startReceiver();
    onTestFinished(receiver.close);
    const { port } = new URL(receiver.url());
    const subscriber = httpSubscriber({ allowedAddresses: ['127.0.0.0/8'], resolve });
    const post = (name: string): Promise<Reply> =>
      subscriber.post({ url: `http://${name}:${port}/`, headers: {}, body: Buffer.from('{}') }, 15_000);
    const mute = asking(resolve, numbered('mute', 40));
    // They would time out, if they waited for the mute names.
    for (const reply of await Promise.all(numbered('healthy', 60).map(post)))
      expect(reply).toEqual({ kind: 'answered', statusCode: 200 });
    await mute.giveUp();
  });

  it(`are looked up ${MAX_LOOKUPS} at a time, the next as soon as one is aborted`, async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', MAX_LOOKUPS + 44);
    const all = asking(resolve, names);
    await turnsUntil(() => asked(dns).size === MAX_LOOKUPS);
    await all.giveUp(names.slice(0, 10));
    await turnsUntil(() => asked(dns).size === MAX_LOOKUPS + 10);
    await all.giveUp();
    expect(asked(dns).size).toBe(MAX_LOOKUPS + 10);
  });

  it(`are looked up ${MAX_MUTE_LOOKUPS} at a time once mute, without delaying other names`, async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', 40);
    await silence(dns, resolve, names);
    const before = dns.questions().length;
    const again = asking(resolve, names);
    await waitForLookups(resolve);
    const muteAsked = [...asked(dns, before)].filter((name) => name.startsWith('mute'));
    expect(muteAsked).toEqual(names.slice(0, MAX_MUTE_LOOKUPS));
    await again.giveUp();
  });

  it('do not include names of attempts that were aborted early', async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', 40);
    await silence(dns, resolve, names, MUTE_AFTER_MS - 1);
    // All at once: they are not limited.
    await silence(dns, resolve, names, 0);
  });

  it('stay mute after an attempt that was aborted early', async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', 40);
    await silence(dns, resolve, names);
    await silence(dns, resolve, names.slice(0, 20), 0);
    const before = dns.questions().length;
    const again = asking(resolve, names);
    await waitForLookups(resolve);
    const muteAsked = [...asked(dns, before)].filter((name) => name.startsWith('mute'));
    expect(muteAsked).toHaveLength(MAX_MUTE_LOOKUPS);
    await again.giveUp();
  });

  it('fail with a timeout if they were asked, and with RequestNotSentError if the look-up could not start', async () => {
    const { dns, resolve } = await startDns();
    const subscriber = httpSubscriber({ allowedAddresses: [], resolve });
    const all = asking(resolve, numbered('mute', MAX_LOOKUPS));
    await turnsUntil(() => asked(dns).size === MAX_LOOKUPS);
    const post = (name: string): Promise<Reply> =>
      subscriber.post({ url: `http://${name}/`, headers: {}, body: Buffer.from('{}') }, 200);
    const [askedFor, waiting] = await Promise.allSettled([post('mute-0.example'), post('waiting.example')]);
    expect(askedFor).toMatchObject({ value: { error: 'timeout', detail: 'while the name was resolved' } });
    expect(waiting).toMatchObject({ reason: { name: 'RequestNotSentError' } });
    expect(asked(dns)).not.toContain('waiting.example');
    await all.giveUp();
  });

  it('are looked up as soon as earlier look-ups end, and are no longer mute after an answer', async () => {
    const { dns, state, resolve } = await startDns();
    const names = numbered('mute', 40);
    await silence(dns, resolve, names);
    state.answers = true;
    expect(await asking(resolve, names).ended).toEqual(
      names.map(() => [{ address: '127.0.0.1', family: 4 }]),
    );
    state.answers = false;
    await silence(dns, resolve, names);
  });

  it('stay mute for a minute', async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', 40);
    await silence(dns, resolve, names);
    const start = Date.now();
    vi.setSystemTime(start + MUTE_FOR_MS - 1);
    const before = dns.questions().length;
    const again = asking(resolve, names);
    await waitForLookups(resolve);
    // Names that were not asked keep the time of their first silence.
    expect([...asked(dns, before)].filter((name) => name.startsWith('mute'))).toHaveLength(MAX_MUTE_LOOKUPS);
    await again.giveUp();
    vi.setSystemTime(start + 2 * MUTE_FOR_MS);
    await silence(dns, resolve, names);
  });

  it(`are remembered up to ${MAX_MUTE_NAMES}, the oldest dropped first`, async () => {
    const { dns, resolve } = await startDns();
    const names = numbered('mute', MAX_MUTE_NAMES + 1);
    for (let from = 0; from < names.length; from += 200)
      await silence(dns, resolve, names.slice(from, from + 200));
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
