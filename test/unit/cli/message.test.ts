import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/words.ts';
import { COMMAND } from '../../../local/command-name.ts';
import { AT, ID, message, pending, subscription } from './delivery-views.ts';
import { jsonLines } from './run-command.ts';
import { stubApi, json, refusal, type StubRoutes } from './stub-api.ts';

describe('posthaste message', () => {
  const body = '{ "big": 12345678901234567890.10, "u": "\u0085" }';
  const text =
    '{"queue":"orders","id":"m1","acceptedAt":"2026-01-01T00:00:00.000Z","duplicates":1,"matched":2,"filtered":0,' +
    '"deliveries":{"pending":0,"retrying":1,"delivered":1,"rejected":0,"exhausted":0,"cancelled":0},"bodyKept":true,' +
    `"body":${body}}`;
  const routes = { 'GET /v2/queues/orders/messages/m1': () => ({ body: text }) };

  it('shows the deliveries of a message by status', async () => {
    const { stdout } = await (await stubApi(routes)).run(['message', 'show', 'orders', 'm1']);
    expect(stdout).toContain('Deliveries  1 retrying, 1 delivered\n');
    expect(stdout).toContain('"big": 12345678901234567890.10, "u": "\\u0085"');
  });

  it('says that a message has more deliveries than were counted', async () => {
    const body = text.replace('"bodyKept"', '"deliveriesAtLeast":true,"bodyKept"');
    const api = await stubApi({ 'GET /v2/queues/orders/messages/m1': () => ({ body }) });
    const { stdout } = await api.run(['message', 'show', 'orders', 'm1']);
    expect(stdout).toContain('Deliveries  at least 1 retrying, 1 delivered\n');
  });

  it('prints the data byte for byte, and the message as JSON without losing digits', async () => {
    const api = await stubApi(routes);
    expect((await api.run(['message', 'show', 'orders', 'm1', '--body'])).stdout).toBe(body);
    const shown = (await api.run(['message', 'show', 'orders', 'm1', '--json'])).stdout;
    expect(shown).toBe(`${text.replace('\u0085', '\\u0085')}\n`);
  });

  it('erases the data of a message', async () => {
    const api = await stubApi({
      'DELETE /v2/queues/orders/messages/m1/body': () => ({ status: 204, body: '' }),
    });
    const { stdout } = await api.run(['message', 'erase', 'orders', 'm1', '--json']);
    expect(stdout).toBe('{"queue":"orders","messageId":"m1"}\n');
  });
});

