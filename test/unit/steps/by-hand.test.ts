import { beforeEach, describe, expect, it, vi } from 'vitest';
import { removeMember } from '../../../shared/domain/delivery/chunk.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { reopenDelivery, retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const OTHER = 'subscription-2';
let world: OneSubscriberWorld;

const subscribed = async (policy: Parameters<OneSubscriberWorld['subscribe']>[0]): Promise<void> => {
  world = oneSubscriberWorld();
  await world.subscribe(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

/** Publishes one message, which is answered with these status codes, and runs for a second. */
const publish = async (...codes: readonly [number, ...number[]]): Promise<void> => {
  const [first, ...others] = codes.map((code) => status(code));
  if (first !== undefined) world.subscriber.script(world.url, [first, ...others]);
  await world.publish();
  await world.runFor(1_000);
};

const publishDelayed = () => world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });

const exhausted = async (): Promise<void> => {
  await subscribed({});
  await publish(500);
  expect((await world.delivery()).status).toBe('exhausted');
};

const requests = (): number => world.subscriber.seen.length;
const retry = () => retryDelivery(world.byHandContext, world.key);
const cancel = (key = world.key) => cancelDelivery(world.byHandContext, key, 'manual');
const reopen = (recovery = 'recovery-1') => reopenDelivery(world.byHandContext, world.key, recovery);

/** Writes over the record, as an invocation does that then crashes. */
const overwrite = async (name: 'claim' | 'settle', change: object): Promise<void> => {
  const now = world.clock.now();
  await world.deliveries.write({
    name,
    key: world.key,
    expect: { kind: 'present' },
    change: { updatedAt: now, expiresAt: now, ...change },
  });
};

describe('a manual retry of an open delivery', () => {
  it('makes the pending attempt now, with its number and the phase manual, and removes its schedule', async () => {
    await publish(500, 200);
    expect(world.schedules).toHaveLength(1);
    expect((await retry()).kind).toBe('retried');
    expect(world.schedules).toEqual([]);
    await world.runFor(1_000);

    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [
        { number: 1, round: 1, phase: 'initial' },
        { number: 2, round: 1, phase: 'manual' },
      ],
    });
  });

  it('uses the place of that attempt in the policy, and the next delay starts from it', async () => {
    await publish(500);
    await retry();
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery.status).toBe('exhausted');
    expect(delivery.attempts.map(({ phase }) => phase)).toEqual(['initial', 'manual', 'pre_backoff']);
    expect(world.gaps()).toEqual([1, 600]);
  });

  it('makes the attempt once in fifty races with the automatic retry', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 500 })]);
    await world.publish();
    await world.runFor(1_000);
    const { next } = await world.delivery();
    await world.clock.run(next?.dueAt);
    const wakeUp = world.wakeUp(2, next?.dueAt);
    const race = Array.from({ length: 50 }, (_, index) => [
      retry(),
      world.receive(wakeUp, `automatic-${index}`),
    ]);
    await world.clock.run();
    await Promise.all(race.flat());

    expect(requests()).toBe(2);
    expect((await world.delivery()).attempts).toHaveLength(2);
  });

  it('takes over after a crash and counts the request as lost', async () => {
    await publish(500, 200);
    await overwrite('claim', { lease: { owner: 'dead', until: world.clock.now() - 1 } });
    expect((await retry()).kind).toBe('retried');
    await world.clock.run();

    expect((await world.delivery()).attempts.at(-1)).toMatchObject({ number: 2, lost: 1 });
  });
});

describe('a manual retry of an ended delivery', () => {
  it('opens another round: numbers continue, policy and budget start over', async () => {
    await exhausted();
    const retryPolicy = { ...aBarePolicy({ retries_with_no_delay: 2 }), ignore_subscription_override: true };
    await world.subscriptions.putQueue(aQueue({ retryPolicy }));
    await retry();
    await world.clock.run();

    const { attempts, round, status: end } = await world.delivery();
    expect({ round, end }).toEqual({ round: 2, end: 'exhausted' });
    expect(attempts.map((attempt) => [attempt.number, attempt.round, attempt.phase])).toEqual([
      [1, 1, 'initial'],
      [2, 2, 'manual'],
      [3, 2, 'immediate'],
      [4, 2, 'immediate'],
    ]);
    expect(world.undeliverables.sent).toHaveLength(2);
  });

  it('is found by reconcile if its wake-up was not sent', async () => {
    await exhausted();
    world.subscriber.script(world.url, [status(200)]);
    vi.spyOn(world.wakeUps, 'sendDelayed').mockRejectedValueOnce(new Error('SQS is unavailable'));
    await expect(retry()).rejects.toThrow('unavailable');
    await world.runFor(60_000);
    await world.reconcile();
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });

  it('sends a delivered message again if all bodies are kept', async () => {
    world.settings.retainMessages = 'all';
    await publish(200);
    await retry();
    await world.clock.run();

    expect(requests()).toBe(2);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });
});

