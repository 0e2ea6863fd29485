import { beforeEach, describe, expect, it, vi } from 'vitest';
import { pendingCounts } from '../../../functions/deliver/pressure.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import {
  numbered,
  oneSubscriberWorld,
  type OneSubscriberWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RETRIES = { minimum_delay_retries: 40, minimum_delay: 5, retry_on_status: [429] };
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
  Object.assign(world.settings, { adaptToThrottling: true, holdWhileDown: true });
});

const publishFor = async (seconds: number, name = 'm', perSecond = 10): Promise<void> => {
  for (let second = 0; second < seconds; second += 1) {
    await world.publish(...numbered(perSecond, { name: `${name}-${second}` }));
    await world.runFor(SECOND);
  }
};

const pressure = async () => (await world.subscription()).pressure?.state;

const pressureEvents = (): string[] =>
  world.events().filter((type) => type === 'subscription.slowed' || type === 'subscription.resumed');

const undelivered = async (ids: readonly string[]) =>
  (await Promise.all(ids.map(world.deliveryOf))).filter((delivery) => delivery.status !== 'delivered');

/** The subscriber answers so many requests in any second, and others with 429. Returns when it answered. */
const throttleTo = (perSecond: number): number[] => {
  const taken: number[] = [];
  world.subscriber.onRequest = () => {
    const now = world.clock.now();
    const isTaken = taken.filter((at) => at > now - SECOND).length < perSecond;
    if (isTaken) taken.push(now);
    world.subscriber.script(world.url, [isTaken ? status(200) : status(429)]);
    return Promise.resolve();
  };
  return taken;
};

/** Until the common counts say that the subscriber is down. */
const holdDown = async (): Promise<void> => {
  world.subscriber.script(world.url, [status(503, { takesMs: 20 })]);
  await publishFor(20, 'down', 4);
  expect(await pressure()).toBe('held');
};

describe('a subscriber that throttles', () => {
  it('one refusal of which delays its own delivery, and no other', async () => {
    await world.subscribe(RETRIES);
    world.subscriber.script(world.url, [status(429, { retryAfter: '20' }), status(200)]);
    await world.publish('refused');
    await world.runFor(100);
    await publishFor(10);
    await world.clock.run();

    expect(await world.deliveryOf('m-0-0')).toMatchObject({ status: 'delivered' });
    expect(Math.max(...world.requestedAt())).toBe(20);
    expect(pressureEvents()).toEqual([]);
  });

  it('is slowed to what it answers, gets everything, and is reported once', async () => {
    await world.subscribe(RETRIES);
    const taken = throttleTo(4);
    await publishFor(60);
    expect(await pressure()).toBe('slowed');
    expect((await world.deliveryOf('m-59-9')).slot).toMatchObject({ reason: 'receiver_throttled' });
    await world.clock.run();

    expect(taken).toHaveLength(600);
    expect(world.subscriber.seen.length).toBeLessThan(900);
    await world.runFor(10 * MINUTE);
    await world.deliver('later');
    expect(pressureEvents()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });

  it('is retried, although the policy does not list 429', async () => {
    await world.subscribe({ minimum_delay_retries: 1 });
    world.subscriber.script(world.url, [status(429), status(200)]);
    await world.deliver();
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed', result: answered(429) }, { outcome: 'delivered' }],
      policy: { retry_on_status: [429] },
    });
  });

  const OFF = { retry_throttled: false, adapt_to_throttling: false };

  it.each([
    ['the subscription says so, although the deployment does not', true, OFF],
    ['the deployment says so', false, {}],
  ])('is not retried after a 429 if %s', async (_, isOn, options) => {
    Object.assign(world.settings, { retryThrottled: isOn, adaptToThrottling: isOn });
    await world.subscribe({ minimum_delay_retries: 1 }, { options });
    world.subscriber.script(world.url, [status(429)]);
    await world.deliver();

    expect((await world.delivery()).status).toBe('rejected');
  });
});

