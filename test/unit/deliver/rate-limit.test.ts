import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aMessage, SUBSCRIBER_URL } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld, mostInTenSeconds } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: LimitedWorld['world'];
let startedAt: LimitedWorld['startedAt'];
let subscribe: LimitedWorld['subscribe'];
let publish: LimitedWorld['publish'];
let requestedAt: LimitedWorld['requestedAt'];
let latenesses: LimitedWorld['latenesses'];
let deliveryOf: LimitedWorld['deliveryOf'];
let limitTo: LimitedWorld['limitTo'];
let cancel: LimitedWorld['cancel'];

beforeEach(async () => {
  ({ world, startedAt, subscribe, publish, requestedAt, latenesses, deliveryOf, limitTo, cancel } =
    await limitedWorld());
});

describe('a subscription with max_per_second', () => {
  it('receives a burst one request at a time', async () => {
    await subscribe(2);
    await publish(7);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3]);
  });

  it('receives a single message at once, without an extra delivery write', async () => {
    await subscribe(1);
    await publish(1);
    await world.clock.run();

    expect(requestedAt()).toEqual([0]);
    expect((await deliveryOf('m0')).next).toBeUndefined();
  });

  it('receives retries within the limit too: every request takes a slot, even an immediate retry', async () => {
    await subscribe(1, aBarePolicy({ retries_with_no_delay: 3 }));
    world.subscriber.script(SUBSCRIBER_URL, [status(500), status(500), status(500), status(200)]);
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

  it('has its waiting deliveries on record without attempt or lease, and with the message stored', async () => {
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
      nextAttempt: { waiting: 'rate_limited', dueAt: new Date(startedAt + 21_000).toISOString() },
    });

    await world.clock.run();
    expect(requestedAt()).toEqual([0, 10.5, 21]);
    const delivered = await deliveryOf('m2');
    expect([delivered.status, delivered.next, delivered.slot]).toEqual(['delivered', undefined, undefined]);
  });

  it('receives requests at its limit after the queue stalled, not in a burst', async () => {
    await subscribe(2);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    const delayedWakeUps: (() => Promise<void>)[] = [];
    world.wakeUps.sendDelayed = (wakeUp) => {
      delayedWakeUps.push(() => send(wakeUp, 0));
      return Promise.resolve();
    };
    await publish(8);
    await world.clock.run(startedAt + 60_000);
    world.wakeUps.sendDelayed = send;
    const before = requestedAt().length;
    for (const wake of delayedWakeUps) await wake();
    await world.clock.run();

    const gaps = requestedAt()
      .slice(before)
      .map((at, index, all) => at - (all[index - 1] ?? at));
    expect(requestedAt()).toHaveLength(8);
    expect(gaps.slice(1).every((gap) => gap >= 0.5)).toBe(true);
  });

  it('receives new messages under a changed limit at once, and waiting ones at their old slots', async () => {
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

  it('is called later if no slot can be reserved, without a failed receive or a lost attempt', async () => {
    await subscribe(10);
    const reserve = world.rateLimits.reserve.bind(world.rateLimits);
    world.rateLimits.reserve = () => Promise.reject(new Error('throttled'));
    await publish(1);
    await world.clock.run(startedAt + 3_000);
    expect(await deliveryOf('m0')).toMatchObject({ status: 'pending', attempts: [], lease: undefined });
    expect(world.journal.facts).toContainEqual(expect.objectContaining({ fact: 'slot_not_reserved' }));
    world.rateLimits.reserve = reserve;
    await world.clock.run();

    expect(requestedAt()).toEqual([4.25]);
    expect((await deliveryOf('m0')).attempts[0]?.lost).toBeUndefined();
  });

  it('is called at the reserved slot even after a manual retry', async () => {
    await subscribe(0.1);
    await publish(2);
    await world.clock.run(startedAt + 2_000);
    const result = await retryDelivery(world.byHandContext, (await deliveryOf('m1')).key);
    expect(result.kind).toBe('retried');
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 10.5]);
    expect((await deliveryOf('m1')).attempts).toMatchObject([{ number: 1, phase: 'manual' }]);
  });

  it('receives no waiting delivery after it is disabled; they can be recovered', async () => {
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

  it('has lateness counted from the slot', async () => {
    await subscribe(0.1);
    await publish(3);
    await world.clock.run();

    expect(latenesses()).toEqual([0, 0, 0]);
  });
});

