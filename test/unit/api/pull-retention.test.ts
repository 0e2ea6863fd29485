import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aQueue } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { pullWorld, type PullWorld } from './pull-world.ts';

let world: PullWorld;

/** From the last change, or the begin of the wait, to the expiry. */
const daysLeft = async (): Promise<number> => {
  const { updatedAt, overdueAt = updatedAt, expiresAt } = await world.delivery();
  return Math.round((expiresAt - overdueAt) / DAY_MS);
};

beforeEach(async () => {
  const policy = aBarePolicy({ minimum_delay_retries: 9, minimum_delay: 5 });
  world = await pullWorld({ options: { _retry_policy: policy } });
  withExpiringBodies(world);
});

describe('the data of a delivery that waits for its subscriber', () => {
  it.each([
    ['small', 10, {}],
    ['of 70 KB', 70 * 1024, {}],
    ['in a queue that keeps less', 10, { _retention_days: 15 }],
  ])('is there after many long waits: %s', async (_what, bytes, metadata) => {
    await world.subscriptions.putQueue(aQueue({ metadata }));
    await world.publish({ data: JSON.stringify('x'.repeat(bytes)) });
    for (let attempt = 1; attempt < 9; attempt += 1) {
      await world.later(14 * DAY_MS);
      const received = await world.receiveOne();
      expect(received).toMatchObject({ attempt });
      await world.nack(received);
      await world.later(10_000);
    }
  });

  it('outlives the wait of a delivery that is retried by hand', async () => {
    world.settings.retentionMs = 90 * DAY_MS;
    await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 15 } }));
    await world.publish();
    const { key } = await world.delivery();
    await cancelDelivery(world.byHandContext, key, 'manual');
    await world.later(50 * DAY_MS);
    await retryDelivery(world.byHandContext, key);
    await world.later(1_000);

    const record = await world.messageRecords.find(key);
    expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { by: 'pull' } });
    expect(record?.expiresAt).toBeGreaterThan((await world.delivery()).expiresAt);
  });
});

describe('a delivery by pull in a queue that keeps less', () => {
  it('waits for half of the setting, and stays for half of the days of its queue', async () => {
    await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 16 } }));
    await world.publish();
    expect(await daysLeft()).toBe(15 + 8);
    const received = await world.receiveOne();
    expect(await daysLeft()).toBe(15 + 8);
    await world.nack(received);
    expect(await daysLeft()).toBe(15 + 8);
  });
});