describe('a manual retry is refused', () => {
  const expectRefused = async (why: string): Promise<void> => {
    const before = requests();
    expect(await retry()).toMatchObject({ kind: 'refused', why });
    expect(requests()).toBe(before);
  };

  it('while an attempt is in flight', async () => {
    await publish(500);
    world.subscriber.script(world.url, [status(200, { takesMs: 5_000 })]);
    await retry();
    await world.runFor(1_000);
    await expectRefused('in_flight');
  });

  it('for a disabled subscription', async () => {
    await publish(500);
    await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 0 });
    await expectRefused('subscription_absent');
  });

  it('if the body was not kept', async () => {
    await publish(200);
    await expectRefused('body_gone');
  });

  it('after the ttl of its message', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage({ expiresAt: world.startedAt + 5_000 }) });
    await world.runFor(6_000);
    await expectRefused('message_expired');
  });

  it('while the delivery has pending steps', async () => {
    await exhausted();
    await overwrite('settle', { pendingSteps: [{ kind: 'undeliverable' }] });
    await expectRefused('being_closed');
  });

  it('if the record has no room for another round', async () => {
    await subscribed({ retries_with_no_delay: 100 });
    await publish(500);
    for (let round = 2; round <= 4; round += 1) {
      await retry();
      await world.runFor(600_000);
    }
    expect((await world.delivery()).attempts).toHaveLength(404);
    await expectRefused('too_many_attempts');
  });
});

describe('reopening a delivery for a recovery', () => {
  it('remembers the last ten recoveries', async () => {
    await exhausted();
    const ids = Array.from({ length: 11 }, (_, index) => `recovery-${index}`);
    for (const id of ids) {
      expect((await reopen(id)).kind).toBe('retried');
      await world.clock.run();
    }
    expect((await world.delivery()).recoveries).toEqual(ids.slice(1));
  });

  it.each([
    ['delivered', 200],
    ['open', 500],
  ])('is refused for a delivery that is %s', async (why, code) => {
    world.settings.retainMessages = 'all';
    await publish(code);
    expect(await reopen()).toMatchObject({ kind: 'refused', why });
  });
});

