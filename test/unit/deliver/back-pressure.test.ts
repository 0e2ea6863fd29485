import { beforeEach, describe, expect, it } from 'vitest';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { limitedWorld } from '../../support/in-memory/limited-world.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = aSubscription().subscriber;

let world: PipelineWorld;
let startedAt: number;

beforeEach(() => {
  world = pipelineWorld();
  startedAt = world.clock.now();
});

const subscribe = async (
  options: Subscription['options'] = {},
  policy: Parameters<typeof aBarePolicy>[0] = {},
): Promise<void> => {
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: { _retry_policy: aBarePolicy(policy), ...options } }),
  );
};

const publish = async (...ids: string[]): Promise<void> => {
  for (const id of ids) await world.dispatch({ ok: true, message: aMessage({ id }) });
};

const runFor = (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds);

const numbered = (count: number, name = 'm'): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

const pressure = async () =>
  (await world.subscriptions.findSubscription('orders', 'subscription-1'))?.pressure;

const deliveryOf = (messageId: string) => world.delivery('subscription-1', messageId);

/** Seconds from the start to each request. */
const requestedAt = (): number[] => world.subscriber.seen.map(({ at }) => (at - startedAt) / 1_000);

const events = () =>
  world.operatorEvents.published.filter(({ type }) => /slowed|resumed/.test(type)).map(({ type }) => type);

/** Opens the circuit by the failures of ten deliveries. */
const openCircuit = async (): Promise<void> => {
  world.subscriber.script(URL, [status(503, { takesMs: 20 })]);
  await publish(...numbered(10, 'down'));
  await runFor(500);
};

describe('a subscriber that throttles', () => {
  it('gets no request before the time that it asks for, and what waits spends no attempt', async () => {
    await subscribe();
    world.subscriber.script(URL, [status(429, { retryAfter: '20' }), status(200)]);
    await publish('first');
    await runFor(100);
    await publish('waiting');
    await runFor(10_000);

    expect(await deliveryOf('waiting')).toMatchObject({
      status: 'pending',
      attempts: [],
      slot: { at: startedAt + 20_000, reason: 'receiver_throttled' },
    });
    await world.clock.run();
    expect(requestedAt()).toEqual([0, 20]);
    expect((await deliveryOf('waiting')).status).toBe('delivered');
  });

  it.each([
    ['a 503 with Retry-After', status(503, { retryAfter: '20' }), 20],
    ['a 429 without Retry-After', status(429), 1],
    ['a 429 with a Retry-After beyond the cap', status(429, { retryAfter: '9999999999' }), 3_600],
  ])('is left alone after %s for its time', async (_, refusal, seconds) => {
    await subscribe();
    world.subscriber.script(URL, [refusal, status(200)]);
    await publish('first');
    await runFor(100);
    await publish('waiting');
    await world.clock.run();

    expect(requestedAt()).toEqual([0, seconds]);
  });

  it('is served at about its rate, and refuses few requests', async () => {
    await subscribe({}, { minimum_delay_retries: 5, retry_on_status: [429] });
    const taken: number[] = [];
    world.subscriber.onRequest = () => {
      const now = world.clock.now();
      const isTaken = taken.filter((at) => at > now - 1_000).length < 5;
      if (isTaken) taken.push(now);
      world.subscriber.script(URL, [isTaken ? status(200) : status(429, { retryAfter: '2' })]);
      return Promise.resolve();
    };
    for (let second = 0; second < 5; second += 1) {
      await publish(...numbered(30, `m-${second}`));
      await runFor(1_000);
    }
    await world.clock.run();

    expect(taken).toHaveLength(150);
    expect(world.subscriber.seen.length).toBeLessThan(300);
  });

  it('ends its rejected delivery as the policy says, and is retried if the subscription asks for that', async () => {
    await subscribe({}, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429)]);
    await publish('rejected');
    await runFor(100);
    expect((await deliveryOf('rejected')).status).toBe('rejected');

    world.settings.retryThrottled = true;
    world.subscriber.script(URL, [status(429), status(200)]);
    await publish('retried');
    await world.clock.run();
    expect(await deliveryOf('retried')).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed', statusCode: 429 }, { outcome: 'delivered' }],
    });
  });

  it('does not retry a 429 if the subscription says so, whatever the setting', async () => {
    world.settings.retryThrottled = true;
    await subscribe({ retry_throttled: false }, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429)]);
    await publish('rejected');
    await world.clock.run();

    expect((await deliveryOf('rejected')).status).toBe('rejected');
  });

  it('is reported once when it slows, and once when it has taken requests for ten minutes', async () => {
    await subscribe();
    world.subscriber.script(URL, [status(429, { takesMs: 20 }), status(429, { takesMs: 30 }), status(200)]);
    await publish(...numbered(20));
    await runFor(60_000);
    expect(events()).toEqual(['subscription.slowed']);
    expect((await pressure())?.ended).toBeUndefined();

    await runFor(15 * 60_000);
    await publish('later');
    await world.clock.run();
    expect(events()).toEqual(['subscription.slowed', 'subscription.resumed']);
    expect((await pressure())?.ended).toBe(true);
  });

  it('is called at once by a manual retry, and not by a recovery', async () => {
    await subscribe();
    world.subscriber.script(URL, [status(500), status(500), status(429, { retryAfter: '600' }), status(200)]);
    await publish('one', 'two', 'throttled');
    await runFor(1_000);
    const key = (messageId: string) => ({
      queue: 'orders',
      messageId,
      subscriptionId: 'subscription-1',
      bucket: 0,
    });
    await retryDelivery(world.byHandContext, key('one'));
    await reopenDelivery(world.byHandContext, key('two'), 'recovery-1');
    await runFor(2_000);

    expect((await deliveryOf('one')).status).toBe('delivered');
    expect(await deliveryOf('two')).toMatchObject({
      status: 'retrying',
      slot: { reason: 'receiver_throttled' },
    });
  });

  it('does not delay the other members of a chunk', async () => {
    await subscribe();
    const other = 'https://other.test/hook';
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'subscription-2', subscriber: other, options: { _retry_policy: aBarePolicy() } }),
    );
    world.subscriber.script(URL, [status(429, { retryAfter: '60' })]);
    await publish('first');
    await runFor(100);
    await publish('second');
    await runFor(1_000);

    expect((await world.delivery('subscription-2', 'second')).status).toBe('delivered');
    expect((await deliveryOf('second')).slot?.reason).toBe('receiver_throttled');
  });
});

