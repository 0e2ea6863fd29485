import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/by-hand.ts';
import { deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: LimitedWorld['world'];
let startedAt: LimitedWorld['startedAt'];
let subscribe: LimitedWorld['subscribe'];
let publish: LimitedWorld['publish'];
let requestedAt: LimitedWorld['requestedAt'];
let latenesses: LimitedWorld['latenesses'];
let deliveryOf: LimitedWorld['deliveryOf'];

beforeEach(async () => {
  ({ world, startedAt, subscribe, publish, requestedAt, latenesses, deliveryOf } = await limitedWorld());
});

describe('a subscription with max_per_second', () => {
  it('gets a burst one request after the other', async () => {
    await subscribe(2);
    await publish(7);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3]);
  });

  it('gets one that comes by itself at once, and no write more than without a limit but for its slot', async () => {
    await subscribe(1);
    await publish(1);
    await world.clock.run();

    expect(requestedAt()).toEqual([0]);
    expect((await deliveryOf('m0')).next).toBeUndefined();
  });

  it('is spared retries as well: every request takes a slot, those made at once too', async () => {
    await subscribe(1, aBarePolicy({ retries_with_no_delay: 3 }));
    world.subscriber.script(aSubscription().subscriber, [status(500), status(500), status(500), status(200)]);
    await publish(1);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 1.05, 2.1, 3.15]);
    expect((await deliveryOf('m0')).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'immediate',
      'immediate',
    ]);
  });

  it('has what waits for it on record: no attempt spent, no lease held, its message kept', async () => {
    await subscribe(0.1);
    await publish(3);
    await world.clock.run(startedAt + 5_000);

    const waiting = await deliveryOf('m2');
    expect(waiting).toMatchObject({
      status: 'pending',
      attempts: [],
      lost: 0,
      next: { number: 1, phase: 'initial' },
    });
    expect(waiting.lease).toBeUndefined();
    expect((await world.messageRecords.find(waiting.key))?.body).toBeDefined();
    expect(deliveryView(waiting)).toMatchObject({
      nextAttemptAt: new Date(startedAt + 21_000).toISOString(),
      nextAttempt: { waitsFor: 'rate_limit', dueAt: new Date(startedAt + 21_000).toISOString() },
    });

    await world.clock.run();
    expect(requestedAt()).toEqual([0, 10.5, 21]);
    expect(await deliveryOf('m2')).toMatchObject({ status: 'delivered', slot: undefined, next: undefined });
  });

  it('goes on at its limit after nothing was handed out for a while, not in a burst', async () => {
    await subscribe(2);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    const held: (() => Promise<void>)[] = [];
    world.wakeUps.sendDelayed = (wakeUp) => {
      held.push(() => send(wakeUp, 0));
      return Promise.resolve();
    };
    await publish(8);
    await world.clock.run(startedAt + 60_000);
    world.wakeUps.sendDelayed = send;
    const before = requestedAt().length;
    for (const wake of held) await wake();
    await world.clock.run();

    const gaps = requestedAt()
      .slice(before)
      .map((at, index, all) => at - (all[index - 1] ?? at));
    expect(requestedAt()).toHaveLength(8);
    expect(gaps.slice(1).every((gap) => gap >= 0.5)).toBe(true);
  });

  it('stands in another line once its limit is another one: new messages at once, what waits when its old slot comes', async () => {
    await subscribe(0.01);
    await publish(4);
    await world.clock.run(startedAt + 1_000);
    const target = { queue: 'orders', subscriptionId: 'subscription-1', now: world.clock.now() };
    await world.subscriptions.changeSubscription(target, (current) => ({
      ...current,
      options: { ...current.options, max_per_second: 10 },
    }));
    await publish(2, 4);
    await world.clock.run();

    const [first, ...others] = requestedAt();
    expect([first, ...others.slice(0, 2)]).toEqual([0, 1, 1.1]);
    expect(others.slice(2).map(Math.round)).toEqual([99, 199, 299]);
  });

  it('is asked again a little later where its line cannot be had: no receive fails, nothing counts as lost', async () => {
    await subscribe(10);
    const reserve = world.rateLimits.reserve.bind(world.rateLimits);
    world.rateLimits.reserve = () => Promise.reject(new Error('throttled'));
    await publish(1);
    await world.clock.run(startedAt + 3_000);
    expect(await deliveryOf('m0')).toMatchObject({ status: 'pending', attempts: [], lease: undefined });
    expect(world.journal.facts).toContainEqual(expect.objectContaining({ fact: 'slot_unreserved' }));
    world.rateLimits.reserve = reserve;
    await world.clock.run();

    expect(requestedAt()).toEqual([4.25]);
    expect((await deliveryOf('m0')).attempts[0]?.lost).toBeUndefined();
  });

  it('keeps its place in the line where somebody asks for it now', async () => {
    await subscribe(0.1);
    await publish(2);
    await world.clock.run(startedAt + 2_000);
    const result = await retryDelivery(world.byHandContext, (await deliveryOf('m1')).key);
    expect(result.kind).toBe('retried');
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 10.5]);
    expect((await deliveryOf('m1')).attempts).toMatchObject([{ number: 1, phase: 'manual' }]);
  });

  it('does not get what waits for it once it is disabled, which is recovered later', async () => {
    await subscribe(0.1);
    await publish(2);
    await world.clock.run(startedAt + 2_000);
    await world.subscriptions.disable('orders', 'subscription-1', {
      reason: 'manual',
      at: world.clock.now(),
    });
    await world.clock.run();

    expect(requestedAt()).toEqual([0]);
    expect(await deliveryOf('m1')).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect((await world.messageRecords.find((await deliveryOf('m1')).key))?.body).toBeDefined();
  });

  it('is not late by its own line: what is told of lateness counts from the slot', async () => {
    await subscribe(0.1);
    await publish(3);
    await world.clock.run();

    expect(latenesses()).toEqual([0, 0, 0]);
  });
});

describe('where the functions have no time for it', () => {
  it('a job that comes again does not spend another slot, nor wait for one itself', async () => {
    await subscribe(0.1);
    await publish(2);
    const jobs = world.deliveryJobs;
    await world.clock.run(startedAt + 1_000);
    expect(jobs.waiting).toBe(0);
    await publish(2);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 10.5]);
  });
});
