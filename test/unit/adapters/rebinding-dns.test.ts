import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { nameResolver, type Resolve } from '../../../shared/adapters/http/resolver.ts';
import type { HttpSenderOptions } from '../../../shared/adapters/http/sender.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { Subscriber } from '../../../shared/ports/subscriber.ts';
import { type DnsAnswer, type DnsRecord, type DnsServer, startDnsServer } from '../../support/dns-server.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const DEADLINE_MS = 2_000;
const FORBIDDEN: Reply = { kind: 'forbidden' };
const OK: Reply = { kind: 'answered', statusCode: 200 };
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

  const resolveBy = async (answer: DnsAnswer): Promise<Resolve> => {
    dns = await startDnsServer(answer);
    return nameResolver({ servers: [dns.address] });
  };

  const senderWith = async (
    answer: DnsAnswer,
    options: Partial<HttpSenderOptions> = {},
  ): Promise<Subscriber> =>
    httpSubscriber({ allowedAddresses: [`${PUBLIC}/32`], resolve: await resolveBy(answer), ...options });

  const postBy = (sender: Subscriber, name = 'hooks.example'): Promise<Reply> =>
    sender.post({ url: `http://${name}:${port}/`, headers: {}, body: Buffer.from('{}') }, DEADLINE_MS);

  const connectionsInside = (): number => canaries.reduce((total, canary) => total + canary.connections(), 0);

  it('is asked once, and the connection is made to the address it returned', async () => {
    const before = subscriberAt.connections();
    const sender = await senderWith((question, time) => {
      if (question.type === 'AAAA') return time === 1 ? [] : [aaaa(question.name, '::1')];
      return [a(question.name, time === 1 ? PUBLIC : '127.0.0.1')];
    });
    expect(await postBy(sender)).toEqual(OK);
    expect(subscriberAt.connections()).toBe(before + 1);
    expect(
      dns
        ?.questions()
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(['A', 'AAAA']);
    expect(connectionsInside()).toBe(0);
  });

  it('is asked again for a new connection, which is then forbidden', async () => {
    let now = 1_000_000;
    const sender = await senderWith(
      (question, time) =>
        question.type === 'A' ? [a(question.name, time === 1 ? PUBLIC : '127.0.0.1')] : [],
      { now: () => now },
    );
    expect(await postBy(sender)).toEqual(OK);
    now += 60_000;
    expect(await postBy(sender)).toEqual(FORBIDDEN);
    expect(dns?.questions()).toHaveLength(4);
    expect(connectionsInside()).toBe(0);
  });

  it('is judged by its first answer only', async () => {
    const before = subscriberAt.connections();
    const sender = await senderWith(({ name, type }, time) =>
      type === 'A' ? [a(name, time === 1 ? '127.0.0.1' : PUBLIC)] : [],
    );
    expect(await postBy(sender)).toEqual(FORBIDDEN);
    expect(dns?.questions()).toHaveLength(2);
    expect(subscriberAt.connections()).toBe(before);
    expect(connectionsInside()).toBe(0);
  });

  it('that alternates is followed to the public address only, for 40 names at once', async () => {
    const before = subscriberAt.connections();
    let asked = 0;
    const sender = await senderWith(({ name, type }) => {
      if (type === 'AAAA') return [];
      asked += 1;
      return [a(name, asked % 2 === 0 ? PUBLIC : '127.0.0.1')];
    });
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => postBy(sender, `hooks-${index}.example`)),
    );
    const reached = replies.filter(({ kind }) => kind === 'answered').length;
    expect(reached).toBe(20);
    expect(replies.filter(({ kind }) => kind === 'forbidden')).toHaveLength(20);
    expect(subscriberAt.connections()).toBe(before + 20);
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
    const before = subscriberAt.connections();
    const sender = await senderWith(({ name, type }) => (type === 'A' ? ofA(name) : ofAaaa(name)));
    expect(await postBy(sender)).toEqual(FORBIDDEN);
    expect(dns?.questions().map(({ name }) => name)).toEqual(['hooks.example', 'hooks.example']);
    expect(subscriberAt.connections()).toBe(before);
    expect(connectionsInside()).toBe(0);
  });

  it('may point to a public address by a CNAME', async () => {
    const sender = await senderWith(({ name, type }) =>
      type === 'A' ? [cname(name, 'out.example'), a('out.example', PUBLIC)] : [],
    );
    expect(await postBy(sender)).toEqual(OK);
  });

  it('would have led to the canaries if they were allowed', async () => {
    const sender = await senderWith(
      ({ name, type }) => (type === 'A' ? [a(name, name === 'four.example' ? '127.0.0.1' : PUBLIC)] : []),
      { allowedAddresses: ['127.0.0.0/8'] },
    );
    expect(await postBy(sender, 'four.example')).toEqual(OK);
    expect(canaries.map((canary) => canary.connections())).toEqual([1, 0]);
  });
});
