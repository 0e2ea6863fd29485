import { beforeEach, describe, expect, it } from 'vitest';
import { pendingCounts } from '../../../functions/deliver/pressure.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { PaceSwitches } from '../../../shared/domain/subscription/switches.ts';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { limitedWorld } from '../../support/in-memory/limited-world.ts';
import { type PipelineWorld, pipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const BOTH_ON: PaceSwitches = { adaptToThrottling: true, holdWhileDown: true };

/** A queue with a subscriber that refuses requests, in any world of the pipeline. */
const pressedWorld = <World extends PipelineWorld>(world: World) => {
  Object.assign(world.settings, BOTH_ON);
  const startedAt = world.clock.now();
  return {
    world,
    startedAt,
    subscribe: async (
      options: SubscriptionOptions = {},
      policy: Parameters<typeof aBarePolicy>[0] = {},
    ): Promise<void> => {
      await world.subscriptions.putQueue(aQueue());
      await world.subscriptions.addSubscription(
        aSubscription({ options: { _retry_policy: aBarePolicy(policy), ...options } }),
      );
    },
    publish: async (...ids: string[]): Promise<void> => {
      for (const id of ids) await world.dispatch({ ok: true, message: aMessage({ id }) });
    },
    runFor: (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds),
    pressure: async () => (await world.subscriptions.findSubscription('orders', 'subscription-1'))?.pressure,
    deliveryOf: (messageId: string) => world.delivery('subscription-1', messageId),
    /** Seconds from the start to each request. */
    requestedAt: (): number[] => world.subscriber.seen.map(({ at }) => (at - startedAt) / 1_000),
    /** Types of the published events about back-pressure. */
    events: (): string[] =>
      world.operatorEvents.published
        .map(({ type }) => type)
        .filter((type) => type === 'subscription.slowed' || type === 'subscription.resumed'),
  };
};

type PressedWorld = ReturnType<typeof pressedWorld>;

/** Ids of messages. */
const numbered = (count: number, name = 'm'): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);

const URL = SUBSCRIBER_URL;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
let pressed: PressedWorld;
let world: PressedWorld['world'];

const use = (of: PressedWorld): void => {
  pressed = of;
  ({ world } = of);
};

beforeEach(() => {
  use(pressedWorld(pipelineWorld()));
});

/** Ten messages a second. */
const publishFor = async (seconds: number, name = 'm'): Promise<void> => {
  for (let second = 0; second < seconds; second += 1) {
    await pressed.publish(...numbered(10, `${name}-${second}`));
    await pressed.runFor(SECOND);
  }
};

const stateNow = async (): Promise<string | undefined> => (await pressed.pressure())?.state;

/** The subscriber answers so many requests in any second, and others with 429. Returns when it answered. */
const throttleTo = (perSecond: number): number[] => {
  const taken: number[] = [];
  world.subscriber.onRequest = () => {
    const now = world.clock.now();
    const isTaken = taken.filter((at) => at > now - SECOND).length < perSecond;
    if (isTaken) taken.push(now);
    world.subscriber.script(URL, [isTaken ? status(200) : status(429)]);
    return Promise.resolve();
  };
  return taken;
};

/** Until the common counts say that the subscriber is down. */
const holdDown = async (): Promise<void> => {
  world.subscriber.script(URL, [status(503, { takesMs: 20 })]);
  await publishFor(20, 'down');
  expect(await stateNow()).toBe('held');
};

const RETRIES = { minimum_delay_retries: 40, minimum_delay: 5, retry_on_status: [429] };