describe('a rate-limited job', () => {
  it('that is redelivered reserves no second slot and does not wait in the invocation', async () => {
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

describe('the deliveries of a subscription with max_per_second', () => {
  it.each([
    ['three seconds', [3]],
    ['a varying time', [0, 6, 2, 9, 4]],
  ])('are all sent although the retry queue lags by %s, without missing slot after slot', async (_, lags) => {
    await subscribe(2);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    let sent = 0;
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => {
      sent += 1;
      return send(wakeUp, delaySeconds + (lags[sent % lags.length] ?? 0));
    };
    await publish(40);
    await world.clock.run(startedAt + 180_000);

    expect(requestedAt()).toHaveLength(40);
  });

  it('use SQS for a near slot, regardless of the Scheduler threshold for retries', async () => {
    world.settings.schedulerThresholdSeconds = 0;
    await subscribe(0.02);
    await publish(3);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 50, 100]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.key.messageId)).toEqual(['m2']);
  });

  it('never shorten the lifetime of a record, which would cost the claim a second write', async () => {
    await subscribe(0.1);
    const { deliveries } = world;
    const write = deliveries.write.bind(deliveries);
    const shortened: string[] = [];
    deliveries.write = async (transition) => {
      const before = await deliveries.find(transition.key);
      if ('change' in transition && (transition.change.expiresAt ?? Infinity) < (before?.expiresAt ?? 0))
        shortened.push(transition.name);
      return write(transition);
    };
    await publish(3);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 10.5, 21]);
    expect(shortened).toEqual([]);
  });

  it('are not delayed by messages that expire before their slot', async () => {
    await subscribe(1);
    for (let index = 0; index < 300; index += 1)
      await world.dispatch({
        ok: true,
        message: aMessage({ id: `short-${index}`, expiresAt: startedAt + 30_000 }),
      });
    await world.clock.run(startedAt + 40_000);
    expect(await deliveryOf('short-299')).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
    await publish(1);
    await world.clock.run();

    expect(requestedAt().at(-1)).toBe(40);
  });

  it('respect the limit after it was changed and restored: the old slots are void', async () => {
    await subscribe(1);
    await publish(60);
    await world.clock.run(startedAt + 5_000);
    await limitTo(0.5);
    await publish(1, 60);
    await world.clock.run(startedAt + 8_000);
    await limitTo(1);
    await publish(60, 61);
    await world.clock.run();

    expect(mostInTenSeconds(requestedAt().filter((at) => at > 10))).toBeLessThanOrEqual(10);
    expect(requestedAt()).toHaveLength(121);
  });

  it('keep the schedule of the slot on a manual retry, because Scheduler may remember deleted names', async () => {
    await subscribe(0.01);
    await publish(3);
    await world.clock.run(startedAt + 2_000);
    const [, last] = world.schedules;
    const removed: string[] = [];
    const unschedule = world.wakeUps.unschedule.bind(world.wakeUps);
    world.wakeUps.unschedule = (name) => {
      removed.push(name);
      return unschedule(name);
    };
    await retryDelivery(world.byHandContext, (await deliveryOf('m2')).key);
    await world.clock.run();

    expect(last).toBeDefined();
    expect(removed).toEqual([]);
    expect(requestedAt()).toEqual([0, 100, 200]);
  });

  it('report lateness caused by slow queues, although they wait for slots', async () => {
    await subscribe(0.1);
    await world.dispatch({ ok: true, message: aMessage({ id: 'm0' }) }, '{}', startedAt - 60_000);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => send(wakeUp, delaySeconds + 30);
    await publish(1, 1);
    await world.clock.run();

    expect(requestedAt()).toEqual([0, 40]);
    expect(latenesses()).toEqual([60_000, 29_500]);
  });

  it('do not wait for cancelled ones: later messages take those slots', async () => {
    await subscribe(0.1);
    await publish(200);
    await world.clock.run(startedAt + 5_000);
    await cancel(1, 200);
    const wantedAt = world.clock.now();
    await publish(2, 200);
    await world.clock.run();

    const waited = requestedAt().map((at) => at - (wantedAt - startedAt) / 1000);
    // The first request of the burst was sent at once.
    expect(waited).toHaveLength(3);
    expect(waited[1]).toBeLessThan(20);
    expect(waited[2]).toBeLessThan(30);
  });

  it('respect the limit when slots of cancelled ones are reused', async () => {
    await subscribe(1);
    await publish(60);
    await world.clock.run(startedAt + 5_500);
    await cancel(10, 60, 2);
    await publish(40, 60);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(75);
    expect(mostInTenSeconds(requestedAt())).toBeLessThanOrEqual(11);
    expect(requestedAt().at(-1)).toBeLessThan(90);
  });
});

