import { beforeEach, describe, expect, it } from 'vitest';
import { reopenDelivery } from '../../../shared/steps/by-hand.ts';
import { byHandWorld, type ByHandWorld } from '../../support/in-memory/by-hand-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: ByHandWorld;

const subscribed = async (policy: Parameters<typeof byHandWorld>[0]): Promise<void> => {
  world = await byHandWorld(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

const requests = (): number => world.subscriber.seen.length;

describe('a recovery', () => {
  it('gives a delivery one round, however often it is ordered and whatever came of it', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500), status(500)]);
    await world.published();
    expect((await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).kind).toBe('retried');
    await world.clock.run();
    const again = await reopenDelivery(world.byHandContext, world.key, 'recovery-1');
    await world.clock.run();

    expect(again).toMatchObject({ kind: 'refused', why: 'recovered_already' });
    expect(requests()).toBe(2);
  });

  it('sends the wake-up again that a crash left out', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.published();
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

  it('leaves alone what was delivered meanwhile', async () => {
    world.settings.retainMessages = 'all';
    await world.published();

    expect(await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).toMatchObject({
      why: 'delivered',
    });
  });

  it('leaves alone what is under way', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.published();

    expect(await reopenDelivery(world.byHandContext, world.key, 'recovery-1')).toMatchObject({ why: 'open' });
  });
});
