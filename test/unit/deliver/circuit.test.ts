import { beforeEach, describe, expect, it } from 'vitest';
import { resultMemory } from '../../../functions/deliver/pressure.ts';
import { aSubscription } from '../../support/builders.ts';
import { newPressedWorld, numbered, type PressedWorld } from '../../support/in-memory/pressed-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = aSubscription().subscriber;

let pressed: PressedWorld;
let world: PressedWorld['world'];

beforeEach(() => {
  pressed = newPressedWorld();
  ({ world } = pressed);
});

/** Opens the circuit by the failures of ten deliveries. */
const openCircuit = async (): Promise<void> => {
  world.subscriber.script(URL, [status(503, { takesMs: 20 })]);
  await pressed.publish(...numbered(10, 'down'));
  await pressed.runFor(500);
};

describe('a subscriber that is down', () => {
  it('gets one probe at a time, while other deliveries wait without spending attempts', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 3, minimum_delay: 30 });
    await openCircuit();
    expect(await pressed.pressure()).toMatchObject({ reason: 'circuit_open' });
    await pressed.publish(...numbered(10, 'waiting'));
    await pressed.runFor(25_000);
    expect(world.subscriber.seen).toHaveLength(10);
    expect(await pressed.deliveryOf('waiting-9')).toMatchObject({
      attempts: [],
      slot: { reason: 'circuit_open' },
    });
    const waiting = await Promise.all(numbered(10, 'waiting').map(pressed.deliveryOf));
    expect(new Set(waiting.map(({ slot }) => slot?.at)).size).toBe(10);

    await pressed.runFor(10_000);
    expect(world.subscriber.seen).toHaveLength(11);
  });

  it('gets everything in a ramp after a probe has succeeded', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 3, minimum_delay: 30 });
    await openCircuit();
    await pressed.publish(...numbered(40, 'waiting'));
    world.subscriber.script(URL, [status(200)]);
    await world.clock.run();

    const all = await Promise.all(
      [...numbered(10, 'down'), ...numbered(40, 'waiting')].map(pressed.deliveryOf),
    );
    expect(all.filter(({ status: of }) => of !== 'delivered')).toEqual([]);
    const [probe = 0, ...ramp] = pressed.requestedAt().slice(10);
    expect(probe).toBeGreaterThanOrEqual(30);
    expect(ramp.filter((at) => at < probe + 4).length).toBeLessThanOrEqual(12);
    expect(pressed.events()).toContain('subscription.slowed');
  });

  it.each([
    ['200', status(200)],
    ['429', status(429)],
    ['503 with Retry-After', status(503, { retryAfter: '1' })],
  ])('gets everything within two minutes of its first answer, even of %s', async (_, first) => {
    await pressed.subscribe({}, { minimum_delay_retries: 30, minimum_delay: 60 });
    await openCircuit();
    for (const id of numbered(120, 'waiting')) {
      await pressed.publish(id);
      await pressed.runFor(60_000);
    }
    const during = world.subscriber.seen.length;
    world.subscriber.script(URL, [first, status(200)]);
    await world.clock.run();

    const [probe = 0, ...others] = pressed.requestedAt().slice(during);
    expect(others.length).toBeGreaterThanOrEqual(120);
    expect(Math.max(...others) - probe).toBeLessThanOrEqual(120);
  });

  it.each([
    ['opens its circuit again after three failures in a row', [status(503)], [status(200), status(503)], 3],
    [
      'keeps its ramp after four failures and a success',
      [status(503)],
      [status(200), status(503), status(200), status(503)],
      5,
    ],
    ['keeps its pace after five failures if it only throttled before', [status(429)], [status(503)], 5],
  ] as const)('%s', async (_, before, then, count) => {
    await pressed.subscribe();
    world.subscriber.script(URL, [...before]);
    await pressed.publish(...numbered(10, 'before'));
    await pressed.runFor(5_000);
    world.subscriber.script(URL, [...then]);
    await pressed.publish('first');
    await pressed.runFor(100);
    await pressed.publish(...numbered(count));
    await pressed.runFor(9_000);

    expect((await pressed.deliveryOf(`m-${count - 1}`)).attempts).toHaveLength(1);
    expect((await pressed.pressure())?.perSecond === undefined).toBe(count === 3);
  });

  it('gets what waited during a long outage within a minute of its first success', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 30, minimum_delay: 60 });
    await openCircuit();
    for (const id of numbered(120, 'waiting')) {
      await pressed.publish(id);
      await pressed.runFor(60_000);
    }
    const duringOutage = world.subscriber.seen.length;
    world.subscriber.script(URL, [status(200)]);
    await world.clock.run();

    const [first = 0, ...others] = pressed.requestedAt().slice(duringOutage);
    expect(others).toHaveLength(129);
    expect(Math.max(...others) - first).toBeLessThan(60);
  });

  it('is well again within a minute for messages that come days after its last failure', async () => {
    await pressed.subscribe();
    await openCircuit();
    await pressed.runFor(48 * 3_600_000);
    world.subscriber.script(URL, [status(200)]);
    await pressed.publish(...numbered(50, 'later'));
    await pressed.runFor(60_000);

    const all = await Promise.all(numbered(50, 'later').map(pressed.deliveryOf));
    expect(all.filter(({ status: of }) => of !== 'delivered')).toEqual([]);
  });

  it('has failed a probe that finds no name, too', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 3, minimum_delay: 30 });
    await openCircuit();
    world.subscriber.script(URL, [{ kind: 'unanswered', error: 'dns_failed' }]);
    await pressed.runFor(45_000);

    expect(world.subscriber.seen).toHaveLength(11);
    const [probedAt = 0] = pressed.requestedAt().slice(10);
    const nextAt = pressed.startedAt + (probedAt + 30) * 1_000;
    expect((await pressed.pressure())?.opensAt).toBeGreaterThanOrEqual(nextAt);
  });

  it('that recovers at once is not held, though ten of fifty function instances saw its failure', async () => {
    const memories = Array.from({ length: 50 }, resultMemory);
    await pressed.subscribe({}, { retries_with_no_delay: 1 });
    for (const [index, id] of numbered(400).entries()) {
      world.deliverContext.recentResults = memories[index % 50] ?? expect.fail();
      const good = status(200, { takesMs: 5 });
      world.subscriber.script(URL, index < 10 ? [status(503, { takesMs: 5 }), good] : [good]);
      await pressed.publish(id);
      await pressed.runFor(50);
    }
    expect(await pressed.pressure()).toBeUndefined();
    expect(world.subscriber.seen).toHaveLength(410);
  });

  it('is called as before if one of six function instances had a success before its failure', async () => {
    await pressed.subscribe();
    for (const [index, id] of numbered(12).entries()) {
      if (index % 2 === 0) world.deliverContext.recentResults = resultMemory();
      world.subscriber.script(URL, [status(index === 4 ? 200 : 503)]);
      await pressed.publish(id);
      await pressed.runFor(100);
    }
    expect(await pressed.pressure()).toBeUndefined();
  });

  it.each([
    ['nine deliveries fail', 9, status(503)],
    ['they fail by 500', 12, status(500)],
  ])('is called as before if %s', async (_, count, reply) => {
    await pressed.subscribe();
    world.subscriber.script(URL, [reply]);
    await pressed.publish(...numbered(count));
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(count);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('is called as before if one delivery fails often', async () => {
    await pressed.subscribe({}, { retries_with_no_delay: 20 });
    world.subscriber.script(URL, [status(503)]);
    await pressed.publish('one');
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(21);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('stops the immediate retries that began before its circuit opened', async () => {
    await pressed.subscribe({}, { retries_with_no_delay: 3, minimum_delay_retries: 1, minimum_delay: 30 });
    await openCircuit();

    const all = await Promise.all(numbered(10, 'down').map(pressed.deliveryOf));
    expect(all.filter(({ slot }) => slot?.reason === 'circuit_open')).toHaveLength(9);
    expect(world.subscriber.seen.length).toBeLessThan(20);
  });
});