describe('what waiting costs', () => {
  let writes: string[];
  let wakeUps: { attempt: number; dueAt: number }[];
  let reserved: number;

  beforeEach(() => {
    [writes, wakeUps, reserved] = [[], [], 0];
    const { deliveries, rateLimits } = world;
    const [write, reserve, send] = [
      deliveries.write.bind(deliveries),
      rateLimits.reserve.bind(rateLimits),
      world.wakeUps.sendDelayed.bind(world.wakeUps),
    ];
    deliveries.write = (transition) => {
      writes.push(transition.name);
      return write(transition);
    };
    rateLimits.reserve = async (...args) => {
      const slot = await reserve(...args);
      if (slot.epoch !== undefined) reserved += 1;
      return slot;
    };
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => {
      wakeUps.push(wakeUp);
      return send(wakeUp, delaySeconds);
    };
  });

  const times = (name: string): number => writes.filter((one) => one === name).length;

  describe('a first attempt that waits for a rate-limit slot', () => {
    it('is recorded by one write, without a claim', async () => {
      await subscribe(0.1);
      await publish(20);
      await world.clock.run(startedAt + 5_000);

      expect([times('open'), times('await_slot'), times('record'), writes.length]).toEqual([1, 19, 1, 21]);
      expect(await deliveryOf('m19')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
    });

    it('releases the second slot if its job is received twice, for the next message', async () => {
      await subscribe(0.1);
      const send = world.deliveryJobs.send.bind(world.deliveryJobs);
      world.deliveryJobs.send = (job) => {
        send(job);
        send(job, 3);
      };
      await publish(20);
      await world.clock.run(startedAt + 5_000);
      await publish(1, 20);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(21);
      expect(requestedAt().at(-1)).toBe(20 * 10.5);
    });

    it('is scheduled by the next receive of its job if scheduling failed', async () => {
      await subscribe(0.1);
      await publish(1);
      await world.clock.run(startedAt + 1_000);
      const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
      world.wakeUps.sendDelayed = () => Promise.reject(new Error('SQS is down'));
      await publish(1, 1);
      await world.clock.run(startedAt + 2_000);
      world.wakeUps.sendDelayed = send;
      await world.clock.run(startedAt + 20_000);

      expect(requestedAt()).toEqual([0, 10.5]);
    });
  });

  describe('a retry of a rate-limited subscription with many waiting deliveries', () => {
    const failing = (): void => {
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
    };

    it('is woken once for its slot, not at the end of its delay', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 5, maximum_delay: 5 }));
      await publish(50);
      await world.clock.run();

      const { attempts, status: end } = await deliveryOf('m30');
      expect([attempts.length, end]).toEqual([4, 'exhausted']);
      expect(requestedAt()).toHaveLength(200);
      expect(wakeUps.length).toBeLessThanOrEqual(200);
      expect(reserved).toBeLessThanOrEqual(201);
    });

    it('is not sent before its policy allows', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 20, maximum_delay: 20 }));
      await publish(10);
      await world.clock.run();

      for (let index = 0; index < 10; index += 1) {
        const { attempts } = await deliveryOf(`m${index}`);
        const [first, retry] = attempts;
        expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(20_000);
      }
    });

    it('reserves no slot if its delay is longer than the wait', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600, maximum_delay: 600 }));
      await publish(5);
      await world.clock.run(startedAt + 60_000);

      expect(reserved).toBe(5);
      expect((await deliveryOf('m4')).slot).toBeUndefined();
    });
  });
});