describe('a subscriber that is down', () => {
  it('gets one probe at a time, while other deliveries wait without spending attempts', async () => {
    await subscribe({}, { minimum_delay_retries: 3, minimum_delay: 30 });
    await openCircuit();
    expect(await pressure()).toMatchObject({ reason: 'circuit_open' });
    await publish(...numbered(10, 'waiting'));
    await runFor(25_000);
    expect(world.subscriber.seen).toHaveLength(10);
    expect(await deliveryOf('waiting-9')).toMatchObject({ attempts: [], slot: { reason: 'circuit_open' } });

    await runFor(10_000);
    expect(world.subscriber.seen).toHaveLength(11);
  });

  it('gets everything in a ramp after a probe has succeeded', async () => {
    await subscribe({}, { minimum_delay_retries: 3, minimum_delay: 30 });
    await openCircuit();
    await publish(...numbered(40, 'waiting'));
    world.subscriber.script(URL, [status(200)]);
    await world.clock.run();

    const all = await Promise.all([...numbered(10, 'down'), ...numbered(40, 'waiting')].map(deliveryOf));
    expect(all.filter(({ status: of }) => of !== 'delivered')).toEqual([]);
    const [probe = 0, ...ramp] = requestedAt().slice(10);
    expect(probe).toBeGreaterThanOrEqual(30);
    expect(ramp.filter((at) => at < probe + 10).length).toBeLessThanOrEqual(12);
    expect(events()).toContain('subscription.slowed');
  });

  it.each([
    ['nine deliveries fail', 9, status(503)],
    ['they fail by 500', 12, status(500)],
  ])('is called as before if %s', async (_, count, reply) => {
    await subscribe();
    world.subscriber.script(URL, [reply]);
    await publish(...numbered(count));
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(count);
    expect(await pressure()).toBeUndefined();
  });

  it('is called as before if one delivery fails often', async () => {
    await subscribe({}, { retries_with_no_delay: 20 });
    world.subscriber.script(URL, [status(503)]);
    await publish('one');
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(21);
    expect(await pressure()).toBeUndefined();
  });

  it('stops the immediate retries that began before its circuit opened', async () => {
    await subscribe({}, { retries_with_no_delay: 3, minimum_delay_retries: 1, minimum_delay: 30 });
    await openCircuit();

    const all = await Promise.all(numbered(10, 'down').map(deliveryOf));
    expect(all.filter(({ slot }) => slot?.reason === 'circuit_open')).toHaveLength(9);
    expect(world.subscriber.seen.length).toBeLessThan(20);
  });
});

describe('a change of a subscription under pressure', () => {
  it.each([
    ['to another address', { subscriber: 'https://other.test/hook' }, 'https://other.test/hook'],
    ['that enables it', { disabled: null }, URL],
  ])('%s ends the pressure, and its waiting deliveries are sent within seconds', async (_, change, url) => {
    const limited = await limitedWorld();
    ({ world, startedAt } = limited);
    await limited.subscribe(50);
    world.subscriber.script(URL, [status(429, { retryAfter: '3000' }), status(200)]);
    await limited.publish(1);
    await runFor(100);
    await limited.publish(20, 1);
    await runFor(60_000);
    await limited.limitTo.change(change);
    await runFor(10_000);

    const { seen } = world.subscriber;
    expect(seen.slice(1).map(({ request }) => request.url)).toEqual(Array.from({ length: 20 }, () => url));
  });

  it('of its limit keeps the pressure', async () => {
    const limited = await limitedWorld();
    ({ world, startedAt } = limited);
    await limited.subscribe(1);
    world.subscriber.script(URL, [status(429, { retryAfter: '3000' }), status(200)]);
    await limited.publish(1);
    await runFor(100);
    await limited.publish(5, 1);
    await runFor(60_000);
    await limited.limitTo(50);
    await world.clock.run();

    expect(Math.min(...requestedAt().slice(1))).toBeGreaterThanOrEqual(3_000);
  });
});

describe('without back-pressure', () => {
  it('a healthy subscription causes no health write and reserves no slot', async () => {
    await subscribe();
    let calls = 0;
    world.subscriptions.changeHealth = () => Promise.reject(new Error(`call ${(calls += 1)}`));
    world.rateLimits.reserve = () => Promise.reject(new Error(`call ${(calls += 1)}`));
    await publish(...numbered(20));
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(20);
    expect(calls).toBe(0);
  });

  it('the setting turned off, every delivery follows its policy alone', async () => {
    await subscribe();
    world.subscriber.script(URL, [status(429, { retryAfter: '600' }), status(200)]);
    await publish('first');
    await runFor(100);
    world.settings.backPressure = false;
    await publish('second');
    await runFor(100);

    expect((await deliveryOf('second')).status).toBe('delivered');
  });
});
