import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

const subscribed = async (policy: Parameters<typeof subscribedWorld>[0]): Promise<void> => {
  world = await subscribedWorld(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

const requests = (): number => world.subscriber.seen.length;
const retried = () => retryDelivery(world.byHandContext, world.key);
const cancelled = () => cancelDelivery(world.byHandContext, world.key, 'manual');

describe('a manual cancellation', () => {
  it('prevents further requests and removes the schedule', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect((await cancelled()).kind).toBe('cancelled');
    expect(world.schedules).toEqual([]);
    await world.clock.run();

    expect(requests()).toBe(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'manual' });
  });

  it('prevents a first attempt that is not due yet', async () => {
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    expect((await cancelled()).kind).toBe('cancelled');
    await world.clock.run();

    expect(requests()).toBe(0);
    expect((await world.delivery()).status).toBe('cancelled');
  });

  it('is refused for a subscription without a delivery', async () => {
    await world.publish(1_000);
    const other = { ...world.key, subscriptionId: 'unknown' };

    expect(await cancelDelivery(world.byHandContext, other, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
  });

  it.each([
    ['was unconfirmed when the message was accepted', { unconfirmed: { tokenHash: 'x', at: 0 } }],
    ['was deleted when the message was accepted', { deletedAt: 1 }],
    ['was expired when the message was accepted', { expiresAt: 1 }],
  ])('creates no record for a subscription that %s', async (_case, state) => {
    const stranger = { ...world.key, subscriptionId: 'subscription-2' };
    await world.subscriptions.addSubscription(
      aSubscription({ id: stranger.subscriptionId, subscriber: 'https://other.test/', ...state }),
    );
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });

    expect(await cancelDelivery(world.byHandContext, stranger, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
    expect((await cancelled()).kind).toBe('cancelled');
    await world.clock.run();
    expect(requests()).toBe(0);
  });

  it('creates no record for a subscription that was confirmed after the message was accepted', async () => {
    const stranger = { ...world.key, subscriptionId: 'subscription-2' };
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const confirmedAt = world.clock.now() + 1;
    await world.subscriptions.addSubscription(
      aSubscription({ id: stranger.subscriptionId, subscriber: 'https://other.test/', confirmedAt }),
    );

    expect(await cancelDelivery(world.byHandContext, stranger, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
  });

  it('prevents the first attempt for a subscription that was deleted after the message was accepted', async () => {
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const deletedAt = world.clock.now() + 1;
    await world.subscriptions.markDeleted({
      queue: 'orders',
      subscriptionId: world.key.subscriptionId,
      now: deletedAt,
    });

    expect((await cancelled()).kind).toBe('cancelled');
  });

  it('is refused before a first attempt that a filter may prevent', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({
        id: 'subscription-2',
        subscriber: 'https://other.test/',
        options: { event_types: ['order.cancelled'] },
      }),
    );
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const filtered = { ...world.key, subscriptionId: 'subscription-2' };

    expect(await cancelDelivery(world.byHandContext, filtered, 'manual')).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(filtered)).toBeUndefined();
  });

  it('is refused until dispatch reaches the subscription, then cancels the delivery', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'subscription-2', subscriber: 'https://other.test/' }),
    );
    world.settings.pageSize = 1;
    const addPart = world.messageRecords.addPart.bind(world.messageRecords);
    world.messageRecords.addPart = () => Promise.reject(new Error('killed'));
    const message = { ok: true, message: aMessage(), delaySeconds: 60 } as const;
    await expect(world.dispatch(message)).rejects.toThrow('killed');
    const ahead = { ...world.key, subscriptionId: 'subscription-2' };
    expect(await cancelDelivery(world.byHandContext, ahead, 'manual')).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(ahead)).toBeUndefined();

    world.messageRecords.addPart = addPart;
    await world.dispatch(message);
    expect(await cancelDelivery(world.byHandContext, ahead, 'manual')).toMatchObject({ why: 'not_begun' });
    const found = { ...ahead, bucket: 1 };
    expect((await cancelDelivery(world.byHandContext, found, 'manual')).kind).toBe('cancelled');
    await world.clock.run();
    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual([world.url]);
    expect((await world.delivery('subscription-2')).status).toBe('cancelled');
  });

  it('does not allow another round while its request is in flight', async () => {
    world.subscriber.script(world.url, [status(500), status(500, { takesMs: 14_000 }), status(200)]);
    await world.publish(1_000);
    await retried();
    await world.clock.run(world.clock.now() + 1_000);
    await cancelled();
    expect(await retried()).toMatchObject({ kind: 'refused', why: 'in_flight' });

    await world.clock.run(world.clock.now() + 30_000);
    expect((await retried()).kind).toBe('retried');
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is refused for an ended delivery', async () => {
    await world.publish(1_000);

    expect(await cancelled()).toMatchObject({ kind: 'refused', why: 'over' });
  });

  it('during an attempt still records its success and makes no other attempt', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 5_000 })]);
    await world.publish(1_000);
    await retried();
    await world.clock.run(world.clock.now() + 1_000);
    expect((await cancelled()).kind).toBe('cancelled');
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', lost: 1 });
    expect(delivery.lateResults).toHaveLength(1);
    expect(requests()).toBe(2);
  });

  it('during a failing attempt prevents retries', async () => {
    await subscribed({ retries_with_no_delay: 5 });
    world.subscriber.script(world.url, [status(500, { takesMs: 1_000 })]);
    await world.publish(500);
    await cancelled();
    await world.clock.run();

    expect(requests()).toBe(1);
    expect((await world.delivery()).status).toBe('cancelled');
  });
});