const LOCAL = clockTime(AT);
describe('posthaste explain', () => {
  const filtered = {
    subscriptionId: ID,
    subscriber: 'https://acme.example/hook',
    verdict: 'filtered',
    certain: false,
    detail: 'By the options of today.',
    rule: { by: 'filter', path: 'order.total' },
  };
  const delivery = {
    queue: 'orders',
    messageId: 'm1',
    subscriptionId: 'gone',
    status: 'retrying',
    acceptedAt: AT,
    attemptCount: 2,
    lastAttempt: { number: 2, startedAt: AT, outcome: 'failed', statusCode: 503 },
  };
  const unsent = {
    queue: 'orders',
    messageId: 'm1',
    subscriptionId: ID,
    status: 'cancelled',
    acceptedAt: AT,
    attemptCount: 0,
  };
  const retrying = { subscriptionId: 'gone', verdict: 'retrying', certain: true, delivery };
  const answer = () => json({ message, subscriptions: [filtered, retrying], links: [] });
  const EXPLAIN = 'GET /v2/queues/orders/messages/m1/explain';

  it('says why each subscription received a message or not', async () => {
    const { stdout } = await (await stubApi({ [EXPLAIN]: answer })).run(['explain', 'orders', 'm1']);
    expect(stdout).toMatch(
      /5b0c0f1e +https:\/\/acme.example\/hook +filtered \? +the subscription does not want it: its filter does not match at order.total\. By the options of today\n/,
    );
    expect(stdout).toMatch(
      /gone +\(deleted\) +retrying +attempts failed, and another one follows, last 503, 2 attempts\n/,
    );
  });

  it.each([
    [3, 'No subscription is left; the message matched 3 when it was accepted.\n'],
    [0, 'The queue has no subscription, and the message matched none.\n'],
  ])('says what a message matched whose subscriptions are removed: %s', async (matched, text) => {
    const none = () => json({ message: { ...message, matched }, subscriptions: [], links: [] });
    const { stdout } = await (await stubApi({ [EXPLAIN]: none })).run(['explain', 'orders', 'm1']);
    expect(stdout).toBe(text);
  });

  it('leads to a search for a message that the queue does not have', async () => {
    const api = await stubApi({
      [EXPLAIN]: () => refusal(404, 'not_found', 'there is no such message'),
      'GET /v2/queues/orders': () => json({}),
    });
    const { status, stderr } = await api.run(['explain', 'orders', 'm1']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^posthaste: There is no message m1 on queue orders\. .* find m1\n$/);
  });

  it.each([
    [100, []],
    [2, ['--limit', '2']],
  ])('ends after %s subscriptions, and says so', async (most, limit) => {
    const page = () =>
      json({
        message,
        subscriptions: Array.from({ length: most }, () => retrying),
        links: [{ rel: 'next', href: '/v2?marker=more' }],
      });
    const api = await stubApi({ [EXPLAIN]: page });
    const { stderr } = await api.run(['explain', 'orders', 'm1', ...limit]);
    expect(stderr).toBe(`${most} of more than ${most} shown: raise --limit for more.\n`);
    expect(api.requests).toHaveLength(1);
  });

  it.each([
    [
      { verdict: 'filtered', rule: { by: 'event_types' } },
      'the subscription does not want it: its event_types do not include the type of the message',
    ],
    [
      { verdict: 'added_later', detail: 'It was created at noon, after the message was accepted.' },
      'the subscription was created at noon, after the message was accepted',
    ],
    [
      {
        verdict: 'exhausted',
        detail: 'The subscription has been deleted.',
        delivery: { ...delivery, status: 'exhausted', reason: 'retries_exhausted' },
      },
      'all attempts failed, last 503, 2 attempts. The subscription has been deleted',
    ],
    [
      {
        verdict: 'disabled',
        delivery: { ...unsent, reason: 'disabled' },
      },
      'the subscription was disabled',
    ],
    [
      {
        verdict: 'deleted',
        detail: 'The subscription has been deleted.',
        delivery: { ...unsent, reason: 'subscription_deleted' },
      },
      'the subscription was deleted',
    ],
    [{ verdict: 'cancelled', delivery: { ...unsent, reason: 'manual' } }, 'it was cancelled, manual'],
    [
      { verdict: 'rejected', delivery: { ...delivery, status: 'rejected', reason: 'http_503' } },
      'the subscriber refused it, last 503, 2 attempts',
    ],
  ])('says once why, as a sentence: %j', async (explained, why) => {
    const one = { subscriptionId: ID, subscriber: 'https://acme.example/hook', certain: true, ...explained };
    const api = await stubApi({ [EXPLAIN]: () => json({ message, subscriptions: [one], links: [] }) });
    const { stdout } = await api.run(['explain', 'orders', 'm1']);
    expect(stdout).toContain(`${explained.verdict}  ${why}\n`);
  });

  it.each([
    [
      {
        verdict: 'circuit_open',
        delivery: { ...delivery, subscriptionId: ID, nextAttemptAt: AT, waiting: 'circuit_open' },
      },
      `it waits because the subscriber is or was down, last 503, 2 attempts, not before ${LOCAL}. If it works again: POSTHASTE subscription enable orders 5b0c0f1e`,
    ],
    [
      {
        verdict: 'rejected',
        delivery: {
          ...delivery,
          status: 'rejected',
          reason: 'http_429',
          attemptCount: 1,
          lastAttempt: { ...delivery.lastAttempt, statusCode: 429 },
        },
      },
      `the subscriber answered 429, which is not retried here, 1 attempt. To retry: POSTHASTE subscription update orders 5b0c0f1e --retry-throttled, then POSTHASTE recover start orders --subscription 5b0c0f1e --since ${AT}`,
    ],
    [
      { verdict: 'rejected', delivery: { ...delivery, status: 'rejected', reason: 'abort_requested' } },
      'the subscriber asked not to get it again (webhook-delivery: abort-message), with 503, 2 attempts',
    ],
    [
      { verdict: 'added_later', detail: `It was created at ${AT}, after the message was accepted.` },
      `the subscription was created at ${LOCAL}, after the message was accepted`,
    ],
  ])('says what a person can do, with times in local time: %j', async (explained, why) => {
    const one = { subscriptionId: ID, subscriber: 'https://acme.example/hook', certain: true, ...explained };
    const api = await stubApi({ [EXPLAIN]: () => json({ message, subscriptions: [one], links: [] }) });
    const { stdout } = await api.run(['explain', 'orders', 'm1']);
    expect(stdout).toContain(`${explained.verdict}  ${why.replaceAll('POSTHASTE', COMMAND)}\n`);
  });

  it('explains one subscription', async () => {
    const api = await stubApi({ [EXPLAIN]: answer });
    const { stdout } = await api.run(['explain', 'orders', 'm1', ID, '--json']);
    expect(jsonLines(stdout)).toEqual([filtered, retrying]);
    expect(api.requests.at(-1)?.path).toContain(`subscription=${ID}`);
  });
});