describe('a subscriber that throttles', () => {
  it('one refusal of which delays its own delivery, and no other', async () => {
    await pressed.subscribe({}, RETRIES);
    world.subscriber.script(URL, [status(429, { retryAfter: '20' }), status(200)]);
    await pressed.publish('refused');
    await pressed.runFor(100);
    await publishFor(10);
    await world.clock.run();

    expect(await pressed.deliveryOf('m-0-0')).toMatchObject({ status: 'delivered' });
    expect(Math.max(...pressed.requestedAt())).toBe(20);
    expect(pressed.events()).toEqual([]);
  });

  it('is slowed to what it answers, gets everything, and is reported once', async () => {
    await pressed.subscribe({}, RETRIES);
    const taken = throttleTo(4);
    await publishFor(60);
    expect(await stateNow()).toBe('slowed');
    const slot = (await pressed.deliveryOf('m-59-9')).slot;
    expect(slot).toMatchObject({ reason: 'receiver_throttled' });
    await world.clock.run();

    expect(taken).toHaveLength(600);
    expect(world.subscriber.seen.length).toBeLessThan(900);
    await pressed.runFor(10 * MINUTE);
    await pressed.publish('later');
    await world.clock.run();
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });

  it('is not slowed while it refuses few', async () => {
    await pressed.subscribe({}, RETRIES);
    let count = 0;
    world.subscriber.onRequest = () => {
      count += 1;
      world.subscriber.script(URL, [count % 20 === 0 ? status(429) : status(200)]);
      return Promise.resolve();
    };
    await publishFor(120);
    await pressed.runFor(10 * SECOND);

    expect(pressed.events()).toEqual([]);
    expect(world.subscriber.seen.length).toBeGreaterThanOrEqual(1_250);
  });

  it('is retried, although the policy does not list 429', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429), status(200)]);
    await pressed.publish('retried');
    await world.clock.run();
    expect(await pressed.deliveryOf('retried')).toMatchObject({
      status: 'delivered',
      attempts: [{ outcome: 'failed', result: answered(429) }, { outcome: 'delivered' }],
      policy: { retry_on_status: [429] },
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
});

