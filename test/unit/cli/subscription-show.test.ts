import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import { AT, ID, subscription } from './delivery-views.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const LOCAL = clockTime(AT);
const ONE = `/v2/queues/orders/subscriptions/${ID}`;

describe('posthaste subscription show', () => {
  it.each([
    [
      { reason: 'circuit_open', until: AT },
      `enabled, one request at a time, the subscriber is or was down since ${LOCAL}, no request before ${LOCAL}`,
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
    const api = await stubApi({ [`GET ${ONE}`]: () => json(slowed) });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +${state}\n`));
    expect(stdout).toMatch(new RegExp(`Failing since +${LOCAL}, 3 counted failures\n`));
    expect(stdout).toMatch(/\nIf it works again: .* subscription enable orders 5b0c0f1e\n$/);
  });

  it('shows in local time when it was disabled', async () => {
    const disabled = { ...subscription, disabled: { reason: 'gone', at: AT } };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(disabled) });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +disabled \\(gone\\)\nDisabled at +${LOCAL}\n`));
    expect(stdout).not.toContain('If it works again');
  });
});

describe('posthaste subscription rotate-secret', () => {
  it('says in local time how long the old secret is valid', async () => {
    const api = await stubApi({ [`POST ${ONE}/secret/rotate`]: () => json({ previousExpiresAt: AT }) });
    const { stdout } = await api.run(['subscription', 'rotate-secret', 'orders', ID]);
    expect(stdout).toBe(`The old secret stays valid until ${LOCAL}.\n`);
  });
});
