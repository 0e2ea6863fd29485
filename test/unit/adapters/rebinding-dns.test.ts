import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { nameResolver } from '../../../shared/adapters/http/resolver.ts';
import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import { type DnsAnswer, type DnsRecord, type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { OK } from './raw-server.ts';

const DEADLINE_MS = 2_000;
const FORBIDDEN: Reply = { kind: 'forbidden' };
/** The only allowed address, which stands for a public one. */
const PUBLIC = '127.0.0.2';

const a = (name: string, value: string): DnsRecord => ({ name, type: 'A', value });
const aaaa = (name: string, value: string): DnsRecord => ({ name, type: 'AAAA', value });
const cname = (name: string, value: string): DnsRecord => ({ name, type: 'CNAME', value });

describe('a name server that changes its answers', () => {
  let subscriberAt: Receiver;
  const canaries: Receiver[] = [];
  let port = '';
  let dns: DnsServer | undefined;

  beforeAll(async () => {
    subscriberAt = await startReceiver({ host: PUBLIC });
    port = new URL(subscriberAt.url()).port;
    for (const host of ['127.0.0.1', '::1']) canaries.push(await startReceiver({ host, port: Number(port) }));
  });
  afterEach(() => dns?.close());
  afterAll(() => Promise.all([subscriberAt, ...canaries].map((receiver) => receiver.close())));

  /** Posts by a sender that asks this name server. Counts the connections to the subscriber. */
  const senderWith = async (answer: DnsAnswer, options: Partial<HttpSenderOptions> = {}) => {
    dns = await startDnsServer(answer);
    const { address, questions } = dns;
    const resolve = nameResolver({ servers: [address] });
    const sender = httpSubscriber({ allowedAddresses: [`${PUBLIC}/32`], resolve, ...options });
    const before = subscriberAt.connections();
    return {
      post: (name = 'hooks.example'): Promise<Reply> =>
        sender.post({ url: `http://${name}:${port}/`, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS),
      questions,
      connections: () => subscriberAt.connections() - before,
    };
  };

  const connectionsInside = (): number => canaries.reduce((total, canary) => total + canary.connections(), 0);

  it('is asked once, and the connection is made to the address it returned', async () => {
    const { post, questions, connections } = await senderWith((question, time) => {
      if (question.type === 'AAAA') return time === 1 ? [] : [aaaa(question.name, '::1')];
      return [a(question.name, time === 1 ? PUBLIC : '127.0.0.1')];
    });
    expect(await post()).toEqual(OK);
    expect(connections()).toBe(1);
    const types = questions().map(({ type }) => type);
    expect(types.toSorted()).toEqual(['A', 'AAAA']);
    expect(connectionsInside()).toBe(0);
  });

  it('is asked again for a new connection, which is then forbidden', async () => {
    let now = 1_000_000;
    const { post, questions } = await senderWith(
      ({ name, type }, time) => (type === 'A' ? [a(name, time === 1 ? PUBLIC : '127.0.0.1')] : []),
      { now: () => now },
    );
    expect(await post()).toEqual(OK);
    now += 60_000;
    expect(await post()).toEqual(FORBIDDEN);
    expect(questions()).toHaveLength(4);
    expect(connectionsInside()).toBe(0);
  });

  it('is judged by its first answer only', async () => {
    const { post, questions, connections } = await senderWith(({ name, type }, time) =>
      type === 'A' ? [a(name, time === 1 ? '127.0.0.1' : PUBLIC)] : [],
    );
    expect(await post()).toEqual(FORBIDDEN);
    expect(questions()).toHaveLength(2);
    expect(connections()).toBe(0);
    expect(connectionsInside()).toBe(0);
  });

  it('that alternates is followed to the public address only, for 40 names at once', async () => {
    let asked = 0;
    const { post, connections } = await senderWith(({ name, type }) => {
      if (type === 'AAAA') return [];
      asked += 1;
      return [a(name, asked % 2 === 0 ? PUBLIC : '127.0.0.1')];
    });
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => post(`hooks-${index}.example`)),
    );
    expect(replies.filter(({ kind }) => kind === 'answered')).toHaveLength(20);
    expect(replies.filter(({ kind }) => kind === 'forbidden')).toHaveLength(20);
    expect(connections()).toBe(20);
    expect(connectionsInside()).toBe(0);
  });

  it.each<[string, (name: string) => DnsRecord[], (name: string) => DnsRecord[]]>([
    [
      'a CNAME to an internal address',
      (name) => [cname(name, 'inside.example'), a('inside.example', '127.0.0.1')],
      () => [],
    ],
    [
      'a chain of CNAMEs to an internal address',
      (name) => [
        cname(name, 'one.example'),
        cname('one.example', 'two.example'),
        cname('two.example', 'localhost'),
        a('localhost', '127.0.0.1'),
      ],
      () => [],
    ],
    ['an internal address after a public one', (name) => [a(name, PUBLIC), a(name, '127.0.0.1')], () => []],
    ['an internal address before a public one', (name) => [a(name, '10.0.0.1'), a(name, PUBLIC)], () => []],
    ['a public A and an internal AAAA', (name) => [a(name, PUBLIC)], (name) => [aaaa(name, '::1')]],
    ['a public A and a mapped AAAA', (name) => [a(name, PUBLIC)], (name) => [aaaa(name, '::ffff:7f00:1')]],
    ['metadata', (name) => [a(name, '169.254.169.254')], (name) => [aaaa(name, 'fd00:ec2::254')]],
  ])('is refused if it returns %s', async (_what, ofA, ofAaaa) => {
    const { post, questions, connections } = await senderWith(({ name, type }) =>
      type === 'A' ? ofA(name) : ofAaaa(name),
    );
    expect(await post()).toEqual(FORBIDDEN);
    expect(questions().map(({ name }) => name)).toEqual(['hooks.example', 'hooks.example']);
    expect(connections()).toBe(0);
    expect(connectionsInside()).toBe(0);
  });

  it('may point to a public address by a CNAME', async () => {
    const { post } = await senderWith(({ name, type }) =>
      type === 'A' ? [cname(name, 'out.example'), a('out.example', PUBLIC)] : [],
    );
    expect(await post()).toEqual(OK);
  });

  it('would have led to the canaries if they were allowed', async () => {
    const { post } = await senderWith(
      ({ name, type }) => (type === 'A' ? [a(name, name === 'four.example' ? '127.0.0.1' : PUBLIC)] : []),
      { allowedAddresses: ['127.0.0.0/8'] },
    );
    expect(await post('four.example')).toEqual(OK);
    expect(canaries.map((canary) => canary.connections())).toEqual([1, 0]);
  });
});