describe('a subscriber that is down', () => {
  beforeEach(() => pressed.subscribe({}, { ...RETRIES, minimum_delay_retries: 10 }));

  it('gets one probe after the other, while other deliveries wait without spending attempts', async () => {
    await holdDown();
    await pressed.publish(...numbered(10, 'waiting'));
    await pressed.runFor(SECOND);
    const before = world.subscriber.seen.length;
    await pressed.runFor(MINUTE);

    expect(world.subscriber.seen.length - before).toBeGreaterThanOrEqual(3);
    expect(world.subscriber.seen.length - before).toBeLessThanOrEqual(4);
    expect(await pressed.deliveryOf('waiting-9')).toMatchObject({ slot: { reason: 'circuit_open' } });
    const waiting = await Promise.all(numbered(10, 'waiting').map(pressed.deliveryOf));
    expect(new Set(waiting.map(({ slot }) => slot?.at)).size).toBe(10);
  });

  it.each([
    ['200', status(200)],
    ['429', status(429)],
    ['503 with Retry-After', status(503, { retryAfter: '1' })],
  ])('gets everything within two minutes of its return, even if it first answers %s', async (_, first) => {
    await holdDown();
    for (const id of numbered(120, 'waiting')) {
      await pressed.publish(id);
      await pressed.runFor(MINUTE);
    }
    const [during, backAt] = [world.subscriber.seen.length, world.clock.now()];
    world.subscriber.script(URL, [first, status(200)]);
    await world.clock.run();

    const after = world.subscriber.seen.slice(during);
    expect(after.length).toBeGreaterThanOrEqual(120);
    expect(Math.max(...after.map(({ at }) => at)) - backAt).toBeLessThanOrEqual(2 * MINUTE);
    expect(pressed.events()[0]).toBe('subscription.slowed');
  });

  it('is well again within a minute for messages that come days after its last failure', async () => {
    await holdDown();
    await pressed.runFor(48 * 60 * MINUTE);
    world.subscriber.script(URL, [status(200)]);
    await pressed.publish(...numbered(50, 'later'));
    await pressed.runFor(MINUTE);

    const all = await Promise.all(numbered(50, 'later').map(pressed.deliveryOf));
    expect(all.filter(({ status: of }) => of !== 'delivered')).toEqual([]);
  });

  it('is called at once by a manual retry, and not by a recovery', async () => {
    world.subscriber.script(URL, [status(500, { takesMs: 20 })]);
    Object.assign(world.settings, { retentionMs: 30 * 24 * 60 * MINUTE });
    await pressed.publish('one', 'two');
    await pressed.runFor(2 * MINUTE);
    await holdDown();
    world.subscriber.script(URL, [status(200)]);
    const key = (messageId: string) => ({
      queue: 'orders',
      messageId,
      subscriptionId: 'subscription-1',
      bucket: 0,
    });
    await reopenDelivery(world.byHandContext, key('two'), 'recovery-1');
    await pressed.runFor(50);
    expect(await pressed.deliveryOf('two')).not.toMatchObject({ status: 'delivered' });
    await retryDelivery(world.byHandContext, key('one'));
    await pressed.runFor(SECOND);
    expect((await pressed.deliveryOf('one')).status).toBe('delivered');
  });

  it('for three of ten function instances is not held: all of them count', async () => {
    world.subscriber.script(URL, [status(200)]);
    const instances = Array.from({ length: 10 }, () => pendingCounts());
    for (let index = 0; index < 600; index += 1) {
      world.deliverContext.pendingCounts = instances[index % 10] ?? pendingCounts();
      world.subscriber.script(URL, [status(index % 10 < 3 ? 503 : 200)]);
      await pressed.publish(`m-${index}`);
      await pressed.runFor(100);
    }
    expect(await stateNow()).toBe('watched');
    expect(pressed.events()).toEqual([]);
  });

  it('at ten of fifty function instances, which its retries answer, is not held', async () => {
    await pressed.subscribe({}, { retries_with_no_delay: 1 });
    const instances = Array.from({ length: 50 }, () => pendingCounts());
    for (let index = 0; index < 400; index += 1) {
      world.deliverContext.pendingCounts = instances[index % 50] ?? pendingCounts();
      world.subscriber.script(URL, index < 10 ? [status(503), status(200)] : [status(200)]);
      await pressed.publish(`m-${index}`);
      await pressed.runFor(10);
    }
    await world.clock.run();
    const all = await Promise.all(numbered(400).map(pressed.deliveryOf));
    expect(all.filter(({ status: of }) => of !== 'delivered')).toEqual([]);
    expect(pressed.events()).toEqual([]);
    expect(world.subscriber.seen).toHaveLength(410);
  });

  it('for four hundred function instances is counted in one small item, by fifty writes a second at most', async () => {
    const writes = new Map<number, number>();
    const { countingWindows } = world;
    const add = countingWindows.add.bind(countingWindows);
    countingWindows.add = (...given) => {
      const second = Math.floor(world.clock.now() / SECOND);
      writes.set(second, (writes.get(second) ?? 0) + 1);
      return add(...given);
    };
    world.subscriber.script(URL, [status(503)]);
    const instances = Array.from({ length: 400 }, () => pendingCounts());
    for (let index = 0; index < 1_600; index += 1) {
      world.deliverContext.pendingCounts = instances[index % 400] ?? pendingCounts();
      await pressed.publish(`m-${index}`);
      await pressed.runFor(10);
    }
    expect(await stateNow()).toBe('held');
    expect(Math.max(...writes.values())).toBeLessThanOrEqual(50);
    const counted = await countingWindows.find({ queue: 'orders', subscriptionId: 'subscription-1' });
    expect(JSON.stringify(counted).length).toBeLessThan(1_000);
  });

  it('does not delay the other members of a chunk', async () => {
    const other = 'https://other.test/hook';
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'subscription-2', subscriber: other, options: { _retry_policy: aBarePolicy() } }),
    );
    await holdDown();
    await pressed.publish('second');
    await pressed.runFor(SECOND);

    expect((await world.delivery('subscription-2', 'second')).status).toBe('delivered');
  });
});

describe('a change of a subscription that is held', () => {
  it.each([
    [
      'to another address',
      { destination: parseDestination('https://other.test/hook') },
      'https://other.test/hook',
    ],
    ['that enables it', { disabled: null }, URL],
  ])('%s ends the pressure, and its waiting deliveries are sent within seconds', async (_, change, url) => {
    const limited = await limitedWorld();
    use(pressedWorld(limited.world));
    await limited.subscribe(50, aBarePolicy(RETRIES));
    await holdDown();
    await pressed.publish(...numbered(20, 'waiting'));
    await pressed.runFor(5 * MINUTE);
    const before = world.subscriber.seen.length;
    world.subscriber.script(URL, [status(200)]);
    await limited.limitTo.change(change);
    await pressed.runFor(15 * SECOND);

    const later = world.subscriber.seen.slice(before);
    expect(later.length).toBeGreaterThanOrEqual(200);
    expect(new Set(later.map(({ request }) => request.url))).toEqual(new Set([url]));
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });
});

