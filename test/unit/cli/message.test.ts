import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { COMMAND } from '../../../local/command-name.ts';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import type { StubRequest } from '../../support/aws-stub.ts';
import { AT, ID, message, messageView, pending, subscription } from './delivery-views.ts';
import { FORBIDDEN, json, MORE, NO_CONTENT, refusal, runOn, type StubRoutes } from './stub-api.ts';

describe('posthaste message', () => {
  const MESSAGE = '/v2/queues/orders/messages/m1';
  const SHOW = 'message show orders m1';
  const body = '{ "big": 12345678901234567890.10, "u": "\u0085" }';
  const text =
    '{"queue":"orders","id":"m1","acceptedAt":"2026-01-01T00:00:00.000Z","duplicates":1,"matched":2,"filtered":0,' +
    '"deliveries":{"pending":0,"retrying":1,"delivered":1,"rejected":0,"exhausted":0,"cancelled":0},"bodyKept":true,' +
    `"body":${body}}`;
  const routes = { [`GET ${MESSAGE}`]: { body: text } };

  it('shows the deliveries of a message by status', async () => {
    const { stdout } = await runOn(routes, SHOW);
    expect(stdout).toContain('Deliveries  1 retrying, 1 delivered\n');
    expect(stdout).toContain('"big": 12345678901234567890.10, "u": "\\u0085"');
  });

  it('says that a message has more deliveries than were counted', async () => {
    const more = text.replace('"bodyKept"', '"deliveriesAtLeast":true,"bodyKept"');
    const { stdout } = await runOn({ [`GET ${MESSAGE}`]: { body: more } }, SHOW);
    expect(stdout).toContain('Deliveries  at least 1 retrying, 1 delivered\n');
  });

  it.each([
    ['none, because no subscription matched', '"matched":0'],
    ['none yet', '"matched":0,"unfinished":true'],
    ['none yet', '"matched":2'],
  ])('says why a message has no delivery: %s, with %s', async (why, matched) => {
    const without = text.replace('"retrying":1,"delivered":1', '"retrying":0,"delivered":0');
    const body = without.replace('"matched":2', matched);
    const { stdout } = await runOn({ [`GET ${MESSAGE}`]: { body } }, SHOW);
    expect(stdout).toContain(`Deliveries  ${why}\n`);
  });

  it.each([
    ['not kept yet: it is once an attempt fails', '"pending":1,"retrying":0,"delivered":1'],
    ['not kept', '"pending":0,"retrying":0,"delivered":2'],
  ])('says whether data can still be kept: %s', async (kept, states) => {
    const counts = text.replace('"pending":0,"retrying":1,"delivered":1', states);
    const body = counts.replace(/"bodyKept".*/, '"bodyKept":false}');
    const { stdout } = await runOn({ [`GET ${MESSAGE}`]: { body } }, SHOW);
    expect(stdout).toContain(`Data        ${kept}\n`);
  });

  it.each([
    ['not in the catalogue of the queue', { reason: 'unknown_event_type' }],
    ['/a must be text', { reason: 'event_invalid', path: '/a', detail: 'must be text' }],
    [
      'the data must be of type object',
      { reason: 'event_invalid', path: '', detail: 'must be of type object' },
    ],
  ])('says why the catalogue refuses a message: %s', async (why, eventFault) => {
    const refused = text.replace('"bodyKept"', `"eventFault":${JSON.stringify(eventFault)},"bodyKept"`);
    const { stdout } = await runOn({ [`GET ${MESSAGE}`]: { body: refused } }, SHOW);
    expect(stdout).toContain(`Event fault  ${why}\n`);
  });

  it('says that the queue of a message was deleted', async () => {
    const deleted = text.replace('"bodyKept"', '"queueDeleted":true,"bodyKept"');
    const { stdout } = await runOn({ [`GET ${MESSAGE}`]: { body: deleted } }, SHOW);
    expect(stdout).toContain('Queue       orders, deleted since\n');
  });

  it('prints the data byte for byte, and the message as JSON without losing digits', async () => {
    expect((await runOn(routes, `${SHOW} --body`)).stdout).toBe(body);
    const { stdout } = await runOn(routes, `${SHOW} --json`);
    expect(stdout).toBe(`${text.replace('\u0085', '\\u0085')}\n`);
  });

  it('erases the data of a message', async () => {
    const erased = { [`DELETE ${MESSAGE}/body`]: NO_CONTENT };
    const { stdout } = await runOn(erased, 'message erase orders m1 --json');
    expect(stdout).toBe('{"queue":"orders","messageId":"m1"}\n');
  });
});

