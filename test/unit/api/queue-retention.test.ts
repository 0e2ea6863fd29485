import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders } from './recorded.ts';

const QUEUE = '/v2/queues/orders';

describe('the retention of a queue', () => {
  it('is at most that of the deployment, which the refusal names', async () => {
    const { call } = await apiWithOrders();
    expect((await call('PUT', QUEUE, { _retention_days: 30 })).status).toBe(204);
    const patch = [{ op: 'replace', path: '/metadata/_retention_days', value: 31 }];
    for (const refused of [
      await call('PUT', QUEUE, { _retention_days: 31 }),
      await call('PATCH', QUEUE, patch),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: faultOf('invalid_request', '_retention_days') });
      expect(JSON.stringify(refused.body)).toContain('the 30 days of the setting retentionDays');
    }
    expect((await call('GET', QUEUE)).body).toEqual({ _retention_days: 30 });
  });

  it.each([
    [20, { _retention_days: 20 }],
    [30, { _retention_days: 31 }],
  ])('limits how far back a recovery goes: %i days with the metadata %j', async (days, metadata) => {
    const { call, registry } = await apiWithOrders();
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata });
    // The retention after 15 days of schedule, in which each of 100 retries is delayed by another hour.
    const oldest = NOON - (days + 15) * DAY_MS - 100 * 60 * 60 * 1000;
    const startFrom = (since: number) =>
      call('POST', `${QUEUE}/recoveries`, {
        since: new Date(since).toISOString(),
        until: new Date(NOON).toISOString(),
      });
    expect((await startFrom(oldest)).status).toBe(202);
    expect(await startFrom(oldest - 1)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'since'),
    });
  });

  it('is that of the message and delivery of a test', async () => {
    let now = NOON;
    const sleep = (milliseconds: number): Promise<void> => {
      now += milliseconds;
      return Promise.resolve();
    };
    const { call, registry, jobs, messageRecords } = await apiWithOrders({
      clock: { now: () => now, sleep },
    });
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata: { _retention_days: 20 } });
    await call('POST', `${QUEUE}/subscriptions`, { subscriber: 'https://hooks.example/a' });
    const [subscription] = (await registry.listSubscriptions('orders', { limit: 1 })).items;
    await call('POST', `${QUEUE}/subscriptions/${subscription?.id ?? ''}/test`);
    expect(jobs).toMatchObject([{ retentionDays: 20 }]);
    const record = await messageRecords.find({ queue: 'orders', messageId: jobs[0]?.key.messageId ?? '' });
    expect(record).toMatchObject({ retentionDays: 20, expiresAt: NOON + 20 * DAY_MS });
  });
});
