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

describe('an operator event', () => {
  it('that could not be sent is sent by an attempt a minute later', async () => {
    await world.subscribe({ failing: world.failing(DAY, 19) });
    await world.answer(status(500));
    expect(world.publishedEvents()).toEqual(['subscription.failing']);

    const repair = world.refuseEvents('subscription.recovered');
    await world.answer(status(200));
    repair();
    expect(world.publishedEvents()).toEqual(['subscription.failing']);
    expect(world.unrecordedHealth()).toMatchObject([{ queue: 'orders', subscriptionId: 'subscription-1' }]);

    await world.later(MINUTE - 1);
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing']);
    await world.later(1);
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
  });

  it('for a disabled subscription is sent with the next message that it does not receive', async () => {
    await world.subscribe({ failing: world.failing(6 * DAY, 30) });
    const repair = world.refuseEvents('subscription.disabled');
    await world.answer();
    expect((await world.subscription()).disabled).toMatchObject({ reason: 'failing' });
    repair();
    await world.later(MINUTE);
    await world.answer();
    expect(world.publishedEvents()).toEqual(['subscription.disabled']);
    await world.answer();
    expect(world.publishedEvents()).toEqual(['subscription.disabled']);
  });

  it('waits until the earlier event is sent', async () => {
    const since = world.clock.now() - DAY;
    const event = { type: 'subscription.failing', since, failures: 20 } as const;
    await world.subscribe({ failing: { since, failures: 20 }, unsent: { event, at: world.clock.now() } });
    await world.answer(status(200));
    expect(world.publishedEvents()).toEqual(['subscription.failing', 'subscription.recovered']);
    expect(await world.subscription()).not.toHaveProperty('unsent');
    expect(await world.subscription()).not.toHaveProperty('failing');
  });
});

describe('a health update that fails', () => {
  const dynamoIsDown = (): void => {
    world.subscriptions.changeHealth = () => Promise.reject(new Error('DynamoDB is down'));
  };

  it('is logged as a fault; the delivery ends normally and no message is redelivered', async () => {
    await world.subscribe();
    dynamoIsDown();
    await world.answer();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted', pendingSteps: [] });
    expect(world.unrecordedHealth()).toHaveLength(1);
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting]).toEqual([0, 0]);
  });

  it('does not prevent an immediate retry or count it as lost', async () => {
    await world.subscribe({ options: { _retry_policy: aBarePolicy({ retries_with_no_delay: 1 }) } });
    dynamoIsDown();
    await world.answer();
    const { attempts } = await world.delivery();
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2 }]);
    expect(attempts[1]).not.toHaveProperty('lost');
    expect(attempts[1]?.startedAt).toBe(attempts[0]?.startedAt);
  });

  it('does not delay a wake-up, which is scheduled before', async () => {
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