describe('a manual cancellation', () => {
  const subscribeOther = (state: Parameters<typeof aSubscription>[0] = {}) =>
    addSubscription(
      world.subscriptions,
      aSubscription({ id: OTHER, subscriber: 'https://other.test/', ...state }),
    );

  it('prevents further requests and removes the schedule', async () => {
    await publish(500);
    expect((await cancel()).kind).toBe('cancelled');
    expect(world.schedules).toEqual([]);
    await world.clock.run();

    expect(requests()).toBe(1);
    const cancelled = { status: 'cancelled', reason: 'manual', overdueAt: undefined };
    expect(await world.delivery()).toMatchObject(cancelled);
  });

  it('prevents a first attempt that is not due yet, even of a subscription that is deleted by then', async () => {
    await publishDelayed();
    await world.subscriptions.markDeleted({ ...world.name, now: world.clock.now() + 1 });
    expect((await cancel()).kind).toBe('cancelled');
    await world.clock.run();

    expect(requests()).toBe(0);
    expect((await world.delivery()).status).toBe('cancelled');
  });

  it.each([
    ['is unknown', { id: 'unknown' }],
    ['was unconfirmed when the message was accepted', { unconfirmed: { tokenHash: 'x', at: 0 } }],
    ['was deleted when the message was accepted', { deletedAt: 1 }],
    ['was expired when the message was accepted', { expiresAt: 1 }],
    ['was confirmed after the message was accepted', { confirmedAt: Infinity }],
  ])('creates no record for a subscription that %s', async (_case, state) => {
    await subscribeOther(state);
    await publishDelayed();
    const stranger = { ...world.key, subscriptionId: OTHER };

    expect(await cancel(stranger)).toMatchObject({ why: 'no_such_delivery' });
    expect(await world.deliveries.find(stranger)).toBeUndefined();
  });

  it('creates no record as part of a bulk cancellation', async () => {
    await publishDelayed();
    const result = await cancelDelivery(world.byHandContext, world.key, 'subscription_deleted');
    expect(result).toMatchObject({ kind: 'refused', why: 'no_such_delivery' });
    expect(await world.deliveries.find(world.key)).toBeUndefined();
  });

  it('is refused before a first attempt that a filter may prevent', async () => {
    await subscribeOther({ options: { event_types: ['order.cancelled'] } });
    await publishDelayed();
    const filtered = { ...world.key, subscriptionId: OTHER };

    expect(await cancel(filtered)).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(filtered)).toBeUndefined();
  });

  it('is refused until dispatch reaches the subscription, then cancels the delivery', async () => {
    await subscribeOther();
    world.settings.pageSize = 1;
    vi.spyOn(world.messageRecords, 'addPart').mockRejectedValueOnce(new Error('killed'));
    await expect(publishDelayed()).rejects.toThrow('killed');
    const ahead = { ...world.key, subscriptionId: OTHER };
    expect(await cancel(ahead)).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(ahead)).toBeUndefined();

    await publishDelayed();
    expect(await cancel(ahead)).toMatchObject({ why: 'not_begun' });
    expect((await cancel({ ...ahead, bucket: 1 })).kind).toBe('cancelled');
    await world.clock.run();
    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual([world.url]);
    expect((await world.delivery(OTHER)).status).toBe('cancelled');
  });

  it('does not allow another round while its request is in flight', async () => {
    await publish(500);
    world.subscriber.script(world.url, [status(500, { takesMs: 14_000 }), status(200)]);
    await retry();
    await world.runFor(1_000);
    await cancel();
    expect(await retry()).toMatchObject({ kind: 'refused', why: 'in_flight' });

    await world.runFor(30_000);
    expect((await retry()).kind).toBe('retried');
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is refused for an ended delivery', async () => {
    await publish(200);
    expect(await cancel()).toMatchObject({ kind: 'refused', why: 'over' });
  });

  it.each([
    ['still records its success and makes no other attempt', 200, 'delivered'],
    ['that fails prevents retries', 500, 'cancelled'],
  ])('during an attempt %s', async (_, code, end) => {
    await subscribed({ retries_with_no_delay: 5 });
    world.subscriber.script(world.url, [status(code, { takesMs: 1_000 })]);
    await world.publish();
    await world.runFor(500);
    expect((await cancel()).kind).toBe('cancelled');
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: end, lost: 1 });
    expect(delivery.lateResults).toHaveLength(1);
    expect(requests()).toBe(1);
  });
});

const cancelMember = async (world: ChunkedWorld, id: string) =>
  cancelDelivery(world.byHandContext, await world.keyOf(id), 'manual');

const retryMember = async (world: ChunkedWorld, id: string) =>
  retryDelivery(world.byHandContext, await world.keyOf(id));

