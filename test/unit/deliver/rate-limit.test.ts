import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import {
  mostInTenSeconds,
  numbered,
  oneSubscriberWorld,
  type OneSubscriberWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const fault = new Error('throttled');
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

type Policy = Parameters<typeof aBarePolicy>[0];

const subscribe = (max_per_second: number, policy: Policy = {}): Promise<void> =>
  world.subscribe(policy, { options: { max_per_second } });

/** Publishes so many messages, `m-0` being the first. */
const publish = (count: number, from = 0): Promise<void> => world.publish(...numbered(count, { from }));

/** Runs until so many seconds after the start. */
const until = (seconds: number): Promise<void> => world.clock.run(world.startedAt + 1000 * seconds);

/** Changes the limit as an operator would; undefined removes it. */
const limitTo = (max_per_second?: number, policy: Policy = {}): Promise<void> =>
  world.update({
    options: { _retry_policy: aBarePolicy(policy), ...(max_per_second !== undefined && { max_per_second }) },
  });

/** Time between the first attempt and the retry of a message, in milliseconds. */
const retriedAfter = async (messageId: string): Promise<number> => {
  const [first, retry] = (await world.deliveryOf(messageId)).attempts;
  return (retry?.startedAt ?? 0) - (first?.startedAt ?? 0);
};

describe('a subscription with max_per_second', () => {
  it('receives a burst one request at a time', async () => {
    const find = vi.spyOn(world.subscriptions, 'find');
    await subscribe(2);
    await publish(7);
    await world.clock.run();
    expect(world.requestedAt()).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3]);
    // With a cached limit they would wait in another line.
    expect(find.mock.calls.filter(([, , freshness]) => freshness === 'fresh').length).toBeGreaterThanOrEqual(
      7,
    );
  });

  it('receives retries within the limit too: every request takes a slot, even an immediate retry', async () => {
    await subscribe(1, { retries_with_no_delay: 3 });
    world.subscriber.script(world.url, [status(500), status(500), status(500), status(200)]);
    await world.deliver();

    expect(world.requestedAt()).toEqual([0, 1.05, 2.1, 3.15]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      ...Array<string>(3).fill('immediate'),
    ]);
  });

  it('has its waiting deliveries on record without attempt or lease, and with the message stored', async () => {
    await subscribe(0.1);
    await publish(3);
    await until(5);

    const waiting = await world.deliveryOf('m-2');
    expect(waiting).toMatchObject({
      status: 'pending',
      attempts: [],
      lost: 0,
      next: { number: 1, phase: 'initial' },
    });
    expect(waiting.lease).toBeUndefined();
    expect((await world.messageRecords.find(waiting.key))?.body).toBeDefined();
    const slot = new Date(world.startedAt + 21_000).toISOString();
    expect(deliveryView(waiting)).toMatchObject({
      nextAttemptAt: slot,
      nextAttempt: { waiting: 'rate_limited', dueAt: slot },
    });

    await world.clock.run();
    expect(world.requestedAt()).toEqual([0, 10.5, 21]);
    const delivered = await world.deliveryOf('m-2');
    expect([delivered.status, delivered.next, delivered.slot]).toEqual(['delivered', undefined, undefined]);
  });

  it('receives requests at its limit after the queue stalled, not in a burst', async () => {
    await subscribe(2);
    const { wakeUps } = world;
    const sendDelayed = vi.spyOn(wakeUps, 'sendDelayed').mockResolvedValue();
    await publish(8);
    await until(60);
    const stalled = sendDelayed.mock.calls.map(([wakeUp]) => wakeUp);
    sendDelayed.mockRestore();
    for (const wakeUp of stalled) await wakeUps.sendDelayed(wakeUp, 0);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(8);
    expect(Math.min(...world.gaps())).toBeGreaterThanOrEqual(0.5);
  });

  it('receives new messages under a changed limit at once, and waiting ones at their old slots', async () => {
    await subscribe(0.01);
    await publish(4);
    await until(1);
    await world.change((current) => ({
      ...current,
      options: { ...current.options, max_per_second: 10 },
    }));
    await publish(2, 4);
    await world.clock.run();

    expect(world.requestedAt().slice(0, 3)).toEqual([0, 1, 1.1]);
    expect(world.requestedAt().slice(3).map(Math.round)).toEqual([99, 199, 299]);
  });

  it('is called later if no slot can be reserved, without a failed receive or a lost attempt', async () => {
    await subscribe(10);
    const reserve = vi.spyOn(world.rateLimits, 'reserve').mockRejectedValue(fault);
    await world.publish();
    await until(3);
    expect(await world.delivery()).toMatchObject({ status: 'pending', attempts: [], lease: undefined });
    expect(world.facts('slot_not_reserved')).toHaveLength(1);
    reserve.mockRestore();
    await world.clock.run();

    expect(world.requestedAt()).toEqual([4.25]);
    expect((await world.delivery()).attempts[0]?.lost).toBeUndefined();
  });

  it('is called at the reserved slot even after a manual retry, with the existing schedule', async () => {
    await subscribe(0.01);
    await publish(3);
    await until(2);
    expect(world.schedules).toHaveLength(2);
    // Scheduler may remember deleted names.
    const unschedule = vi.spyOn(world.wakeUps, 'unschedule');
    const result = await retryDelivery(world.byHandContext, (await world.deliveryOf('m-2')).key);
    expect(result.kind).toBe('retried');
    await world.clock.run();

    expect(unschedule).not.toHaveBeenCalled();
    expect(world.requestedAt()).toEqual([0, 100, 200]);
    expect((await world.deliveryOf('m-2')).attempts).toMatchObject([{ number: 1, phase: 'manual' }]);
  });
});

