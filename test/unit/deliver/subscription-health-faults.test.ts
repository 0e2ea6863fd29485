import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy } from '../../support/builders.ts';
import {
  oneSubscriptionWorld,
  type OneSubscriptionWorld,
} from '../../support/in-memory/one-subscription-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let world: OneSubscriptionWorld;

beforeEach(() => {
  world = oneSubscriptionWorld();
});

describe('what operators are to be told', () => {
  it('is told though it could not be sent at first, by the next attempt a minute later', async () => {
    await world.subscribe({ failing: world.failing(DAY, 19) });
    await world.answer(status(500));
    expect(world.told()).toEqual(['subscription.failing']);

    const mended = world.refuseEvents('subscription.recovered');
    await world.answer(status(200));
    mended();
    expect(world.told()).toEqual(['subscription.failing']);
    expect(world.unnoted()).toMatchObject([{ queue: 'orders', subscriptionId: 'subscription-1' }]);

    await world.later(MINUTE - 1);
    await world.answer(status(200));
    expect(world.told()).toEqual(['subscription.failing']);
    await world.later(1);
    await world.answer(status(200));
    expect(world.told()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
  });

  it('is told of a disabled subscription by the next message that it does not get', async () => {
    await world.subscribe({ failing: world.failing(6 * DAY, 30) });
    const mended = world.refuseEvents('subscription.disabled');
    await world.answer();
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'failing' });
    mended();
    await world.later(MINUTE);
    await world.answer();
    expect(world.told()).toEqual(['subscription.disabled']);
    await world.answer();
    expect(world.told()).toEqual(['subscription.disabled']);
  });

  it('is told in order: what is next waits for what is there', async () => {
    const since = world.clock.now() - DAY;
    const event = { type: 'subscription.failing', since, failures: 20 } as const;
    await world.subscribe({ failing: { since, failures: 20 }, unsent: { event, at: world.clock.now() } });
    await world.answer(status(200));
    expect(world.told()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
    expect(await world.subscription()).not.toHaveProperty('failing');
  });
});

describe('a note that fails', () => {
  const dynamoIsDown = (): void => {
    world.subscriptions.changeHealth = () => Promise.reject(new Error('DynamoDB is down'));
  };

  it('is a fault in the journal; the delivery ends as it would, and no message comes again', async () => {
    await world.subscribe();
    dynamoIsDown();
    await world.answer();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted', owed: [] });
    expect(world.unnoted()).toHaveLength(1);
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting]).toEqual([0, 0]);
  });

  it('does not stop an immediate retry, nor count it as lost', async () => {
    await world.subscribe({ options: { _retry_policy: aBarePolicy({ retries_with_no_delay: 1 }) } });
    dynamoIsDown();
    await world.answer();
    const { attempts } = await world.delivery();
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(attempts[1]).not.toHaveProperty('lost');
    expect(attempts[1]?.startedAt).toBe(attempts[0]?.startedAt);
  });

  it('cannot hold up a wake-up, which is set before', async () => {
    await world.subscribe({ options: { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) } });
    const waiting: number[] = [];
    world.subscriptions.changeHealth = () => {
      waiting.push(world.retryQueue.waiting);
      return new Promise(() => undefined);
    };
    await world.answer();
    expect(waiting[0]).toBe(1);
    expect(world.subscriber.seen).toHaveLength(2);
  });
});