describe('a manual cancellation of a delivery in a chunk', () => {
  /** Of three subscribers, two answer after one second, the last after five. */
  const underWay = async (policy = {}): Promise<ChunkedWorld> => {
    const world = await chunkedWorld(3, { policy });
    world.answerAll(1_000);
    world.answer('s-3', status(200, { takesMs: 5_000 }));
    return world;
  };

  it('during its attempt creates a separate record, and a success still counts', async () => {
    const world = await underWay();
    await world.publish();
    await world.until(500);
    expect((await cancelMember(world, 's-3')).kind).toBe('cancelled');
    expect(world.separateMembers()).toEqual(['s-3']);
    expect((await world.chunk())?.members?.get('s-3')).toBe('separate');
    expect(await world.delivery('s-3')).toMatchObject({ status: 'cancelled', reason: 'manual' });

    await world.clock.run();
    expect(await world.delivery('s-3')).toMatchObject({
      status: 'delivered',
      attempts: [],
      lateResults: [{ outcome: 'delivered', result: answered(200) }],
    });
    expect(world.requests()).toEqual([1, 1, 1]);
    // The other successes had already been recorded.
    expect(world.separateMembers()).toEqual(['s-3']);
  });

  it('makes the common write of successes fail, so that the others get separate records', async () => {
    const world = await underWay();
    await world.publish();
    await world.until(500);
    await cancelMember(world, 's-2');
    await world.clock.run();

    expect(world.writes().filter((write) => write === 'chunk leased')).toHaveLength(2);
    expect(world.separateMembers()).toEqual(['s-1', 's-2']);
    expect(await world.statuses()).toEqual(['delivered', 'delivered', 'delivered']);
    expect(await world.delivery('s-1')).toMatchObject({
      attempts: [{ number: 1 }],
      lateResults: [],
      lost: 0,
    });
    expect(await world.delivery('s-2')).toMatchObject({ lateResults: [{}] });
    expect(world.requests()).toEqual([1, 1, 1]);
  });

  it('that crashes after creating a separate record does not affect the attempt', async () => {
    const world = await underWay({ minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 });
    world.answer('s-2', status(503, { takesMs: 1_000 }));
    await world.publish();
    await world.until(500);
    for (const id of ['s-1', 's-2']) {
      const delivery = await world.delivery(id);
      const { queue, messageId, bucket } = delivery.key;
      const place = { queue, messageId, bucket, chunk: 0 };
      await world.chunks.takeOut(removeMember(place, id, 'pending', delivery), delivery);
    }
    await world.until(6_500);

    const untouched = { attempts: [{ number: 1 }], lateResults: [], lease: undefined };
    expect(await world.delivery('s-1')).toMatchObject({ status: 'delivered', ...untouched });
    expect(await world.delivery('s-2')).toMatchObject({ status: 'retrying', ...untouched });
  });

  it('prevents a first attempt that is not due yet, but not those of the other members', async () => {
    const world = await chunkedWorld(4);
    await world.publish({}, 60);
    for (const id of ['s-2', 's-3']) expect((await cancelMember(world, id)).kind).toBe('cancelled');
    expect((await world.chunk())?.members).toBeUndefined();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 0, 0, 1]);
    expect(await world.statuses()).toEqual(['delivered', 'cancelled', 'cancelled', 'delivered']);
    expect(await world.delivery('s-2')).toMatchObject({ reason: 'manual', attempts: [] });
    expect(world.separateMembers()).toEqual(['s-2', 's-3']);
  });

  it('after a crash ends the delivery, and the redelivered job attempts the others', async () => {
    const world = await chunkedWorld(3);
    world.answerAll(1_000);
    await world.publish({}, 900);
    world.deliverDying(world.job(), world.received('dead'), 500);
    await world.until(180_000);
    expect((await cancelMember(world, 's-2')).kind).toBe('cancelled');
    const again = world.deliverCopy(world.job(), world.received('next', 2));
    await world.clock.run();
    await again;

    expect(world.requests()).toEqual([2, 1, 2]);
    expect((await world.delivery('s-2')).status).toBe('cancelled');
  });
});

describe('a manual retry of a delivery in a chunk', () => {
  it('opens a round for a delivered member on a separate record; the others stay in the chunk', async () => {
    const world = await chunkedWorld(3);
    world.settings.retainMessages = 'all';
    await world.deliver();
    const before = await world.delivery('s-2');
    expect((await retryMember(world, 's-2')).kind).toBe('retried');
    await world.clock.run();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect(world.separateMembers()).toEqual(['s-2']);
    expect((await world.chunk())?.members?.get('s-2')).toBe('separate');
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'delivered',
      round: 2,
      attempts: [before.attempts[0], { number: 2, round: 2, phase: 'manual' }],
      lost: 0,
    });
  });

  it('is refused before its job is received, and while SQS will redeliver it', async () => {
    const world = await chunkedWorld(2);
    await world.publish({}, 900);
    expect(await retryMember(world, 's-1')).toMatchObject({ why: 'no_such_delivery' });
    world.answer('s-1', status(200, { takesMs: 1_000 }));
    world.deliverDying(world.job(), world.received('dead'), 500);
    await world.until(180_000);

    expect(await retryMember(world, 's-1')).toMatchObject({ why: 'not_begun' });
  });
});
