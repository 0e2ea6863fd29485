import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi, type StubRoutes } from './stub-api.ts';

afterAll(closeStubs);

const AT = '2026-01-01T00:00:00.000Z';
const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const deliveries = { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 2, cancelled: 0 };
const message = (queue: string, id: string) => ({
  queue,
  id,
  acceptedAt: AT,
  duplicates: 0,
  matched: 3,
  filtered: 0,
  bodyKept: false,
  deliveries,
});
const subscription = {
  id: ID,
  source: 'bills',
  name: 'ACME',
  subscriber: 'https://acme.example/hook',
  ttl: null,
  age: 1,
  options: {},
  confirmed: true,
};
const noMessage = () => refusal(404, 'not_found', 'there is no such message');
const noSubscription = () => json({ subscriptions: [], links: [] });

const ROUTES: StubRoutes = {
  'GET /v2/queues': () => json({ queues: [{ name: 'orders' }, { name: 'bills' }], links: [] }),
  'GET /v2/queues/bills': () => json({}),
  'GET /v2/queues/orders': () => json({}),
  'GET /v2/queues/orders/messages/nothing': noMessage,
  'GET /v2/queues/bills/messages/nothing': noMessage,
  'GET /v2/queues/orders/messages/acme': noMessage,
  'GET /v2/queues/bills/messages/acme': noMessage,
  'GET /v2/queues/orders/messages/order-55': () => json(message('orders', 'order-55')),
  'GET /v2/queues/bills/messages/order-55': noMessage,
  'GET /v2/queues/orders/subscriptions': noSubscription,
  'GET /v2/queues/bills/subscriptions': ({ path }) =>
    path.includes('match=acme') ? json({ subscriptions: [subscription], links: [] }) : noSubscription(),
};

const localTime = (...clock: [number, number, number]) => new Date(2026, 0, 1, ...clock).toISOString();

