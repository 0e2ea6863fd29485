import { afterAll, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/time-text.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const ONE = `/v2/queues/orders/subscriptions/${ID}`;

describe('posthaste subscription', () => {
  it('gives a pull subscription a token, and says how long the previous one is valid', async () => {
    const previousExpiresAt = '2026-11-22T12:00:00.000Z';
    const api = await stubApi({
      [`POST ${ONE}/pull-token`]: () => json({ token: 'phpull_new', previousExpiresAt }),
    });
    const args = ['subscription', 'pull-token', 'orders', ID, '--grace', '60'];
    expect((await api.run(args)).stdout).toBe(
      `Token (save it now, it is not shown again): phpull_new\nThe previous token stays valid until ${clockTime(previousExpiresAt)}.\n`,
    );
    expect(api.requests[0]?.body).toBe('{"graceSeconds":60}');
  });

  it('does not wait for the first attempt of a test that waits to be received', async () => {
    const dueAt = '2026-01-01T00:00:00.000Z';
    const delivery = {
      queue: 'orders',
      messageId: 'm1',
      subscriptionId: ID,
      status: 'pending',
      attempts: [],
      nextAttemptAt: dueAt,
      nextAttempt: { number: 1, phase: 'initial', dueAt, by: 'pull', waiting: 'pull' },
      policy: null,
    };
    const api = await stubApi({ [`POST ${ONE}/test`]: () => json({ delivery }, 202) });
    expect((await api.run(['subscription', 'test', 'orders', ID])).stdout).toContain(
      'waits until it is received',
    );
    expect(api.requests).toHaveLength(1);
  });
});