describe('without back-pressure', () => {
  it('a healthy subscription causes no health write, no count and no slot', async () => {
    await pressed.subscribe();
    let calls = 0;
    const call = () => Promise.reject(new Error(`call ${(calls += 1)}`));
    world.subscriptions.changeHealth = call;
    world.rateLimits.reserve = call;
    Object.assign(world.countingWindows, { find: call, add: call });
    await pressed.publish(...numbered(20));
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(20);
    expect(calls).toBe(0);
  });

  it('a switch turned off ends an episode with the next request, and what waits moves up', async () => {
    await pressed.subscribe({}, RETRIES);
    await holdDown();
    await pressed.publish(...numbered(20, 'waiting'));
    await pressed.runFor(10 * MINUTE);
    world.subscriber.script(URL, [status(200)]);
    Object.assign(world.settings, { adaptToThrottling: false, holdWhileDown: false });
    await pressed.publish('next');
    await pressed.runFor(10 * SECOND);

    expect(await stateNow()).toBe('ended');
    expect((await pressed.deliveryOf('waiting-19')).status).toBe('delivered');
    expect(pressed.events()).toEqual(['subscription.slowed', 'subscription.resumed']);
  });
});

describe('without switches, what one delivery meets delays no other', () => {
  const OFF = { adaptToThrottling: false, holdWhileDown: false };

  beforeEach(() => {
    Object.assign(world.settings, OFF);
  });

  /** Seconds from the first request to each further one. */
  const retriedAfter = (messageId: string): number[] => {
    const { seen } = world.subscriber;
    const own = seen.filter(({ request }) => request.headers['webhook-id'] === messageId).map(({ at }) => at);
    return own.map((at) => Math.round((at - (own[0] ?? NaN)) / 100) / 10).slice(1);
  };

  it.each([
    ['503', status(503, { takesMs: 20 })],
    ['503 with Retry-After', status(503, { takesMs: 20, retryAfter: '3' })],
    ['429 that the policy retries', status(429, { takesMs: 20 })],
    ['no connection', { kind: 'unanswered', error: 'connection_refused' } as const],
  ])('100 deliveries to a subscriber that always answers %s follow their policy', async (_, reply) => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({}, policy);
    world.subscriber.script(URL, [reply]);
    const ids = numbered(100);
    await pressed.publish(...ids);
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(300);
    for (const id of ids) {
      expect(retriedAfter(id)).toEqual([expect.closeTo(5, 0), expect.closeTo(10, 0)]);
      expect(await pressed.deliveryOf(id)).toMatchObject({ status: 'exhausted' });
    }
    expect(await pressed.pressure()).toBeUndefined();
    expect(pressed.events()).toEqual([]);
  });

  it('a 429 is what the policy says: rejected, unless it is listed', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 1 });
    world.subscriber.script(URL, [status(429)]);
    await pressed.publish('rejected');
    await world.clock.run();
    expect((await pressed.deliveryOf('rejected')).status).toBe('rejected');
  });

  it('with adapt_to_throttling alone, an outage opens no circuit', async () => {
    await pressed.subscribe({ adapt_to_throttling: true }, { minimum_delay_retries: 2 });
    world.subscriber.script(URL, [status(503, { takesMs: 20 })]);
    await pressed.publish(...numbered(30));
    await world.clock.run();
    expect(world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, a 429 slows no other delivery', async () => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({ hold_while_down: true }, policy);
    world.subscriber.script(URL, [status(429, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await world.clock.run();
    expect(world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, 503 with Retry-After counts as an outage', async () => {
    await pressed.subscribe({ hold_while_down: true }, { minimum_delay_retries: 20, minimum_delay: 5 });
    world.subscriber.script(URL, [status(503, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await pressed.runFor(60_000);
    expect(await pressed.pressure()).toMatchObject({ state: 'held' });
  });
});
