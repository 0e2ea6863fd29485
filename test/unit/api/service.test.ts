import { describe, expect, it } from 'vitest';
import { homeSchema, healthSchema } from '../../../functions/api/service/routes.ts';
import { apiUnderTest, CALLER } from './api-under-test.ts';

describe('GET /v2/ping', () => {
  it('answers 204 without a body', async () => {
    const { call } = apiUnderTest();
    expect(await call('GET', '/v2/ping')).toMatchObject({ status: 204, body: undefined });
  });
});

describe('GET /v2', () => {
  it('lists every path with its methods', async () => {
    const { call } = apiUnderTest();
    const { status, body } = await call('GET', '/v2');
    expect(status).toBe(200);
    const { resources } = homeSchema.parse(body);
    expect(resources['/v2/queues/{queue}']).toEqual({
      'href-template': '/v2/queues/{queue}',
      hints: { allow: ['PUT', 'PATCH', 'GET', 'DELETE'] },
    });
    expect(Object.keys(resources)).toEqual(
      expect.arrayContaining(['/v2', '/v2/ping', '/v2/queues/{queue}/subscriptions/{subscription}/confirm']),
    );
  });
});

describe('GET /v2/health', () => {
  it('shows passing checks, the numbers of messages in queues, and the overdue retries', async () => {
    const { call } = apiUnderTest();
    const { status, body } = await call('GET', '/v2/health');
    expect(status).toBe(200);
    expect(healthSchema.parse(body)).toEqual({
      status: 'ok',
      checks: { subscriptionsTable: 'ok', deliveriesTable: 'ok', queues: 'ok' },
      queues: { ingress: 0, ingressDeadLetters: 2 },
      delayed: { ingress: 4, ingressDeadLetters: 0 },
      overdue: 0,
      retentionDays: 30,
    });
  });

  it('counts retries as overdue after the time that reconcile waits', async () => {
    const { dependencies, time } = apiUnderTest();
    const asked: [number, number][] = [];
    const overdue = {
      key: { queue: 'orders', messageId: 'm', subscriptionId: 's', bucket: 0 },
      overdueAt: 0,
    };
    const { call } = apiUnderTest({
      deliveries: {
        ...dependencies.deliveries,
        overdue: (...given) => {
          asked.push(given);
          return Promise.resolve([overdue, overdue]);
        },
      },
    });
    expect((await call('GET', '/v2/health')).body).toMatchObject({ overdue: 2 });
    expect(asked).toEqual([[time.now - 30_000, 1_000]]);
  });

  const fault = new Error('table posthaste-secret-name is gone');
  const fails = () => Promise.reject(fault);

  it.each([
    [
      'subscriptionsTable',
      (api: ReturnType<typeof apiUnderTest>) => ({ registry: { ...api.registry, findQueue: fails } }),
      [],
    ],
    [
      'deliveriesTable',
      (api: ReturnType<typeof apiUnderTest>) => ({ messageRecords: { ...api.messageRecords, find: fails } }),
      ['overdue'],
    ],
    [
      'deliveriesTable',
      (api: ReturnType<typeof apiUnderTest>) => ({
        deliveries: { ...api.dependencies.deliveries, overdue: fails },
      }),
      ['overdue'],
    ],
    ['queues', () => ({ queueDepths: { approximate: fails } }), ['queues']],
  ])('answers 503 if %s cannot be read, and only logs the reason', async (check, broken, absent) => {
    const faults: unknown[] = [];
    const { call } = apiUnderTest({
      ...broken(apiUnderTest()),
      reportFault: (...reported) => faults.push(reported),
    });
    const { status, body } = await call('GET', '/v2/health');
    expect(status).toBe(503);
    const health = healthSchema.parse(body);
    expect(health.status).toBe('failing');
    expect(Object.entries(health.checks).filter(([, state]) => state === 'failing')).toEqual([
      [check, 'failing'],
    ]);
    for (const field of absent) expect(health).not.toHaveProperty(field);
    expect(JSON.stringify(body)).not.toContain('secret-name');
    expect(faults).toEqual([[fault, CALLER]]);
  });
});
