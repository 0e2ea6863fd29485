import { beforeEach, describe, expect, it } from 'vitest';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aMessage, SUBSCRIBER_URL } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

describe('a rate limit', () => {
  let world: LimitedWorld['world'];

  let startedAt: LimitedWorld['startedAt'];

  let subscribe: LimitedWorld['subscribe'];

  let publish: LimitedWorld['publish'];

  let requestedAt: LimitedWorld['requestedAt'];

  let latenesses: LimitedWorld['latenesses'];

  let deliveryOf: LimitedWorld['deliveryOf'];

  let limitTo: LimitedWorld['limitTo'];

  beforeEach(async () => {
    ({ world, startedAt, subscribe, publish, requestedAt, latenesses, deliveryOf, limitTo } =
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
    ])(
      'are all sent although the retry queue lags by %s, without missing slot after slot',
      async (_, lags) => {
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
      },
    );

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

      const times = requestedAt().filter((at) => at > 10);
      const most = Math.max(
        ...times.map((from) => times.filter((at) => at >= from && at < from + 10).length),
      );
      expect(most).toBeLessThanOrEqual(10);
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
      for (let index = 1; index < 200; index += 1)
        await cancelDelivery(world.byHandContext, (await deliveryOf(`m${index}`)).key, 'manual');
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
      for (let index = 10; index < 60; index += 2)
        await cancelDelivery(world.byHandContext, (await deliveryOf(`m${index}`)).key, 'manual');
      await publish(40, 60);
      await world.clock.run();

      const times = requestedAt();
      expect(times).toHaveLength(75);
      for (const at of times)
        expect(times.filter((one) => one >= at && one < at + 10).length).toBeLessThanOrEqual(11);
      expect(times.at(-1)).toBeLessThan(90);
    });
  });
});