it('a redelivered first attempt whose slot expires in a slow call waits without a lease for another', async () => {
  await subscribe(0.4);
  const reserve = world.rateLimits.reserve.bind(world.rateLimits);
  vi.spyOn(world.rateLimits, 'reserve').mockImplementationOnce(async (...args) => {
    const slot = await reserve(...args);
    await world.clock.sleep(500);
    return slot;
  });
  vi.spyOn(world.deliveryJobs, 'send').mockReturnValueOnce();
  await world.publish();
  void world.receive(world.job(), 'again', { receiveCount: 2 });
  await until(1);
  expect(await world.delivery()).toMatchObject({ status: 'pending', lease: undefined });
  await world.clock.run();

  expect(world.requestedAt()).toEqual([2.625]);
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
    await until(180);

    expect(world.requestedAt()).toHaveLength(40);
  });

  it('use SQS for a near slot, regardless of the Scheduler threshold for retries', async () => {
    world.settings.schedulerThresholdSeconds = 0;
    await subscribe(0.02);
    await publish(3);
    await world.clock.run();

    expect(world.requestedAt()).toEqual([0, 50, 100]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.key.messageId)).toEqual(['m-2']);
  });

  it('are not delayed by messages that expire before their slot', async () => {
    await subscribe(1);
    const expiresAt = world.startedAt + 30_000;
    for (const id of numbered(300, { name: 'short' }))
      await world.dispatch({ ok: true, message: aMessage({ id, expiresAt }) });
    await until(40);
    expect(await world.deliveryOf('short-299')).toMatchObject({ reason: 'message_expired' });
    await world.deliver();

    expect(world.requestedAt().at(-1)).toBe(40);
  });

  it('respect the limit after it was changed and restored: the old slots are void', async () => {
    await subscribe(1);
    await publish(60);
    await until(5);
    await limitTo(0.5);
    await publish(1, 60);
    await until(8);
    await limitTo(1);
    await publish(60, 61);
    await world.clock.run();

    expect(mostInTenSeconds(world.requestedAt().filter((at) => at > 10))).toBeLessThanOrEqual(10);
    expect(world.requestedAt()).toHaveLength(121);
  });

  it('report lateness caused by slow queues, but not what they wait for their slots', async () => {
    await subscribe(0.1);
    await world.dispatch({ ok: true, message: aMessage({ id: 'm-0' }) }, '{}', world.startedAt - 60_000);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => send(wakeUp, delaySeconds + 30);
    await publish(1, 1);
    await world.clock.run();

    expect(world.requestedAt()).toEqual([0, 40]);
    expect(world.facts('attempt_made')).toMatchObject([{ latenessMs: 60_000 }, { latenessMs: 29_500 }]);
  });

  it('respect the limit when slots of cancelled ones are reused', async () => {
    await subscribe(1);
    await publish(60);
    await until(5.5);
    await world.cancel(...numbered(50, { from: 10 }).filter((_, index) => index % 2 === 0));
    await publish(40, 60);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(75);
    expect(mostInTenSeconds(world.requestedAt())).toBeLessThanOrEqual(11);
    expect(world.requestedAt().at(-1)).toBeLessThan(90);
  });
});

