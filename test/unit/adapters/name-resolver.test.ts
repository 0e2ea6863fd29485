import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { afterAll, describe, expect, it } from 'vitest';

import { nameResolver, type Resolve } from '../../../shared/adapters/http/resolver.ts';
import {
  type DnsAnswer,
  type DnsRecord,
  type DnsRefusal,
  type DnsServer,
  startDnsServer,
} from '../../support/dns-server.ts';
import { turnsUntil } from '../../support/eventually.ts';

const NAME = 'hooks.example';
const PATIENT = new AbortController().signal;

const a = (name: string, value: string): DnsRecord => ({ name, type: 'A', value });
const aaaa = (name: string, value: string): DnsRecord => ({ name, type: 'AAAA', value });

const closing: (() => Promise<unknown>)[] = [];
// At the end, because some tests run concurrently.
afterAll(() => Promise.all(closing.map((close) => close())));

const serverThat = async (answer: DnsAnswer): Promise<DnsServer> => {
  const dns = await startDnsServer(answer);
  closing.push(dns.close);
  return dns;
};

const hostsFileOf = async (text: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
  closing.push(() => rm(folder, { recursive: true }));
  const file = join(folder, 'hosts');
  await writeFile(file, text);
  return file;
};

/** A resolver that uses a server with these answers and no hosts file. */
const resolverOn = async (answer: DnsAnswer): Promise<{ dns: DnsServer; resolve: Resolve }> => {
  const dns = await serverThat(answer);
  return { dns, resolve: nameResolver({ servers: [dns.address], hostsFile: '/nowhere' }) };
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

  it.each<[string, 'ENOTFOUND' | 'EAI_AGAIN', DnsRefusal | []]>([
    ['does not exist', 'ENOTFOUND', 'NXDOMAIN'],
    ['has no address', 'ENOTFOUND', []],
    ['cannot be resolved now', 'EAI_AGAIN', 'SERVFAIL'],
    ['is refused', 'EAI_AGAIN', 'REFUSED'],
    ['gets FORMERR', 'EAI_AGAIN', 'FORMERR'],
  ])('of a name that %s fails with %s', async (_what, code, answer) => {
    const { resolve } = await resolverOn(() => answer);
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ code });
  });

  it('of an invalid name fails with ENOTFOUND', async () => {
    const { resolve } = await resolverOn(() => 'SERVFAIL');
    await expect(resolve(`${'a'.repeat(64)}.example`, PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('without addresses of one family and without an answer for the other fails with a temporary error', async () => {
    const { resolve } = await resolverOn(({ type }) => (type === 'A' ? [] : 'SERVFAIL'));
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ code: 'EAI_AGAIN' });
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
    const { address, questions } = await serverThat(() => 'NXDOMAIN');
    const resolve = nameResolver({ servers: [address], hostsFile: await hostsFileOf(HOSTS) });
    expect(await resolve('one.example', PATIENT)).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]);
    expect(await addressesOf(resolve, 'TWO.example.')).toEqual(['192.0.2.1']);
    expect(questions()).toEqual([]);
    await expect(resolve(NAME, PATIENT)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('is read again after a change, and may be deleted', async () => {
    const { address } = await serverThat(() => 'NXDOMAIN');
    const hostsFile = await hostsFileOf(HOSTS);
    const resolve = nameResolver({ servers: [address], hostsFile });
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
