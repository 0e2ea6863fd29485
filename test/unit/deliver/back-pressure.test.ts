import { beforeEach, describe, expect, it } from 'vitest';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { limitedWorld } from '../../support/in-memory/limited-world.ts';
import {
  newPressedWorld,
  numbered,
  type PressedWorld,
  pressedWorld,
} from '../../support/in-memory/pressed-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = aSubscription().subscriber;

let pressed: PressedWorld;
let world: PressedWorld['world'];

beforeEach(() => {
  pressed = newPressedWorld();
  ({ world } = pressed);
});

describe('a subscriber that throttles', () => {
  it('gets no request before the time that it asks for, and what waits spends no attempt', async () => {
    await pressed.subscribe();
    world.subscriber.script(URL, [status(429, { retryAfter: '20' }), status(200)]);
    await pressed.publish('first');
    await pressed.runFor(100);
    await pressed.publish('waiting');
    await pressed.runFor(10_000);

    expect(await pressed.deliveryOf('waiting')).toMatchObject({
      status: 'pending',
      attempts: [],
      slot: { at: pressed.startedAt + 20_000, reason: 'receiver_throttled' },
    });
    await world.clock.run();
    expect(pressed.requestedAt()).toEqual([0, 20]);
    expect((await pressed.deliveryOf('waiting')).status).toBe('delivered');
  });

  it.each([
    ['a 503 with Retry-After', status(503, { retryAfter: '20' }), 20],
    ['a 429 without Retry-After', status(429), 1],
    ['a 429 with a Retry-After beyond the cap', status(429, { retryAfter: '9999999999' }), 3_600],
  ])('is left alone after %s for its time', async (_, refusal, seconds) => {
    await pressed.subscribe();
    world.subscriber.script(URL, [refusal, status(200)]);
    await pressed.publish('first');
    await pressed.runFor(100);
    await pressed.publish('waiting');
    await world.clock.run();

    expect(pressed.requestedAt()).toEqual([0, seconds]);
  });

  it('is served at about its rate, and refuses few requests', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 5, retry_on_status: [429] });
    const taken: number[] = [];
    world.subscriber.onRequest = () => {
      const now = world.clock.now();
      const isTaken = taken.filter((at) => at > now - 1_000).length < 5;
      if (isTaken) taken.push(now);
      world.subscriber.script(URL, [isTaken ? status(200) : status(429, { retryAfter: '2' })]);
      return Promise.resolve();
    };
    for (let second = 0; second < 5; second += 1) {
      await pressed.publish(...numbered(30, `m-${second}`));
      await pressed.runFor(1_000);
    }
    await world.clock.run();

    expect(taken).toHaveLength(150);
    expect(world.subscriber.seen.length).toBeLessThan(300);
  });

  it('only once while it takes many is not slowed to a few a second', async () => {
    await pressed.subscribe();
    for (let second = 0; second < 20; second += 1) {
      await pressed.publish(...numbered(20, `m-${second}`));
      await pressed.runFor(1_000);
    }
    world.subscriber.script(URL, [status(429), status(200)]);
    await pressed.publish('refused');
    await pressed.runFor(100);

    expect((await pressed.pressure())?.perSecond).toBeGreaterThan(8);
  });

  it('is retried, although the policy does not list 429', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429), status(200)]);
    await pressed.publish('retried');
    await world.clock.run();
    expect(await pressed.deliveryOf('retried')).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed', statusCode: 429 }, { outcome: 'delivered' }],
    });
  });

  it('does not retry a 429 if the subscription says so, also if the setting says yes', async () => {
    world.settings.retryThrottled = true;
    const off = { retry_throttled: false, adapt_to_throttling: false };
    await pressed.subscribe(off, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429)]);
    await pressed.publish('rejected');
    await world.clock.run();

    expect((await pressed.deliveryOf('rejected')).status).toBe('rejected');
  });

  it('is reported once when it slows, and once when it takes requests again', async () => {
    await pressed.subscribe();
    world.subscriber.script(URL, [status(429, { takesMs: 20 }), status(429, { takesMs: 30 }), status(200)]);
    await pressed.publish(...numbered(20));
    await pressed.runFor(60_000);
    expect(pressed.events()).toEqual(['subscription.slowed']);
    expect((await pressed.pressure())?.ended).toBeUndefined();

    await pressed.runFor(15 * 60_000);
    await pressed.publish('later');
    await world.clock.run();
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
    expect((await pressed.pressure())?.ended).toBe(true);
  });

  it('is called at once by a manual retry, and not by a recovery', async () => {
    await pressed.subscribe();
    world.subscriber.script(URL, [status(500), status(500), status(429, { retryAfter: '600' }), status(200)]);
    await pressed.publish('one', 'two', 'throttled');
    await pressed.runFor(1_000);
    const key = (messageId: string) => ({
      queue: 'orders',
      messageId,
      subscriptionId: 'subscription-1',
      bucket: 0,
    });
    await retryDelivery(world.byHandContext, key('one'));
    await reopenDelivery(world.byHandContext, key('two'), 'recovery-1');
    await pressed.runFor(2_000);

    expect((await pressed.deliveryOf('one')).status).toBe('delivered');
    expect(await pressed.deliveryOf('two')).toMatchObject({
      status: 'retrying',
      slot: { reason: 'receiver_throttled' },
    });
  });

  it('does not delay the other members of a chunk', async () => {
    await pressed.subscribe();
    const other = 'https://other.test/hook';
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'subscription-2', subscriber: other, options: { _retry_policy: aBarePolicy() } }),
    );
    world.subscriber.script(URL, [status(429, { retryAfter: '60' })]);
    await pressed.publish('first');
    await pressed.runFor(100);
    await pressed.publish('second');
    await pressed.runFor(1_000);

    expect((await world.delivery('subscription-2', 'second')).status).toBe('delivered');
    expect((await pressed.deliveryOf('second')).slot?.reason).toBe('receiver_throttled');
  });
});