describe('a subscriber that is down', () => {
  const waiting = (count: number) => numbered(count, { name: 'waiting' });

  beforeEach(() => world.subscribe({ ...RETRIES, minimum_delay_retries: 10 }));

  it('gets one probe after the other, while other deliveries wait without spending attempts', async () => {
    await holdDown();
    await world.publish(...waiting(10));
    await world.runFor(SECOND);
    const before = world.subscriber.seen.length;
    await world.runFor(MINUTE);

    expect(world.subscriber.seen.length - before).toBeGreaterThanOrEqual(3);
    expect(world.subscriber.seen.length - before).toBeLessThanOrEqual(4);
    expect(await world.deliveryOf('waiting-9')).toMatchObject({ slot: { reason: 'circuit_open' } });
    const deliveries = await Promise.all(waiting(10).map(world.deliveryOf));
    expect(new Set(deliveries.map(({ slot }) => slot?.at)).size).toBe(10);
  });

  it('gets everything within two minutes of its return, even if it first asks for a pause', async () => {
    await holdDown();
    for (const id of waiting(120)) {
      await world.publish(id);
      await world.runFor(MINUTE);
    }
    const [during, backAt] = [world.subscriber.seen.length, world.clock.now()];
    world.subscriber.script(world.url, [status(503, { retryAfter: '1' }), status(200)]);
    await world.clock.run();

    const after = world.subscriber.seen.slice(during);
    expect(after.length).toBeGreaterThanOrEqual(80);
    expect(Math.max(...after.map(({ at }) => at)) - backAt).toBeLessThanOrEqual(2 * MINUTE);
    expect(pressureEvents()[0]).toBe('subscription.slowed');
  });

  it('is well again within a minute for messages that come more than a day after its last failure', async () => {
    await holdDown();
    await world.runFor(25 * 60 * MINUTE);
    world.subscriber.script(world.url, [status(200)]);
    await world.publish(...waiting(50));
    await world.runFor(MINUTE);

    expect(await undelivered(waiting(50))).toEqual([]);
  });

  it('is called at once by a manual retry, and not by a recovery', async () => {
    world.subscriber.script(world.url, [status(500, { takesMs: 20 })]);
    await world.publish('one', 'two');
    await world.runFor(2 * MINUTE);
    await holdDown();
    world.subscriber.script(world.url, [status(200)]);
    await reopenDelivery(world.byHandContext, { ...world.key, messageId: 'two' }, 'recovery-1');
    await world.runFor(50);
    expect((await world.deliveryOf('two')).status).not.toBe('delivered');
    await retryDelivery(world.byHandContext, { ...world.key, messageId: 'one' });
    await world.runFor(SECOND);
    expect((await world.deliveryOf('one')).status).toBe('delivered');
  });

  it('for four hundred function instances is counted in one small item, by fifty writes a second at most', async () => {
    const add = vi.spyOn(world.countingWindows, 'add');
    world.subscriber.script(world.url, [status(503)]);
    const instances = Array.from({ length: 400 }, () => pendingCounts());
    for (let second = 0; second < 16; second += 1) {
      const before = add.mock.calls.length;
      for (const [index, id] of numbered(100, { from: 100 * second }).entries()) {
        world.deliverContext.pendingCounts = instances[100 * (second % 4) + index] ?? pendingCounts();
        await world.publish(id);
        await world.runFor(10);
      }
      expect(add.mock.calls.length - before).toBeLessThanOrEqual(50);
    }
    expect(await pressure()).toBe('held');
    const counted = await world.countingWindows.find(world.name);
    expect(JSON.stringify(counted).length).toBeLessThan(1_000);
  });

  it('does not delay the other members of a chunk', async () => {
    const other = 'https://other.test/hook';
    await addSubscription(
      world.subscriptions,
      aSubscription({ id: 'subscription-2', subscriber: other, options: { _retry_policy: aBarePolicy() } }),
    );
    await holdDown();
    await world.publish('second');
    await world.runFor(SECOND);

    expect((await world.delivery('subscription-2', 'second')).status).toBe('delivered');
  });

  it.each([
    ['moves to another address', { destination: parseDestination('https://other.test/hook') }],
    ['is enabled', { disabled: null }],
  ])(
    'gets what waits within seconds when its subscription %s, which ends the pressure',
    async (_, change) => {
      await world.update({ options: { _retry_policy: aBarePolicy(RETRIES), max_per_second: 50 } });
      await holdDown();
      await world.publish(...waiting(20));
      await world.runFor(5 * MINUTE);
      const before = world.subscriber.seen.length;
      world.subscriber.script(world.url, [status(200)]);
      await world.update(change);
      await world.runFor(15 * SECOND);

      const urls = world.subscriber.seen.slice(before).map(({ request }) => request.url);
      expect(urls.length).toBeGreaterThanOrEqual(80);
      expect(new Set(urls)).toEqual(
        new Set(['destination' in change ? 'https://other.test/hook' : world.url]),
      );
      expect(pressureEvents()).toEqual(['subscription.slowed', 'subscription.resumed']);
    },
  );

  it('gets what waits with the next request after the switches are turned off', async () => {
    await holdDown();
    await world.publish(...waiting(20));
    await world.runFor(10 * MINUTE);
    world.subscriber.script(world.url, [status(200)]);
    Object.assign(world.settings, { adaptToThrottling: false, holdWhileDown: false });
    await world.publish('next');
    await world.runFor(10 * SECOND);

    expect(await pressure()).toBe('ended');
    expect(await undelivered(['waiting-19'])).toEqual([]);
    expect(pressureEvents()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });
});

it('a healthy subscription causes no health write, no count and no slot', async () => {
  await world.subscribe();
  const calls = [
    vi.spyOn(world.subscriptions, 'changeHealth'),
    vi.spyOn(world.rateLimits, 'reserve'),
    vi.spyOn(world.countingWindows, 'find'),
    vi.spyOn(world.countingWindows, 'add'),
  ];
  await world.deliver(...numbered(20));

  expect(world.subscriber.seen).toHaveLength(20);
  for (const call of calls) expect(call).not.toHaveBeenCalled();
});

describe('without switches, what one delivery meets delays no other', () => {
  beforeEach(() => {
    Object.assign(world.settings, { adaptToThrottling: false, holdWhileDown: false });
  });

  it.each([
    ['503', status(503, { takesMs: 20 })],
    ['503 with Retry-After', status(503, { takesMs: 20, retryAfter: '3' })],
    ['429 that the policy retries', status(429, { takesMs: 20 })],
    ['no connection', { kind: 'unanswered', error: 'connection_refused' } as const],
  ])('100 deliveries to a subscriber that always answers %s follow their policy', async (_, reply) => {
    await world.subscribe({ minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] });
    world.subscriber.script(world.url, [reply]);
    const ids = numbered(100);
    await world.deliver(...ids);

    expect(world.subscriber.seen).toHaveLength(300);
    for (const id of ids) {
      const delivery = await world.deliveryOf(id);
      const times = delivery.attempts.map(({ startedAt }) => (startedAt - world.startedAt) / SECOND);
      expect(times).toEqual([0, expect.closeTo(5, 0), expect.closeTo(10, 0)]);
      expect(delivery.status).toBe('exhausted');
    }
    expect(await pressure()).toBeUndefined();
    expect(pressureEvents()).toEqual([]);
  });

  it.each([
    ['adapt_to_throttling alone, an outage opens no circuit', { adapt_to_throttling: true }, 503, undefined],
    ['hold_while_down alone, a 429 slows no other delivery', { hold_while_down: true }, 429, undefined],
    ['hold_while_down alone, 503 with Retry-After is an outage', { hold_while_down: true }, 503, 'held'],
  ])('with %s', async (_, options, code, state) => {
    const retries = { minimum_delay_retries: state === undefined ? 2 : 20, minimum_delay: 5 };
    await world.subscribe({ ...retries, retry_on_status: [429] }, { options });
    const pause = code === 429 || state === 'held' ? { retryAfter: '1' } : {};
    world.subscriber.script(world.url, [status(code, { takesMs: 20, ...pause })]);
    await world.publish(...numbered(30));
    await world.runFor(MINUTE);

    expect(await pressure()).toBe(state);
    if (state === undefined) expect(world.subscriber.seen).toHaveLength(90);
  });
});