describe('posthaste explain', () => {
  const LOCAL = clockTime(AT);
  const of = { queue: 'orders', messageId: 'm1', subscriptionId: 'gone', acceptedAt: AT };
  const lastAttempt = { number: 2, startedAt: AT, outcome: 'failed', statusCode: 503 };
  const delivery = { ...of, status: 'retrying', attemptCount: 2, lastAttempt };
  const unsent = { ...of, status: 'cancelled', attemptCount: 0 };
  const acme = { subscriptionId: ID, subscriber: 'https://acme.example/hook', certain: true };
  const filtered = {
    ...acme,
    verdict: 'filtered',
    certain: false,
    detail: 'By the options of today.',
    rule: { by: 'filter', path: 'order.total' },
  };
  const retrying = { subscriptionId: 'gone', verdict: 'retrying', certain: true, delivery };

  const explaining = (subscriptions: object[], options = '', more: object = {}) => {
    const answer = json({ message, subscriptions, links: [], ...more });
    return runOn({ 'GET /v2/queues/orders/messages/m1/explain': answer }, `explain orders m1${options}`);
  };

  it('says why each subscription received a message or not', async () => {
    const { stdout } = await explaining([filtered, retrying]);
    expect(stdout).toMatch(
      /5b0c0f1e +https:\/\/acme.example\/hook +filtered \? +the subscription does not want it: its filter does not match at order.total\. By the options of today\n/,
    );
    expect(stdout).toMatch(
      /gone +\(deleted\) +retrying +attempts failed, and another one follows, last 503, 2 attempts\n/,
    );
  });

  it('says when the message was accepted, and what its deliveries waited for', async () => {
    const waited = [{ reason: 'receiver_throttled', ms: 480_000 }];
    const slow = { ...delivery, status: 'delivered', attemptCount: 1, waited };
    const { stdout } = await explaining([{ ...retrying, verdict: 'delivered', delivery: slow }]);
    expect(stdout).toMatch(new RegExp(`^Accepted ${LOCAL}\n`));
    expect(stdout).toMatch(/the subscriber accepted it, 1 attempt, waited 8 min \(throttled\)\n/);
  });

  it.each([
    [3, 'No subscription is left; the message matched 3 when it was accepted.\n'],
    [0, 'The queue has no subscription, and the message matched none.\n'],
  ])('says what a message matched whose subscriptions are removed: %s', async (matched, text) => {
    expect((await explaining([], '', { message: { ...message, matched } })).stdout).toBe(text);
  });

  it('says how to send a message later whose queue has no subscription', async () => {
    const { stdout } = await explaining([], '', { message: { ...message, matched: 0, bodyKept: true } });
    expect(stdout).toContain(
      `matched none. Its data is kept: once there is one, run ${COMMAND} send orders m1 --to SUBSCRIPTION\n`,
    );
  });

  it('names a message by its hash if no path can carry its id', async () => {
    const { id } = toMessageId({ id: 'order 17?' });
    const { requests } = await runOn({}, ['explain', 'orders', 'order 17?']);
    expect(requests[0]?.path).toContain(`/v2/queues/orders/messages/${id}/explain`);
  });

  it('leads to a search for a message that the queue does not have', async () => {
    const { status, stderr } = await runOn({}, 'explain orders m1');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^posthaste: There is no message m1 on queue orders\. .* find m1\n$/);
  });

  it.each([
    [100, ''],
    [2, ' --limit 2'],
  ])('ends after %s subscriptions, and says so', async (most, limit) => {
    const all = Array.from({ length: most }, () => retrying);
    const { stderr, requests } = await explaining(all, limit, { links: MORE });
    expect(stderr).toBe(`${most} of more than ${most} shown: raise --limit for more.\n`);
    expect(requests).toHaveLength(1);
  });

  const rejected = (reason: string, more: object = {}) => ({
    verdict: 'rejected',
    delivery: { ...delivery, status: 'rejected', reason, ...more },
  });
  const cancelled = (verdict: string, reason: string) => ({ verdict, delivery: { ...unsent, reason } });
  const detail = 'The subscription has been deleted.';
  const exhausted = { ...delivery, status: 'exhausted', reason: 'retries_exhausted' };
  const throttled = { attemptCount: 1, lastAttempt: { ...lastAttempt, statusCode: 429 } };
  const waiting = { ...delivery, subscriptionId: ID, nextAttemptAt: AT, waiting: 'circuit_open' };
  const changed = `It did not match when the message was accepted. Its filter has changed since, at ${AT}. It would match now.`;
  const created = `It was created at ${AT}, after the subscriptions were read for the message.`;

  it.each<[string, { verdict: string; [more: string]: unknown }]>([
    [
      'the subscription does not want it: its event_types do not include the type of the message',
      { verdict: 'filtered', rule: { by: 'event_types' } },
    ],
    [
      `the subscription did not match when the message was accepted. Its filter has changed since, at ${LOCAL}. It would match now`,
      { verdict: 'filtered', rule: { by: 'filter', path: 'order.total' }, detail: changed },
    ],
    [
      `the subscription was created at ${LOCAL}, after the subscriptions were read for the message`,
      { verdict: 'added_later', detail: created },
    ],
    [
      'all attempts failed, last 503, 2 attempts. The subscription has been deleted',
      { verdict: 'exhausted', detail, delivery: exhausted },
    ],
    ['the subscription was disabled', cancelled('disabled', 'disabled')],
    ['the subscription was deleted', { ...cancelled('deleted', 'subscription_deleted'), detail }],
    [
      'it was cancelled. The queue has been deleted',
      { ...cancelled('cancelled', 'subscription_deleted'), detail: 'The queue has been deleted.' },
    ],
    ['it was cancelled, manual', cancelled('cancelled', 'manual')],
    [
      `all attempts failed, last 503, 2 attempts. To retry: ${COMMAND} retry orders m1 5b0c0f1e`,
      { verdict: 'exhausted', delivery: exhausted },
    ],
    [
      `the subscriber refused it, last 503, 2 attempts. To retry: ${COMMAND} retry orders m1 5b0c0f1e`,
      rejected('http_503'),
    ],
    [
      'the subscriber asked not to get it again (webhook-delivery: abort-message), with 503, 2 attempts',
      rejected('abort_requested'),
    ],
    [
      `it waits because the subscriber is or was down, last 503, 2 attempts, not before ${LOCAL}. If it works again: ${COMMAND} subscription enable orders 5b0c0f1e`,
      { verdict: 'circuit_open', delivery: waiting },
    ],
    [
      `it waits until the queue is resumed, last 503, 2 attempts. To see the pause: ${COMMAND} subscription show orders 5b0c0f1e`,
      {
        verdict: 'paused',
        detail: 'It waits until the queue is resumed.',
        delivery: { ...waiting, waiting: 'paused' },
      },
    ],
    [
      `the subscriber answered 429, which is not retried here, 1 attempt. To retry: ${COMMAND} subscription update orders 5b0c0f1e --retry-throttled, then ${COMMAND} recover start orders --subscription 5b0c0f1e --since ${AT}`,
      rejected('http_429', throttled),
    ],
  ])('says once, with local times, and with what to do: %s', async (why, explained) => {
    const { stdout } = await explaining([{ ...acme, ...explained }]);
    expect(stdout).toContain(`${explained.verdict.padEnd('Verdict'.length)}  ${why}\n`);
  });

  it('says that an attempt is in flight, not that it is still to come', async () => {
    const until = new Date(Date.now() + 20_000).toISOString();
    const { status: _, ...first } = { ...delivery, attemptCount: 0, status: 'pending' };
    const inFlight = { ...first, status: 'pending', inFlight: { since: AT, until } };
    const { stdout } = await explaining([{ ...acme, verdict: 'pending', delivery: inFlight }]);
    expect(stdout).toContain(
      `pending  in flight: attempt 1 since ${LOCAL}, until ${clockTime(until)} at the latest\n`,
    );
  });

  it('explains one subscription', async () => {
    const { lines, requests } = await explaining([filtered, retrying], ` ${ID} --json`);
    expect(lines).toEqual([filtered, retrying]);
    expect(requests.at(-1)?.path).toContain(`subscription=${ID}`);
  });
});

