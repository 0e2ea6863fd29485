import { beforeEach, describe, expect, it } from 'vitest';
import { reopenDelivery } from '../../../shared/pipeline/by-hand.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = 'https://subscriber.test/hook';
const key = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };

let world: PipelineWorld;

const subscribed = async (policy: Parameters<typeof aBarePolicy>[0]): Promise<void> => {
  world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: { _retry_policy: aBarePolicy(policy) } }),
  );
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

/** Publishes, and lets this much time pass. */
const published = async (forMs = 1_000): Promise<void> => {
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run(world.clock.now() + forMs);
};

const requests = (): number => world.subscriber.seen.length;

describe('a recovery', () => {
  it('gives a delivery one round, however often it is ordered and whatever came of it', async () => {
    await subscribed({});
    world.subscriber.script(URL, [status(500), status(500)]);
    await published();
    expect((await reopenDelivery(world.byHandContext, key, 'recovery-1')).kind).toBe('retried');
    await world.clock.run();
    const again = await reopenDelivery(world.byHandContext, key, 'recovery-1');
    await world.clock.run();

    expect(again).toMatchObject({ kind: 'refused', why: 'recovered_already' });
    expect(requests()).toBe(2);
  });

  it('sends the wake-up again that a crash left out', async () => {
    await subscribed({});
    world.subscriber.script(URL, [status(500), status(200)]);
    await published();
    const { ports, settings } = world.byHandContext;
    const dead = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('killed')) };
    await expect(
      reopenDelivery({ ports: { ...ports, wakeUps: dead }, settings }, key, 'recovery-1'),
    ).rejects.toThrow('killed');
    await reopenDelivery(world.byHandContext, key, 'recovery-1');
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
    expect(requests()).toBe(2);
  });

  it('leaves alone what was delivered meanwhile', async () => {
    world.settings.retainMessages = 'all';
    await published();

    expect(await reopenDelivery(world.byHandContext, key, 'recovery-1')).toMatchObject({ why: 'delivered' });
  });

  it('leaves alone what is under way', async () => {
    world.subscriber.script(URL, [status(500)]);
    await published();

    expect(await reopenDelivery(world.byHandContext, key, 'recovery-1')).toMatchObject({ why: 'open' });
  });
});