describe('a line of waiting deliveries', () => {
  let world: LimitedWorld['world'];

  let startedAt: LimitedWorld['startedAt'];

  let subscribe: LimitedWorld['subscribe'];

  let publish: LimitedWorld['publish'];

  let requestedAt: LimitedWorld['requestedAt'];

  let deliveryOf: LimitedWorld['deliveryOf'];

  let limitTo: LimitedWorld['limitTo'];

  beforeEach(async () => {
    ({ world, startedAt, subscribe, publish, requestedAt, deliveryOf, limitTo } = await limitedWorld());
  });

  /** Two hundred deliveries at 0.1 requests a second: the last waits 2,090 s. */
  const longLine = async (): Promise<void> => {
    await subscribe(0.1);
    for (let index = 0; index < 200; index += 1) {
      await publish(1, index);
      await world.clock.run(startedAt + index);
    }
    await world.clock.run(startedAt + 10_000);
  };

  const mostInTenSeconds = (): number =>
    Math.max(
      ...requestedAt().map((from) => requestedAt().filter((at) => at >= from && at < from + 10).length),
    );

  const requestedMessages = (): string[] =>
    world.subscriber.seen.map(({ request }) => request.headers['webhook-id'] ?? '');

  describe('when the rate limit of a subscription rises, a waiting delivery', () => {
    it('moves up as fast as the new limit allows, in the existing order', async () => {
      await longLine();
      await limitTo(10);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(200);
      expect(requestedAt().at(-1)).toBeLessThan(35);
      expect(mostInTenSeconds()).toBeLessThanOrEqual(105);
      // The first two were about to be sent anyway.
      const others = requestedMessages().filter((id) => id !== 'm0' && id !== 'm1');
      expect(others).toEqual(Array.from({ length: 198 }, (_, index) => `m${index + 2}`));
    });

    it('is sent at once if the limit is removed, and leaves no schedule', async () => {
      await longLine();
      await limitTo();
      await world.clock.run(startedAt + 15_000);

      expect(requestedAt()).toHaveLength(200);
      expect(world.schedules.filter(({ at }) => at > world.clock.now())).toEqual([]);
    });

    it('shares the new rate with later messages', async () => {
      await longLine();
      await limitTo(2);
      await publish(100, 200);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(300);
      expect(requestedAt().at(-1)).toBeLessThan(180);
      expect(mostInTenSeconds()).toBeLessThanOrEqual(21);
    });

    it('moves up even if its slot is after the maximum SQS delay', async () => {
      await subscribe(0.01);
      await publish(100);
      await world.clock.run(startedAt + 10_000);
      await limitTo(0.02);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(100);
      expect(requestedAt().at(-1)).toBeLessThan(5_100);
    });

    it('moves up although an attempt in flight reserved its slot under the old limit', async () => {
      await longLine();
      const { rateLimits, clock } = world;
      const { ports } = world.deliverContext;
      ports.rateLimits = {
        ...rateLimits,
        reserve: async (...args) => {
          const slot = await rateLimits.reserve(...args);
          await clock.sleep(2_000);
          return slot;
        },
      };
      await publish(1, 200);
      await clock.run(clock.now() + 1_000);
      ports.rateLimits = rateLimits;
      await limitTo(10);
      await clock.run();

      expect(requestedMessages().at(-1)).toBe('m200');
      expect(requestedAt().at(-1)).toBeLessThan(80);
    });

    it('keeps its slot if operate cannot be notified, and the limit then does not change', async () => {
      await longLine();
      const { operations } = world;
      const send = operations.send.bind(operations);
      operations.send = () => Promise.reject(new Error('SQS is down'));
      await expect(limitTo(10)).rejects.toThrow('SQS is down');
      const found = await world.subscriptions.findSubscription('orders', 'subscription-1');
      operations.send = send;
      await limitTo(10);
      await world.clock.run();

      expect(found?.options.max_per_second).toBe(0.1);
      expect(requestedAt().at(-1)).toBeLessThan(35);
    });

    it('moves up a minute later if operate ran before the change was written', async () => {
      await longLine();
      const { clock, subscriptions } = world;
      const change = subscriptions.changeSubscription.bind(subscriptions);
      subscriptions.changeSubscription = async (...args) => {
        await clock.sleep(5_000);
        return change(...args);
      };
      const changed = limitTo(10);
      await clock.run();
      await changed;

      expect(requestedAt()).toHaveLength(200);
      expect(requestedAt().at(-1)).toBeLessThan(100);
    });

    it('leaves its new slot to others if it was cancelled concurrently', async () => {
      await longLine();
      const { deliveries } = world;
      const write = deliveries.write.bind(deliveries);
      deliveries.write = async (transition) => {
        const isLeaving =
          transition.name === 'move_up' && Number(transition.key.messageId.slice(1)) % 2 === 0;
        if (isLeaving) await cancelDelivery(world.byHandContext, transition.key, 'manual');
        return write(transition);
      };
      await limitTo(1);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(101);
      expect(requestedAt().at(-1)).toBeLessThan(130);
    });

    it.each([
      ['rises', 10],
      ['is removed', undefined],
    ])('still waits for the policy delay of its retry if the limit %s', async (_, limit) => {
      const policy = { minimum_delay_retries: 1, minimum_delay: 60, maximum_delay: 60 };
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
      await subscribe(0.1, aBarePolicy(policy));
      await publish(100);
      await world.clock.run(startedAt + 100_000);
      const waiting = await deliveryOf('m5');
      await limitTo(limit, policy);
      await world.clock.run();

      expect(waiting).toMatchObject({ status: 'retrying', slot: { from: expect.any(Number) as number } });
      expect(requestedAt()).toHaveLength(200);
      expect(requestedAt().at(-1)).toBeLessThan(190);
      for (let index = 0; index < 100; index += 1) {
        const [first, retry] = (await deliveryOf(`m${index}`)).attempts;
        expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(60_000);
      }
    });

    it('keeps its slot if it cannot be moved, and delays no other', async () => {
      await longLine();
      const { deliveries } = world;
      const write = deliveries.write.bind(deliveries);
      deliveries.write = (transition) =>
        transition.name === 'move_up' && transition.key.messageId === 'm50'
          ? Promise.reject(new Error('DynamoDB is down'))
          : write(transition);
      await limitTo(10);
      await world.clock.run();

      expect(requestedAt().at(-2)).toBeLessThan(35);
      expect(requestedMessages().at(-1)).toBe('m50');
      expect(requestedAt()).toHaveLength(200);
    });
  });

  describe('when the rate limit of a subscription falls', () => {
    it('no waiting delivery is lost or sent too fast, and operate is not called', async () => {
      await subscribe(10);
      await publish(100);
      await world.clock.run(startedAt + 1_000);
      let operations = 0;
      world.operations.send = () => {
        operations += 1;
        return Promise.resolve();
      };
      await limitTo(1);
      await world.clock.run();

      const later = requestedAt().filter((at) => at > 2.5);
      const most = Math.max(
        ...later.map((from) => later.filter((at) => at >= from && at < from + 10).length),
      );
      expect(requestedAt()).toHaveLength(100);
      expect(most).toBeLessThanOrEqual(11);
      expect(operations).toBe(0);
    });
  });

  describe('when waiting deliveries are cancelled', () => {
    const cancel = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index += 1)
        await cancelDelivery(world.byHandContext, (await deliveryOf(`m${index}`)).key, 'manual');
    };

    it('the last waiting deliveries take their slots', async () => {
      await longLine();
      await cancel(10, 199);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(11);
      expect(requestedAt().at(-1)).toBeLessThan(120);
    });

    it('no other request is sent sooner than the limit allows', async () => {
      await subscribe(1);
      await publish(100);
      await world.clock.run(startedAt + 5_500);
      await cancel(20, 60);
      await publish(40, 100);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(100);
      expect(requestedAt().at(-1)).toBeLessThan(105);
      expect(mostInTenSeconds()).toBeLessThanOrEqual(11);
    });
  });
});