describe('a change of a subscription under pressure', () => {
  it.each([
    ['to another address', { subscriber: 'https://other.test/hook' }, 'https://other.test/hook'],
    ['that enables it', { disabled: null }, URL],
  ])('%s ends the pressure, and its waiting deliveries are sent within seconds', async (_, change, url) => {
    const limited = await limitedWorld();
    pressed = pressedWorld(limited.world);
    ({ world } = pressed);
    await limited.subscribe(50);
    world.subscriber.script(URL, [status(429, { retryAfter: '3000' }), status(200)]);
    await limited.publish(1);
    await pressed.runFor(100);
    await limited.publish(20, 1);
    await pressed.runFor(60_000);
    await limited.limitTo.change(change);
    await pressed.runFor(10_000);

    const { seen } = world.subscriber;
    expect(seen.slice(1).map(({ request }) => request.url)).toEqual(Array.from({ length: 20 }, () => url));
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });

  it('of its limit keeps the pressure', async () => {
    const limited = await limitedWorld();
    pressed = pressedWorld(limited.world);
    ({ world } = pressed);
    await limited.subscribe(1);
    world.subscriber.script(URL, [status(429, { retryAfter: '3000' }), status(200)]);
    await limited.publish(1);
    await pressed.runFor(100);
    await limited.publish(5, 1);
    await pressed.runFor(60_000);
    await limited.limitTo(50);
    await world.clock.run();

    expect(Math.min(...pressed.requestedAt().slice(1))).toBeGreaterThanOrEqual(3_000);
  });
});

describe('without back-pressure', () => {
  it('a healthy subscription causes no health write and reserves no slot', async () => {
    await pressed.subscribe();
    let calls = 0;
    world.subscriptions.changeHealth = () => Promise.reject(new Error(`call ${(calls += 1)}`));
    world.rateLimits.reserve = () => Promise.reject(new Error(`call ${(calls += 1)}`));
    await pressed.publish(...numbered(20));
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(20);
    expect(calls).toBe(0);
  });

  it('the setting turned off, every delivery follows its policy alone, and the next one ends the episode', async () => {
    await pressed.subscribe();
    world.subscriber.script(URL, [status(429, { retryAfter: '600' }), status(200)]);
    await pressed.publish('first');
    await pressed.runFor(100);
    Object.assign(world.settings, { adaptToThrottling: false, holdWhileDown: false });
    await pressed.publish('second');
    await pressed.runFor(100);

    expect((await pressed.deliveryOf('second')).status).toBe('delivered');
    expect((await pressed.pressure())?.ended).toBe(true);
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });
});