describe('posthaste send', () => {
  const SEND = `POST /v2/queues/orders/messages/m1/deliveries/${ID}/send`;

  it('sends a message to one subscription', async () => {
    const { status, lines } = await runOn({ [SEND]: json(pending, 202) }, `send orders m1 --to ${ID} --json`);
    expect({ status, lines }).toEqual({ status: 0, lines: [pending] });
  });

  it('shows the setting that the API names if the body is not kept, and asks once', async () => {
    const refused = refusal(409, 'conflict', 'the body is not kept: `_retain_messages`');
    const { status, stderr, requests } = await runOn({ [SEND]: refused }, `send orders m1 --to ${ID}`);
    expect({ status, asked: requests.length }).toEqual({ status: 1, asked: 1 });
    expect(stderr).toContain('`_retain_messages`');
  });
});

const inQueue = (queue: string, id: string) => ({
  ...messageView,
  queue,
  id,
  deliveries: { ...messageView.deliveries, exhausted: 2 },
});
const found = { ...subscription, source: 'bills', subscriber: 'https://acme.example/hook' };
const noSubscription = json({ subscriptions: [], links: [] });

/** Two queues: one has a message, and the other one a subscription. */
const ROUTES: StubRoutes = {
  'GET /v2/queues': json({ queues: [{ name: 'orders' }, { name: 'bills' }], links: [] }),
  'GET /v2/queues/bills': json({}),
  'GET /v2/queues/orders/messages/order-55': json(inQueue('orders', 'order-55')),
  'GET /v2/queues/orders/subscriptions': noSubscription,
  'GET /v2/queues/bills/subscriptions': ({ path }) =>
    path.includes('match=acme') ? json({ subscriptions: [found], links: [] }) : noSubscription,
};

