import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { closeStubs, json, stubApi } from './stub-api.ts';

afterAll(closeStubs);

const ID = '5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11';
const ONE = `/v2/queues/orders/subscriptions/${ID}`;

describe('posthaste subscription test', () => {
  it('fails if the subscriber rejects the test message, and shows its response', async () => {
    const delivery = {
      queue: 'orders',
      messageId: 'm1',
      subscriptionId: ID,
      status: 'rejected',
      reason: 'http_400',
      attempts: [
        {
          number: 1,
          round: 1,
          phase: 'initial',
          startedAt: '2026-01-01T00:00:00.000Z',
          durationMs: 12,
          outcome: 'rejected',
          statusCode: 400,
          snippet: 'go \u001b[2J away',
        },
      ],
      policy: null,
    };
    const api = await stubApi({ [`POST ${ONE}/test`]: () => json({ delivery }) });
    const args = ['subscription', 'test', 'orders', ID, '--data', '{"n": 1.0}'];
    const { status, stdout } = await api.run(args);
    expect(status).toBe(1);
    expect(stdout).toContain('Status        rejected (http_400)\n');
    expect(stdout).toContain('400 "go \\u001b[2J away"');
    expect(api.requests[0]?.body).toBe('{"data":{"n": 1.0}}');
  });

  it('polls for the first attempt of a test if the API does not wait for it', async () => {
    const pending = {
      queue: 'orders',
      messageId: 'm1',
      subscriptionId: ID,
      status: 'pending',
      attempts: [],
      policy: null,
    };
    const attempt = {
      number: 1,
      round: 1,
      phase: 'initial',
      startedAt: '2026-01-01T00:00:00.000Z',
      durationMs: 12,
      outcome: 'delivered',
      statusCode: 200,
    };
    let looks = 0;
    const api = await stubApi({
      [`POST ${ONE}/test`]: () => json({ delivery: pending }, 202),
      [`GET /v2/queues/orders/messages/m1/deliveries/${ID}`]: () => {
        looks += 1;
        if (looks === 1)
          return json({ error: { code: 'not_found', message: 'there is no such delivery' } }, 404);
        return json({
          ...pending,
          status: 'delivered',
          attempts: [attempt],
          policy: DEFAULT_RETRY_POLICY,
          policySource: 'defaults',
          planned: [],
        });
      },
    });
    const { status, stdout } = await api.run(['subscription', 'test', 'orders', ID, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    expect(status).toBe(0);
  });
});
