import { beforeEach, describe, expect, it } from 'vitest';
import { reopenDelivery } from '../../../shared/steps/retry-delivery.ts';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

const subscribed = async (policy: Parameters<typeof subscribedWorld>[0]): Promise<void> => {
  world = await subscribedWorld(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

const requests = (): number => world.subscriber.seen.length;

describe('reopening a delivery for a recovery', () => {
  it('happens at most once per recovery, even if the round failed', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500), status(500)]);
    await world.publish(1_000);
    expect((await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).kind).toBe('retried');
    await world.clock.run();
    const again = await reopenDelivery(world.byHandContext, world.key, 'recovery-1');
    await world.clock.run();

    expect(again).toMatchObject({ kind: 'refused', why: 'recovered_already' });
    expect(requests()).toBe(2);
  });

  it('remembers the last ten recoveries', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    const ids = Array.from({ length: 11 }, (_, index) => `recovery-${index}`);
    for (const id of ids) {
      expect((await reopenDelivery(world.byHandContext, world.key, id)).kind).toBe('retried');
      await world.clock.run();
    }
    expect((await world.delivery()).recoveries).toEqual(ids.slice(1));
  });

  it('resends a wake-up that a crash prevented', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    const { ports, settings } = world.byHandContext;
    const dead = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('killed')) };
    await expect(
      reopenDelivery({ ports: { ...ports, wakeUps: dead }, settings }, world.key, 'recovery-1'),
    ).rejects.toThrow('killed');
    await reopenDelivery(world.byHandContext, world.key, 'recovery-1');
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
    expect(requests()).toBe(2);
  });

  it('is refused for a delivered delivery', async () => {
    world.settings.retainMessages = 'all';
    await world.publish(1_000);

    expect(await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).toMatchObject({
      why: 'delivered',
    });
  });

  it('is refused for an open delivery', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);

    expect(await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).toMatchObject({ why: 'open' });
  });
});