describe('a first attempt that waits for a rate-limit slot', () => {
  beforeEach(() => subscribe(0.1));

  it('is recorded by one write, without a claim', async () => {
    const write = vi.spyOn(world.deliveries, 'write');
    await publish(20);
    await until(5);

    const writes = Object.groupBy(write.mock.calls, ([{ name }]) => name);
    expect([writes.open?.length, writes.await_slot?.length, writes.record?.length]).toEqual([1, 19, 1]);
    expect(write).toHaveBeenCalledTimes(21);
    expect(await world.deliveryOf('m-19')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
  });

  it('releases the second slot if its job is received twice, for the next message', async () => {
    const send = world.deliveryJobs.send.bind(world.deliveryJobs);
    world.deliveryJobs.send = (job) => {
      send(job);
      send(job, 3);
    };
    await publish(20);
    await until(5);
    await publish(1, 20);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(21);
    expect(world.requestedAt().at(-1)).toBe(20 * 10.5);
  });

  it('is scheduled by the next receive of its job if scheduling failed', async () => {
    await publish(1);
    await until(1);
    const sendDelayed = vi.spyOn(world.wakeUps, 'sendDelayed').mockRejectedValue(fault);
    await publish(1, 1);
    await until(2);
    sendDelayed.mockRestore();
    await until(20);

    expect(world.requestedAt()).toEqual([0, 10.5]);
  });
});

describe('a retry of a rate-limited subscription', () => {
  let reserve: MockInstance<OneSubscriberWorld['rateLimits']['reserve']>;

  /** How many slots were reserved, as opposed to times at which to ask again. */
  const reserved = () =>
    reserve.mock.settledResults.filter(
      ({ type, value }) => type === 'fulfilled' && value.epoch !== undefined,
    );

  beforeEach(() => {
    world.subscriber.script(world.url, [status(500)]);
    reserve = vi.spyOn(world.rateLimits, 'reserve');
  });

  it('that waits behind many others is woken once for its slot, not at the end of its delay', async () => {
    const sendDelayed = vi.spyOn(world.wakeUps, 'sendDelayed');
    await subscribe(1, { minimum_delay_retries: 3, minimum_delay: 5, maximum_delay: 5 });
    await publish(50);
    await world.clock.run();

    const { attempts, status: end } = await world.deliveryOf('m-30');
    expect([attempts.length, end]).toEqual([4, 'exhausted']);
    expect(world.requestedAt()).toHaveLength(200);
    expect(sendDelayed.mock.calls.length).toBeLessThanOrEqual(200);
    expect(reserved().length).toBeLessThanOrEqual(201);
  });

  it('reserves no slot if its delay is longer than the wait', async () => {
    await subscribe(1, { minimum_delay_retries: 1, minimum_delay: 600, maximum_delay: 600 });
    await publish(5);
    await until(60);

    expect(reserved()).toHaveLength(5);
    expect((await world.deliveryOf('m-4')).slot).toBeUndefined();
  });
});

/** Two hundred deliveries at 0.1 requests a second: the last waits 2,090 s. */
const longLine = async (): Promise<void> => {
  await subscribe(0.1);
  for (let index = 0; index < 200; index += 1) {
    await publish(1, index);
    await world.clock.run(world.startedAt + index);
  }
  await until(10);
};

const last = (): number => world.requestedAt().at(-1) ?? NaN;

describe('when the rate limit of a subscription rises, a waiting delivery', () => {
  it('moves up as fast as the new limit allows, in the existing order', async () => {
    await longLine();
    await limitTo(10);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(200);
    expect(last()).toBeLessThan(35);
    expect(mostInTenSeconds(world.requestedAt())).toBeLessThanOrEqual(105);
    // The first two were about to be sent anyway.
    const others = world.requestedMessages().filter((id) => id !== 'm-0' && id !== 'm-1');
    expect(others).toEqual(numbered(198, { from: 2 }));
  });

  it('is sent at once if the limit is removed, and leaves no schedule', async () => {
    await longLine();
    await limitTo();
    await until(15);

    expect(world.requestedAt()).toHaveLength(200);
    expect(world.schedules.filter(({ at }) => at > world.clock.now())).toEqual([]);
  });

  it('shares the new rate with later messages', async () => {
    await longLine();
    await limitTo(2);
    await publish(100, 200);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(300);
    expect(last()).toBeLessThan(180);
    expect(mostInTenSeconds(world.requestedAt())).toBeLessThanOrEqual(21);
  });

  it('moves up even if its slot is after the maximum SQS delay', async () => {
    await subscribe(0.01);
    await publish(100);
    await until(10);
    await limitTo(0.02);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(100);
    expect(last()).toBeLessThan(5_100);
  });

  it('moves up although an attempt in flight reserved its slot under the old limit', async () => {
    await longLine();
    const reserve = world.rateLimits.reserve.bind(world.rateLimits);
    vi.spyOn(world.rateLimits, 'reserve').mockImplementationOnce(async (...args) => {
      const slot = await reserve(...args);
      await world.clock.sleep(2_000);
      return slot;
    });
    await publish(1, 200);
    await world.runFor(1_000);
    await limitTo(10);
    await world.clock.run();

    expect(world.requestedMessages().at(-1)).toBe('m-200');
    expect(last()).toBeLessThan(80);
  });

  it('keeps its slot if operate cannot be notified, and the limit then does not change', async () => {
    await longLine();
    vi.spyOn(world.operations, 'send').mockRejectedValueOnce(fault);
    await expect(limitTo(10)).rejects.toThrow(fault);
    expect((await world.subscription()).options.max_per_second).toBe(0.1);
    await limitTo(10);
    await world.clock.run();

    expect(last()).toBeLessThan(35);
  });

  it('moves up a minute later if operate ran before the change was written', async () => {
    await longLine();
    const change = world.subscriptions.changeSubscription.bind(world.subscriptions);
    world.subscriptions.changeSubscription = async (...args) => {
      await world.clock.sleep(5_000);
      return change(...args);
    };
    const changed = limitTo(10);
    await world.clock.run();
    await changed;

    expect(world.requestedAt()).toHaveLength(200);
    expect(last()).toBeLessThan(100);
  });

  it('leaves its new slot to others if it was cancelled concurrently', async () => {
    await longLine();
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) => {
      const isLeaving = transition.name === 'move_up' && Number(transition.key.messageId.slice(2)) % 2 === 0;
      if (isLeaving) await cancelDelivery(world.byHandContext, transition.key, 'manual');
      return write(transition);
    };
    await limitTo(1);
    await world.clock.run();

    expect(world.requestedAt()).toHaveLength(101);
    expect(last()).toBeLessThan(130);
  });

  it.each([
    ['rises', [10]],
    ['rises twice', [0.2, 10]],
    ['is removed', [undefined]],
  ])('still waits for the policy delay of its retry if the limit %s', async (_, limits) => {
    const policy = { minimum_delay_retries: 1, minimum_delay: 300, maximum_delay: 300 };
    world.subscriber.script(world.url, [status(500)]);
    await subscribe(0.1, policy);
    await publish(100);
    await until(100);
    const waiting = await world.deliveryOf('m-5');
    for (const limit of limits) {
      await limitTo(limit, policy);
      await world.runFor(2_000);
    }
    await world.clock.run();

    expect(waiting).toMatchObject({ status: 'retrying', slot: { from: expect.any(Number) as number } });
    expect(world.requestedAt()).toHaveLength(200);
    expect(last()).toBeLessThan(500);
    for (const id of numbered(100)) expect(await retriedAfter(id)).toBeGreaterThanOrEqual(300_000);
  });

  it('keeps its slot if it cannot be moved, and delays no other', async () => {
    await longLine();
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = (transition) =>
      transition.name === 'move_up' && transition.key.messageId === 'm-50'
        ? Promise.reject(fault)
        : write(transition);
    await limitTo(10);
    await world.clock.run();

    expect(world.requestedAt().at(-2)).toBeLessThan(35);
    expect(world.requestedMessages().at(-1)).toBe('m-50');
    expect(world.facts('moved_up').map(({ key }) => key.messageId)).not.toContain('m-50');
    expect(world.requestedAt()).toHaveLength(200);
  });
});

