import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aMessage } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';

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

    const times = requestedAt().filter((at) => at > 10);
    const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 10).length));
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
