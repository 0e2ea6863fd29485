import { afterAll, describe, expect, it } from 'vitest';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const AT = '2026-01-01T00:00:00.000Z';
const view = {
  id: ID,
  source: 'orders',
  subscriber: 'https://example.com/hook',
  ttl: null,
  age: 90,
  options: {},
  confirmed: true,
};
const ONE = `/v2/queues/orders/subscriptions/${ID}`;

describe('posthaste subscription show', () => {
  it.each([
    [
      { reason: 'circuit_open', until: AT },
      'is or was down',
      `no request before ${AT}, one request at a time`,
    ],
    [
      { reason: 'receiver_throttled', perSecond: 4.25 },
      'throttled by the subscriber',
      '4.25 requests a second',
    ],
  ])('shows back-pressure: %j', async (pressure, state, pace) => {
    const slowed = { ...view, failing: { since: AT, failures: 3 }, backPressure: { since: AT, ...pressure } };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(slowed) });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +.*${state}\n`));
    expect(stdout).toContain(`since ${AT}, ${pace}\n`);
  });
});
