import { afterAll, describe, expect, it } from 'vitest';
import { AT, ID, subscription } from './delivery-views.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

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
    const slowed = {
      ...subscription,
      failing: { since: AT, failures: 3 },
      backPressure: { since: AT, ...pressure },
    };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(slowed) });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +.*${state}\n`));
    expect(stdout).toContain(`since ${AT}, ${pace}\n`);
  });
});