describe('posthaste find', () => {
  it('finds a message in any queue, and says how to go on', async () => {
    const { status, stdout } = await (await stubApi(ROUTES)).run(['find', 'order-55']);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^message order-55 of queue orders, accepted [\d-]{10} [\d:]{8}: 3 matched, 1 delivered, 2 exhausted\n {2}→ npm run -s posthaste -- explain orders order-55\n$/,
    );
  });

  it('finds subscriptions by what the API matches', async () => {
    const { stdout } = await (await stubApi(ROUTES)).run(['find', 'acme', '--json']);
    expect(jsonLines(stdout)).toEqual([
      {
        kind: 'subscription',
        queue: 'bills',
        id: ID,
        text: 'ACME: enabled',
        next: 'npm run -s posthaste -- subscription show bills 5b0c0f1e',
      },
    ]);
  });

  it('says with numbers where a message may be that is not there', async () => {
    const health = {
      status: 'ok',
      checks: {},
      queues: { ingress: 12, ingressDeadLetters: 3 },
      retentionDays: 30,
    };
    const api = await stubApi({ ...ROUTES, 'GET /v2/health': () => json(health) });
    const { status, stdout } = await api.run(['find', 'nothing']);
    expect(status).toBe(1);
    expect(stdout).toContain('Nothing was found for nothing in 2 queues.');
    expect(stdout).toContain('the ingress queue, which holds about 12,');
    expect(stdout).toContain('dead letters, of which there are about 3: ');
    expect(stdout).toContain(
      'older than the retention of 30 days (retentionDays), or of its queue (_retention_days).\n',
    );
    const { stdout: lines } = await api.run(['find', 'nothing', '--queue', 'orders', '--json']);
    expect(jsonLines(lines)).toEqual([
      { found: 0, queues: 1, retentionDays: 30, ingress: 12, deadLetters: 3 },
    ]);
  });

  it('counts the messages that wait in ingress until a later time', async () => {
    const health = { status: 'ok', checks: {}, queues: { ingress: 12 }, delayed: { ingress: 40 } };
    const api = await stubApi({ ...ROUTES, 'GET /v2/health': () => json(health) });
    const { stdout } = await api.run(['find', 'nothing']);
    expect(stdout).toContain('holds about 12 and 40 until a later time,');
    expect(jsonLines((await api.run(['find', 'nothing', '--json'])).stdout)).toEqual([
      { found: 0, queues: 2, ingress: 12, delayed: 40 },
    ]);
  });

  it('says that it looks in the first 1,000 queues only', async () => {
    const names = Array.from({ length: 100 }, (_, index) => ({ name: `queue-${index}` }));
    const page = () => json({ queues: names, links: [{ rel: 'next', href: '/v2/queues?marker=more' }] });
    const empty = names.map(({ name }) => [`GET /v2/queues/${name}/subscriptions`, noSubscription] as const);
    const api = await stubApi({ 'GET /v2/queues': page, ...Object.fromEntries(empty) });
    const { status, stdout, stderr } = await api.run(['find', 'nothing']);
    expect(status).toBe(1);
    expect(stderr).toBe('Looks only in the first 1,000 queues; use --queue for others.\n');
    expect(stdout).toContain('in the first 1,000 queues; use --queue for others.');
    expect(stdout).toContain('\n- or is in a queue that was not searched,\n');
  });

  it.each([
    ['subscriptions', 'acme'],
    ['messages', '2026-01-01T12:00Z'],
  ])('says where there are more %s than it shows', async (kind, what) => {
    const of = <Item>(item: Item): Item[] => Array.from({ length: 10 }, () => item);
    const links = [{ rel: 'next', href: '/v2?marker=more' }];
    const api = await stubApi({
      ...ROUTES,
      'GET /v2/queues/orders/subscriptions': () => json({ subscriptions: of(subscription), links }),
      'GET /v2/queues/orders/messages': () => json({ messages: of(message('orders', 'm1')), links }),
    });
    const { status, stdout, stderr } = await api.run(['find', what, '--queue', 'orders', '--json']);
    expect({ status, found: jsonLines(stdout).length }).toEqual({ status: 0, found: 10 });
    expect(stderr).toBe(`10 of more ${kind} shown in orders.\n`);
  });

  it('goes on after a queue that it may not search, and says so', async () => {
    const forbidden = () => json({ message: 'Forbidden' }, 403);
    const api = await stubApi({
      ...ROUTES,
      'GET /v2/queues/bills/messages/order-55': forbidden,
      'GET /v2/queues/bills/messages/nothing': forbidden,
    });
    const { status, stdout, stderr } = await api.run(['find', 'order-55']);
    expect(status).toBe(0);
    expect(stdout).toContain('order-55 of queue orders');
    expect(stderr).toMatch(/^1 queue could not be searched: Forbidden\nYour credentials lack/);
    const nothing = await api.run(['find', 'nothing']);
    expect(nothing.status).toBe(1);
    expect(nothing.stdout).toContain('in 2 queues, of which 1 could not be searched.');
    expect(nothing.stdout).toContain('\n- or is in a queue that was not searched,\n');
    expect(jsonLines((await api.run(['find', 'nothing', '--json'])).stdout)).toEqual([
      { found: 0, queues: 2, notSearched: 1 },
    ]);
  });

  it('says that the numbers are unknown to a caller who may not read them', async () => {
    const forbidden = () => json({ message: 'Forbidden' }, 403);
    const { stdout } = await (
      await stubApi({ ...ROUTES, 'GET /v2/health': forbidden })
    ).run(['find', 'nothing']);
    expect(stdout).toContain('which holds an unknown number,');
  });

  it.each([
    ['around a time', '2026-01-01T12:00Z', '2026-01-01T11:55:00.000Z', '2026-01-01T12:05:00.000Z'],
    ['around a local time', '2026-01-01 12:00:05', localTime(11, 55, 5), localTime(12, 5, 5)],
    ['on a day', '2026-01-01', localTime(0, 0, 0), localTime(24, 0, 0)],
    ['since an age', '2h', undefined, undefined],
  ])('lists the messages accepted %s', async (_, what, since, until) => {
    const api = await stubApi({
      'GET /v2/queues/orders/messages': () =>
        json({ messages: [message('orders', "o'1; reboot")], links: [] }),
    });
    const { stdout } = await api.run(['find', what, '--queue', 'orders']);
    // The producer chose the id: what is pasted must stay one word.
    expect(stdout).toContain(String.raw`explain orders 'o'\''1; reboot'`);
    const list = api.requests.find(({ path }) => path.includes('/messages?'));
    const asked = new URL(list?.path ?? '', api.url).searchParams;
    const [from, to] = [asked.get('since') ?? '', asked.get('until') ?? ''];
    if (since === undefined) expect(Date.parse(to) - Date.parse(from)).toBe(2 * 3_600_000);
    else expect([from, to]).toEqual([since, until]);
  });

  it.each(['2h', '2026-11-22'])('finds a message whose id reads like a time: %s', async (id) => {
    const api = await stubApi({
      [`GET /v2/queues/orders/messages/${id}`]: () => json(message('orders', id)),
      'GET /v2/queues/orders/messages': () =>
        json({ messages: [message('orders', 'm2'), message('orders', id)], links: [] }),
    });
    const { stdout } = await api.run(['find', id, '--queue', 'orders', '--json']);
    expect(jsonLines(stdout)).toMatchObject([{ id }, { id: 'm2' }]);
  });

  it('fails for a time without messages', async () => {
    const api = await stubApi({
      'GET /v2/queues/orders/messages': () => json({ messages: [], links: [] }),
    });
    const { status, stdout } = await api.run(['find', '2026-01-01T12:00Z', '--queue', 'orders']);
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: `No message was accepted from ${clockTime('2026-01-01T11:55:00Z')} to ${clockTime('2026-01-01T12:05:00Z')}, and none has the id 2026-01-01T12:00Z.\n`,
    });
  });
});
