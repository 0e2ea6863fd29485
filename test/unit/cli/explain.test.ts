import { afterAll, describe, expect, it } from 'vitest';
import { COMMAND } from '../../../local/command-name.ts';
import { clockTime } from '../../../cli/output/time-text.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const AT = '2026-01-01T00:00:00.000Z';
const LOCAL = clockTime(AT);
const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const message = {
  queue: 'orders',
  id: 'm1',
  acceptedAt: AT,
  duplicates: 0,
  matched: 3,
  filtered: 0,
  bodyKept: false,
};

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
  const pending = {
    queue: 'orders',
    messageId: 'm1',
    subscriptionId: ID,
    status: 'pending',
    attempts: [],
    policy: null,
  };
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