const localTime = (...clock: [number, number, number]) => new Date(2026, 0, 1, ...clock).toISOString();

describe('posthaste find', () => {
  it('finds a message in any queue, and says how to go on', async () => {
    const { status, stdout } = await runOn(ROUTES, 'find order-55');
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^message order-55 of queue orders, accepted [\d-]{10} [\d:]{8}: 3 matched, 1 delivered, 2 exhausted\n {2}→ npm run -s posthaste -- explain orders order-55\n$/,
    );
  });

  it('finds a message by an id that no path can carry', async () => {
    const { id } = toMessageId({ id: 'order 17/a' });
    const routes = { ...ROUTES, [`GET /v2/queues/bills/messages/${id}`]: json(inQueue('bills', id)) };
    const { stdout } = await runOn(routes, ['find', 'order 17/a']);
    expect(stdout).toMatch(new RegExp(`^message ${id} of queue bills`));
  });

  it('says how many subscriptions a filter kept a message from', async () => {
    const filtered = { ...inQueue('orders', 'order-55'), matched: 0, filtered: 2 };
    const routes = { ...ROUTES, 'GET /v2/queues/orders/messages/order-55': json(filtered) };
    expect((await runOn(routes, 'find order-55')).stdout).toContain(': 0 matched, 2 filtered, 1 delivered');
  });

  it('finds subscriptions by what the API matches', async () => {
    const { lines } = await runOn(ROUTES, 'find acme --json');
    const next = 'npm run -s posthaste -- subscription show bills 5b0c0f1e';
    expect(lines).toEqual([{ kind: 'subscription', queue: 'bills', id: ID, text: 'ACME: enabled', next }]);
  });

  it('says with numbers where a message may be that is not there', async () => {
    const queues = { ingress: 12, ingressDeadLetters: 3 };
    const health = { status: 'ok', checks: {}, queues, delayed: { ingress: 40 }, retentionDays: 30 };
    const routes = { ...ROUTES, 'GET /v2/health': json(health) };
    const { status, stdout } = await runOn(routes, 'find nothing');
    expect(status).toBe(1);
    expect(stdout).toContain(
      'Nothing was found for nothing in 2 queues.\nNot searched: parts of message ids, data, deleted subscriptions. ' +
        `To look by time: ${COMMAND} find 1h\nA message of this id\n- was never`,
    );
    expect(stdout).toContain('\n- or is a CloudEvent, which is found by its time:');
    expect(stdout).toContain('the ingress queue, which holds about 12 and 40 until a later time,');
    expect(stdout).toContain('dead letters, of which there are about 3: ');
    expect(stdout).toContain(
      'older than the retention of 30 days (retentionDays), or of its queue (_retention_days).\n',
    );
    const { lines } = await runOn(routes, 'find nothing --queue orders --json');
    expect(lines).toEqual([
      { found: 0, queues: 1, retentionDays: 30, ingress: 12, delayed: 40, deadLetters: 3 },
    ]);
  });

  it('names a deleted queue as a cause, and how to look there, unless the queue is given', async () => {
    const cause = 'of a deleted queue, which is searched by its name only: ';
    const { stdout } = await runOn(ROUTES, ['find', "it's"]);
    expect(stdout).toContain(`\n- or is ${cause}${COMMAND} find 'it'\\''s' --queue QUEUE,\n`);
    const none = json({ messages: [], links: [] });
    const empty = { 'GET /v2/queues/orders/messages': none, 'GET /v2/queues/bills/messages': none };
    expect((await runOn({ ...ROUTES, ...empty }, 'find 2h')).stdout).toContain(
      `It may be ${cause}${COMMAND} find 2h --queue QUEUE\n`,
    );
    expect((await runOn(ROUTES, 'find nothing --queue orders')).stdout).not.toContain(cause);
  });

  it('finds messages of a deleted queue by its name, and says that it was deleted', async () => {
    const of = { ...inQueue('gone', 'order-55'), queueDeleted: true };
    const routes = {
      'GET /v2/queues/gone/messages/order-55': json(of),
      'GET /v2/queues/gone/messages': ({ path }: StubRequest) =>
        path.includes('deleted=true')
          ? json({ messages: [inQueue('gone', 'o-2')], links: [] })
          : refusal(404, 'not_found', 'there is no such queue'),
    };
    const { status, stdout } = await runOn(routes, 'find order-55 --queue gone');
    expect(status).toBe(0);
    expect(stdout).toContain('message order-55 of queue gone (deleted since), accepted ');
    const { lines } = await runOn(routes, 'find 2h --queue gone --json');
    expect(lines).toMatchObject([{ kind: 'message', queue: 'gone', id: 'o-2' }]);
  });

  it('says that the numbers are unknown to a caller who may not read them', async () => {
    const { stdout } = await runOn({ ...ROUTES, 'GET /v2/health': FORBIDDEN }, 'find nothing');
    expect(stdout).toContain('which holds an unknown number,');
  });

  it('says that it looks in the first 1,000 queues only', async () => {
    const queues = Array.from({ length: 100 }, (_, index) => ({ name: `queue-${index}` }));
    const empty = queues.map(({ name }) => [`GET /v2/queues/${name}/subscriptions`, noSubscription] as const);
    const routes = { 'GET /v2/queues': json({ queues, links: MORE }), ...Object.fromEntries(empty) };
    const { status, stdout, stderr } = await runOn(routes, 'find nothing');
    expect(status).toBe(1);
    expect(stderr).toBe('Looks only in the first 1,000 queues; use --queue for others.\n');
    expect(stdout).toContain('in the first 1,000 queues; use --queue for others.');
    expect(stdout).toContain('\n- or is in a queue that was not searched,\n');
  });

  it.each([
    ['subscriptions', 'acme'],
    ['messages', '2026-01-01T12:00Z'],
  ])('says where there are more %s than it shows, and how to see them', async (kind, what) => {
    const ten = <Item>(item: Item): Item[] => Array.from({ length: 10 }, () => item);
    const routes = {
      'GET /v2/queues/orders/subscriptions': json({ subscriptions: ten(found), links: MORE }),
      'GET /v2/queues/orders/messages': json({ messages: ten(inQueue('orders', 'm1')), links: MORE }),
    };
    const { status, lines, stderr } = await runOn(routes, `find ${what} --queue orders --json`);
    expect({ status, found: lines.length }).toEqual({ status: 0, found: 10 });
    expect(stderr).toBe(`10 of more ${kind} shown in orders: raise --limit for more.\n`);
    const more = await runOn(routes, `find ${what} --queue orders --limit 15 --json`);
    expect(more.lines).toHaveLength(15);
    expect(more.stderr).toBe(`15 of more ${kind} shown in orders: raise --limit for more.\n`);
  });

  it('goes on after a queue that it may not search, and says so', async () => {
    const routes = {
      ...ROUTES,
      'GET /v2/queues/bills/messages/order-55': FORBIDDEN,
      'GET /v2/queues/bills/messages/nothing': FORBIDDEN,
    };
    const { status, stdout, stderr } = await runOn(routes, 'find order-55');
    expect(status).toBe(0);
    expect(stdout).toContain('order-55 of queue orders');
    expect(stderr).toMatch(/^1 queue could not be searched: Forbidden\nYour credentials lack/);
    const nothing = await runOn(routes, 'find nothing');
    expect(nothing.status).toBe(1);
    expect(nothing.stdout).toContain('in 2 queues, of which 1 could not be searched.');
    expect(nothing.stdout).toContain('\n- or is in a queue that was not searched,\n');
    const { lines } = await runOn(routes, 'find nothing --json');
    expect(lines).toEqual([{ found: 0, queues: 2, notSearched: 1 }]);
  });

  it.each([
    ['around a time', '2026-01-01T12:00Z', '2026-01-01T11:55:00.000Z', '2026-01-01T12:05:00.000Z'],
    ['around a local time', '2026-01-01 12:00:05', localTime(11, 55, 5), localTime(12, 5, 5)],
    ['on a day', '2026-01-01', localTime(0, 0, 0), localTime(24, 0, 0)],
    ['since an age', '2h', undefined, undefined],
  ])('lists the messages accepted %s', async (_, what, since, until) => {
    const list = json({ messages: [inQueue('orders', "o'1; reboot")], links: [] });
    const line = ['find', what, '--queue', 'orders'];
    const { stdout, requests } = await runOn({ 'GET /v2/queues/orders/messages': list }, line);
    // The producer chose the id: what is pasted must stay one word.
    expect(stdout).toContain(String.raw`explain orders 'o'\''1; reboot'`);
    const path = requests.find((request) => request.path.includes('/messages?'))?.path ?? '';
    const asked = new URLSearchParams(path.split('?')[1]);
    const [from, to] = [asked.get('since') ?? '', asked.get('until') ?? ''];
    if (since === undefined) expect(Date.parse(to) - Date.parse(from)).toBe(2 * 3_600_000);
    else expect([from, to]).toEqual([since, until]);
  });

  it.each(['2h', '2026-11-22'])('finds a message whose id reads like a time: %s', async (id) => {
    const messages = [inQueue('orders', 'm2'), inQueue('orders', id)];
    const routes = {
      [`GET /v2/queues/orders/messages/${id}`]: json(inQueue('orders', id)),
      'GET /v2/queues/orders/messages': json({ messages, links: [] }),
    };
    const { lines } = await runOn(routes, `find ${id} --queue orders --json`);
    expect(lines).toMatchObject([{ id }, { id: 'm2' }]);
  });

  it('fails for a time without messages', async () => {
    const routes = { 'GET /v2/queues/orders/messages': json({ messages: [], links: [] }) };
    const { status, stdout } = await runOn(routes, 'find 2026-01-01T12:00Z --queue orders');
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: `No message was accepted from ${clockTime('2026-01-01T11:55:00Z')} to ${clockTime('2026-01-01T12:05:00Z')}, and none has the id 2026-01-01T12:00Z.\n`,
    });
  });
});
