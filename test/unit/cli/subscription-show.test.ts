import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import { AT, ID, listed, page, subscription } from './delivery-views.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const LOCAL = clockTime(AT);
const ONE = `/v2/queues/orders/subscriptions/${ID}`;
const DELIVERIES = '/v2/queues/orders/deliveries';
const noDeliveries = { [`GET ${DELIVERIES}`]: () => page() };

describe('posthaste subscription show', () => {
  it.each([
    [
      { reason: 'circuit_open' },
      `enabled, one request at a time, the subscriber is or was down since ${LOCAL}`,
    ],
    [
      { reason: 'receiver_throttled', perSecond: 4.25 },
      `enabled, at most 4.25 requests a second since a refusal at ${LOCAL}`,
    ],
  ])('says in local time what back-pressure means, and how to end it: %j', async (pressure, state) => {
    const slowed = {
      ...subscription,
      failing: { since: AT, failures: 3 },
      backPressure: { since: AT, ...pressure },
    };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(slowed), ...noDeliveries });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +${state}\n`));
    expect(stdout).toMatch(new RegExp(`Failing since +${LOCAL}, 3 counted failures\n`));
    expect(stdout).toMatch(/\nIf it works again: .* subscription enable orders 5b0c0f1e\n$/);
  });

  const open = (count: number, waiting?: string) =>
    Array.from({ length: count }, (_, index) => ({ ...listed, messageId: `${waiting}-${index}`, waiting }));

  it.each([
    [
      'all that wait',
      [
        ...open(1, 'rate_limited'),
        ...open(2, 'circuit_open'),
        ...open(3),
        { ...listed, status: 'exhausted' },
        ...open(4, 'receiver_throttled'),
        ...open(5, 'pull'),
      ],
      [],
      '15 deliveries: 1 for the rate limit of the subscription, 2 because the subscriber is or was down, 3 for the next attempt, 4 because the subscriber throttles, 5 until it is received',
    ],
    [
      'the newest of many',
      open(100, 'circuit_open'),
      [{ rel: 'next', href: '?marker=2' }],
      'at least 100 deliveries: 100 because the subscriber is or was down',
    ],
  ])('says how many deliveries wait and why, by one request: %s', async (_, deliveries, links, text) => {
    const api = await stubApi({
      [`GET ${ONE}`]: () => json(subscription),
      [`GET ${DELIVERIES}`]: () => json({ deliveries, links }),
    });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`\\nWaiting +${text}\\n`));
    const asked = api.requests.filter((request) => request.path.startsWith(DELIVERIES));
    expect(asked.map((request) => request.path)).toEqual([`${DELIVERIES}?subscription=${ID}&limit=100`]);
  });

  it.each([
    ['none waits', () => json({ deliveries: [{ ...listed, status: 'exhausted' }], links: [] })],
    ['the caller may not list deliveries', () => json({ message: 'Forbidden' }, 403)],
  ])('says nothing of deliveries where %s', async (_, answer) => {
    const api = await stubApi({
      [`GET ${ONE}`]: () => json(subscription),
      [`GET ${DELIVERIES}`]: answer,
    });
    const { status, stdout, stderr } = await api.run(['subscription', 'show', 'orders', ID]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).not.toContain('Waiting');
  });

  it('shows in local time when it was disabled', async () => {
    const disabled = { ...subscription, disabled: { reason: 'gone', at: AT } };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(disabled), ...noDeliveries });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +disabled \\(gone\\)\nDisabled at +${LOCAL}\n`));
    expect(stdout).not.toContain('If it works again');
  });
});

describe('posthaste subscription list', () => {
  it('lists which subscriptions are slowed, each kind by another word', async () => {
    const slowed = [
      { reason: 'circuit_open', since: AT },
      { reason: 'circuit_open', since: AT, perSecond: 4 },
      { reason: 'receiver_throttled', since: AT, perSecond: 4 },
    ].map((backPressure) => ({ ...subscription, backPressure }));
    const api = await stubApi({
      'GET /v2/queues/orders/subscriptions': () =>
        json({ subscriptions: [...slowed, subscription], links: [] }),
    });
    const { stdout } = await api.run(['subscription', 'list', 'orders']);
    expect(stdout.match(/circuit open|slowed|throttled|enabled/g)).toEqual([
      'circuit open',
      'slowed',
      'throttled',
      'enabled',
    ]);
  });
});

describe('posthaste subscription rotate-secret', () => {
  it('says in local time how long the old secret is valid', async () => {
    const api = await stubApi({ [`POST ${ONE}/secret/rotate`]: () => json({ previousExpiresAt: AT }) });
    const { stdout } = await api.run(['subscription', 'rotate-secret', 'orders', ID]);
    expect(stdout).toBe(`The old secret stays valid until ${LOCAL}.\n`);
  });
});