describe('posthaste send', () => {
  const SEND = `POST /v2/queues/orders/messages/m1/deliveries/${ID}/send`;

  it('sends a message to one subscription', async () => {
    const api = await stubApi({ [SEND]: () => json(pending, 202) });
    const { status, stdout } = await api.run(['send', 'orders', 'm1', '--to', ID, '--json']);
    expect({ status, lines: jsonLines(stdout) }).toEqual({ status: 0, lines: [pending] });
  });

  it('shows the setting that the API names if the body is not kept, and asks once', async () => {
    const refused = () => refusal(409, 'conflict', 'the body is not kept: `_retain_messages`');
    const api = await stubApi({ [SEND]: refused });
    const { status, stderr } = await api.run(['send', 'orders', 'm1', '--to', ID]);
    expect(status).toBe(1);
    expect(stderr).toContain('`_retain_messages`');
    expect(api.requests).toHaveLength(1);
  });
});

const deliveries = { pending: 0, retrying: 0, delivered: 1, rejected: 0, exhausted: 2, cancelled: 0 };
const inQueue = (queue: string, id: string) => ({ ...message, queue, id, deliveries });
const found = { ...subscription, source: 'bills', subscriber: 'https://acme.example/hook' };
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
  'GET /v2/queues/orders/messages/order-55': () => json(inQueue('orders', 'order-55')),
  'GET /v2/queues/bills/messages/order-55': noMessage,
  'GET /v2/queues/orders/subscriptions': noSubscription,
  'GET /v2/queues/bills/subscriptions': ({ path }) =>
    path.includes('match=acme') ? json({ subscriptions: [found], links: [] }) : noSubscription(),
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
      'GET /v2/queues/orders/subscriptions': () => json({ subscriptions: of(found), links }),
      'GET /v2/queues/orders/messages': () => json({ messages: of(inQueue('orders', 'm1')), links }),
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
        json({ messages: [inQueue('orders', "o'1; reboot")], links: [] }),
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
      [`GET /v2/queues/orders/messages/${id}`]: () => json(inQueue('orders', id)),
      'GET /v2/queues/orders/messages': () =>
        json({ messages: [inQueue('orders', 'm2'), inQueue('orders', id)], links: [] }),
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