it('when the rate limit of a subscription falls, no waiting delivery is lost or sent too fast', async () => {
  await subscribe(10);
  await publish(100);
  await until(1);
  const operate = vi.spyOn(world.operations, 'send');
  await limitTo(1);
  await world.clock.run();

  expect(world.requestedAt()).toHaveLength(100);
  expect(mostInTenSeconds(world.requestedAt().filter((at) => at > 2.5))).toBeLessThanOrEqual(11);
  expect(operate).not.toHaveBeenCalled();
});

it('when waiting deliveries are cancelled, the last waiting ones take their slots', async () => {
  await longLine();
  await world.cancel(...numbered(189, { from: 10 }));
  await world.clock.run();

  expect(world.requestedAt()).toHaveLength(11);
  expect(last()).toBeLessThan(120);
});

it('when the last waiting delivery is cancelled, the others keep their slots', async () => {
  world.subscriber.script(world.url, [status(500)]);
  await subscribe(0.5, { minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 });
  await publish(20);
  await until(9);
  await world.cancel('m-4');
  await world.clock.run();

  // The retry of m-0 was due before the line ended: it takes the free slot.
  const retried = ['m-1', 'm-2', 'm-3', 'm-0', ...numbered(15, { from: 5 })];
  expect(world.requestedMessages().slice(20)).toEqual(retried);
  expect(last()).toBeCloseTo(38 * 2.1);
});
