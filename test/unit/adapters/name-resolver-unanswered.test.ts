import { Resolver } from 'node:dns/promises';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { nameResolver } from '../../../shared/adapters/http/resolver.ts';
import { type DnsAnswer, type DnsRecord, startDnsServer } from '../../support/dns-server.ts';
import { turnsUntil } from '../../support/eventually.ts';

const FOUR = '192.0.2.1';
const SIX = '2001:db8::1';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** A look-up by a name server with these answers. */
const lookUpBy = async (answer: DnsAnswer, options?: { takesTcp: boolean }) => {
  const dns = await startDnsServer(answer, options);
  closing.push(dns.close);
  const resolve = nameResolver({ servers: [dns.address], hostsFile: '/nowhere' });
  return async (name: string): Promise<string[]> => {
    const found = await resolve(name, AbortSignal.timeout(5_000));
    return found.map(({ address }) => address);
  };
};

const oneOf = (name: string, type: 'A' | 'AAAA'): DnsRecord[] => [
  { name, type, value: type === 'A' ? FOUR : SIX },
];

/** Too many addresses for one datagram. */
const manyOf = (name: string, type: 'A' | 'AAAA'): DnsRecord[] =>
  Array.from({ length: 100 }, () => oneOf(name, type)).flat();

describe('a look-up with an answer for one family only', () => {
  it.each([
    ['A', FOUR, 250],
    ['AAAA', SIX, 2_500],
  ])('returns the addresses of %s after a wait for the other', async (answered, address, waitMs) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lookUp = await lookUpBy(({ name, type }) => (type === answered ? oneOf(name, type) : undefined));
    let found: string[] | undefined;
    const looked = lookUp('half.example').then((addresses) => (found = addresses));
    await turnsUntil(() => vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(found).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(await looked).toEqual([address]);
  });

  it('returns both if AAAA arrives within the wait', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lookUp = await lookUpBy(async ({ name, type }) => {
      if (type === 'AAAA') await turnsUntil(() => vi.getTimerCount() === 1);
      return oneOf(name, type);
    });
    expect(await lookUp('slow.example')).toEqual([FOUR, SIX]);
  });

  it('repeats the question for A', async () => {
    const lookUp = await lookUpBy(({ name, type }, time) =>
      type === 'A' && time === 1 ? undefined : oneOf(name, type),
    );
    expect(await lookUp('lost.example')).toEqual([FOUR, SIX]);
  });
});

describe('a look-up that a name server refuses', () => {
  const answerOf: DnsAnswer = ({ name, type }) => {
    if (name === 'long.example') return manyOf(name, type);
    return name === 'short.example' ? oneOf(name, type) : 'NXDOMAIN';
  };

  it('because the answer for one name is too long without TCP counts as a fault of the name', async () => {
    const lookUp = await lookUpBy(answerOf, { takesTcp: false });
    await expect(lookUp('long.example')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    expect(await lookUp('short.example')).toEqual([FOUR, SIX]);
  });

  it('makes the next look-up use a new resolver, while a resolver that got an answer is reused', async () => {
    const lookUp = await lookUpBy(answerOf, { takesTcp: false });
    const resolvers = vi.spyOn(Resolver.prototype, 'setServers').mock.contexts;
    await lookUp('short.example');
    await expect(lookUp('long.example')).rejects.toThrow();
    await lookUp('short.example');
    const [first, second, third] = resolvers;
    expect(second).toBe(first);
    expect(third).not.toBe(second);
  });
});
