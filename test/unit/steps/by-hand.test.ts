import { beforeEach, describe, expect, it } from 'vitest';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { removeMember } from '../../../shared/domain/delivery/chunk.ts';

let world: OneSubscriberWorld;

const subscribed = async (policy: Parameters<typeof subscribedWorld>[0]): Promise<void> => {
  world = await subscribedWorld(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

const requests = (): number => world.subscriber.seen.length;
const retry = () => retryDelivery(world.byHandContext, world.key);

describe('a manual retry of an open delivery', () => {
  it('makes the pending attempt now, with its number and the phase manual', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect((await retry()).kind).toBe('retried');
    await world.clock.run(world.clock.now() + 1_000);

    expect(
      (await world.delivery()).attempts.map(({ number, round, phase }) => [number, round, phase]),
    ).toEqual([
      [1, 1, 'initial'],
      [2, 1, 'manual'],
    ]);
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('removes the schedule of the pending attempt', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect(world.schedules).toHaveLength(1);
    await retry();

    expect(world.schedules).toEqual([]);
  });

  it('uses the place of that attempt in the policy, and the next delay starts from it', async () => {
    world.subscriber.script(world.url, [status(500), status(500), status(500)]);
    await world.publish(1_000);
    await retry();
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery.status).toBe('exhausted');
    expect(delivery.attempts.map(({ phase }) => phase)).toEqual(['initial', 'manual', 'pre_backoff']);
    const [, second, third] = delivery.attempts;
    expect((third?.startedAt ?? 0) - (second?.startedAt ?? 0)).toBeGreaterThanOrEqual(600_000);
  });

  it('makes the attempt once in fifty races with the automatic retry', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 500 })]);
    await world.publish(1_000);
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

  it('is refused while an attempt is in flight', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 5_000 })]);
    await world.publish(1_000);
    await retry();
    await world.clock.run(world.clock.now() + 1_000);

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'in_flight' });
  });

  it('takes over after a crash and counts the request as lost', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    const now = world.clock.now();
    await world.deliveries.write({
      name: 'claim',
      key: world.key,
      expect: { kind: 'present' },
      change: { lease: { owner: 'dead', until: now - 1 }, updatedAt: now, expiresAt: now },
    });
    expect((await retry()).kind).toBe('retried');
    await world.clock.run();

    expect((await world.delivery()).attempts.at(-1)).toMatchObject({ number: 2, lost: 1 });
  });

  it('is refused for a disabled subscription', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 0 });

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'subscription_absent' });
  });
});

describe('a manual retry of an ended delivery', () => {
  const exhausted = async (): Promise<void> => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    expect((await world.delivery()).status).toBe('exhausted');
  };

  it('opens another round: numbers continue, policy and budget start over', async () => {
    await exhausted();
    await world.subscriptions.putQueue(
      aQueue({
        retryPolicy: {
          ...aBarePolicy({ retries_with_no_delay: 2 }),
          ignore_subscription_override: true,
        },
      }),
    );
    world.subscriber.script(world.url, [status(500), status(500), status(500)]);
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
    const lost = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('SQS is unavailable')) };
    const { ports, settings } = world.byHandContext;
    await expect(retryDelivery({ ports: { ...ports, wakeUps: lost }, settings }, world.key)).rejects.toThrow(
      'unavailable',
    );
    await world.clock.run(world.clock.now() + 60_000);
    await world.reconcile();
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });

  it('is refused if the body was not kept', async () => {
    await world.publish(1_000);
    expect((await world.delivery()).status).toBe('delivered');

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'body_gone' });
    expect(requests()).toBe(1);
  });

  it('sends a delivered message again if all bodies are kept', async () => {
    world.settings.retainMessages = 'all';
    await world.publish(1_000);
    await retry();
    await world.clock.run();

    expect(requests()).toBe(2);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is refused after the ttl of its message', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    const message = aMessage({ expiresAt: world.clock.now() + 5_000 });
    await world.dispatch({ ok: true, message });
    await world.clock.run(world.clock.now() + 6_000);

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'message_expired' });
  });

  it('is refused if the record has no room for another round', async () => {
    await subscribed({ retries_with_no_delay: 100 });
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    for (let round = 2; round <= 4; round += 1) {
      await retry();
      await world.clock.run(world.clock.now() + 600_000);
    }

    expect((await world.delivery()).attempts).toHaveLength(404);
    expect(await retry()).toMatchObject({ kind: 'refused', why: 'too_many_attempts' });
  });

  it('is refused while the delivery has pending steps', async () => {
    await exhausted();
    const now = world.clock.now();
    await world.deliveries.write({
      name: 'settle',
      key: world.key,
      expect: { kind: 'present' },
      change: { pendingSteps: [{ kind: 'undeliverable' }], updatedAt: now, expiresAt: now },
    });

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'being_closed' });
  });
});

describe('a manual cancellation', () => {
  const cancel = () => cancelDelivery(world.byHandContext, world.key, 'manual');

  it('prevents further requests and removes the schedule', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect((await cancel()).kind).toBe('cancelled');
    expect(world.schedules).toEqual([]);
    await world.clock.run();

    expect(requests()).toBe(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'manual' });
  });

  it('prevents a first attempt that is not due yet', async () => {
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    expect((await cancel()).kind).toBe('cancelled');
    await world.clock.run();

    expect(requests()).toBe(0);
    expect((await world.delivery()).status).toBe('cancelled');
  });

  it('is refused for a subscription without a delivery', async () => {
    await world.publish(1_000);
    const other = { ...world.key, subscriptionId: 'unknown' };

    expect(await cancelDelivery(world.byHandContext, other, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
  });

  it.each([
    ['was unconfirmed when the message was accepted', { unconfirmed: { tokenHash: 'x', at: 0 } }],
    ['was deleted when the message was accepted', { deletedAt: 1 }],
    ['was expired when the message was accepted', { expiresAt: 1 }],
  ])('creates no record for a subscription that %s', async (_case, state) => {
    const stranger = { ...world.key, subscriptionId: 'subscription-2' };
    await world.subscriptions.addSubscription(
      aSubscription({ id: stranger.subscriptionId, subscriber: 'https://other.test/', ...state }),
    );
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });

    expect(await cancelDelivery(world.byHandContext, stranger, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
    expect((await cancel()).kind).toBe('cancelled');
    await world.clock.run();
    expect(requests()).toBe(0);
  });

  it('creates no record for a subscription that was confirmed after the message was accepted', async () => {
    const stranger = { ...world.key, subscriptionId: 'subscription-2' };
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const confirmedAt = world.clock.now() + 1;
    await world.subscriptions.addSubscription(
      aSubscription({ id: stranger.subscriptionId, subscriber: 'https://other.test/', confirmedAt }),
    );

    expect(await cancelDelivery(world.byHandContext, stranger, 'manual')).toMatchObject({
      why: 'no_such_delivery',
    });
  });

  it('prevents the first attempt for a subscription that was deleted after the message was accepted', async () => {
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const deletedAt = world.clock.now() + 1;
    await world.subscriptions.markDeleted({
      queue: 'orders',
      subscriptionId: world.key.subscriptionId,
      now: deletedAt,
    });

    expect((await cancel()).kind).toBe('cancelled');
  });

  it('is refused before a first attempt that a filter may prevent', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({
        id: 'subscription-2',
        subscriber: 'https://other.test/',
        options: { event_types: ['order.cancelled'] },
      }),
    );
    await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 });
    const filtered = { ...world.key, subscriptionId: 'subscription-2' };

    expect(await cancelDelivery(world.byHandContext, filtered, 'manual')).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(filtered)).toBeUndefined();
  });

  it('is refused until dispatch reaches the subscription, then cancels the delivery', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'subscription-2', subscriber: 'https://other.test/' }),
    );
    world.settings.pageSize = 1;
    const addPart = world.messageRecords.addPart.bind(world.messageRecords);
    world.messageRecords.addPart = () => Promise.reject(new Error('killed'));
    const message = { ok: true, message: aMessage(), delaySeconds: 60 } as const;
    await expect(world.dispatch(message)).rejects.toThrow('killed');
    const ahead = { ...world.key, subscriptionId: 'subscription-2' };
    expect(await cancelDelivery(world.byHandContext, ahead, 'manual')).toMatchObject({ why: 'not_begun' });
    expect(await world.deliveries.find(ahead)).toBeUndefined();

    world.messageRecords.addPart = addPart;
    await world.dispatch(message);
    expect(await cancelDelivery(world.byHandContext, ahead, 'manual')).toMatchObject({ why: 'not_begun' });
    const found = { ...ahead, bucket: 1 };
    expect((await cancelDelivery(world.byHandContext, found, 'manual')).kind).toBe('cancelled');
    await world.clock.run();
    expect(world.subscriber.seen.map(({ request }) => request.url)).toEqual([world.url]);
    expect((await world.delivery('subscription-2')).status).toBe('cancelled');
  });

  it('does not allow another round while its request is in flight', async () => {
    world.subscriber.script(world.url, [status(500), status(500, { takesMs: 14_000 }), status(200)]);
    await world.publish(1_000);
    await retry();
    await world.clock.run(world.clock.now() + 1_000);
    await cancel();
    expect(await retry()).toMatchObject({ kind: 'refused', why: 'in_flight' });

    await world.clock.run(world.clock.now() + 30_000);
    expect((await retry()).kind).toBe('retried');
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is refused for an ended delivery', async () => {
    await world.publish(1_000);

    expect(await cancel()).toMatchObject({ kind: 'refused', why: 'over' });
  });

  it('during an attempt still records its success and makes no other attempt', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 5_000 })]);
    await world.publish(1_000);
    await retry();
    await world.clock.run(world.clock.now() + 1_000);
    expect((await cancel()).kind).toBe('cancelled');
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', lost: 1 });
    expect(delivery.lateResults).toHaveLength(1);
    expect(requests()).toBe(2);
  });

  it('during a failing attempt prevents retries', async () => {
    await subscribed({ retries_with_no_delay: 5 });
    world.subscriber.script(world.url, [status(500, { takesMs: 1_000 })]);
    await world.publish(500);
    await cancel();
    await world.clock.run();

    expect(requests()).toBe(1);
    expect((await world.delivery()).status).toBe('cancelled');
  });
});

const RETRIED = { minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 };

const cancelMember = async (world: ChunkedWorld, id: string) =>
  cancelDelivery(world.byHandContext, await world.keyOf(id), 'manual');

const retryMember = async (world: ChunkedWorld, id: string) =>
  retryDelivery(world.byHandContext, await world.keyOf(id));

/** Three subscribers: two answer after one second, the last after five. */
const underWay = async (
  answers: Partial<Record<string, number>> = {},
  policy: Parameters<typeof chunkedWorld>[1] = {},
): Promise<ChunkedWorld> => {
  const world = await chunkedWorld(3, policy);
  for (const [index, id] of world.ids.entries())
    world.subscriber.script(world.urlOf(id), [
      status(answers[id] ?? 200, { takesMs: index === 2 ? 5_000 : 1_000 }),
    ]);
  await world.publish();
  await world.until(500);
  return world;
};

describe('a manual cancellation of a delivery in a chunk', () => {
  it('during its attempt creates a separate record, and a success still counts', async () => {
    const world = await underWay();
    expect((await cancelMember(world, 's-3')).kind).toBe('cancelled');
    expect(world.separateMembers()).toEqual(['s-3']);
    expect((await world.chunk())?.members?.get('s-3')).toBe('separate');
    expect(await world.delivery('s-3')).toMatchObject({ status: 'cancelled', reason: 'manual' });

    await world.clock.run();
    const delivery = await world.delivery('s-3');
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [] });
    expect(delivery.lateResults).toMatchObject([{ outcome: 'delivered', result: answered(200) }]);
    expect(world.requests()).toEqual([1, 1, 1]);
    // The other successes had already been recorded.
    expect(world.separateMembers()).toEqual(['s-3']);
  });

  it('makes the common write of successes fail, so that the others get separate records', async () => {
    const world = await underWay();
    await cancelMember(world, 's-2');
    await world.clock.run();

    expect(world.writes().filter((write) => write === 'chunk leased')).toHaveLength(2);
    expect(world.separateMembers()).toEqual(['s-1', 's-2']);
    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
      lateResults: [],
      lost: 0,
    });
    expect(await world.delivery('s-2')).toMatchObject({ status: 'delivered', lateResults: [{}] });
    expect((await world.delivery('s-3')).status).toBe('delivered');
    expect(world.requests()).toEqual([1, 1, 1]);
  });

  it('that crashes after creating a separate record does not affect the attempt', async () => {
    const world = await underWay({ 's-2': 503 }, { policy: RETRIED });
    for (const id of ['s-1', 's-2']) {
      const delivery = await world.delivery(id);
      const { queue, messageId, bucket } = delivery.key;
      const place = { queue, messageId, bucket, chunk: 0 };
      await world.chunks.takeOut(removeMember(place, id, 'pending', delivery), delivery);
    }
    await world.clock.run(world.clock.now() + 6_000);

    expect(await world.delivery('s-1')).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }],
      lateResults: [],
      lease: undefined,
    });
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'retrying',
      attempts: [{ number: 1 }],
      lateResults: [],
    });
  });

  it('prevents a first attempt that is not due yet, but not those of the other members', async () => {
    const world = await chunkedWorld(4);
    await world.publish({}, 60);
    for (const id of ['s-2', 's-3']) expect((await cancelMember(world, id)).kind).toBe('cancelled');
    expect((await world.chunk())?.members).toBeUndefined();
    await world.clock.run();

    expect(world.requests()).toEqual([1, 0, 0, 1]);
    expect(await world.delivery('s-2')).toMatchObject({
      status: 'cancelled',
      reason: 'manual',
      attempts: [],
    });
    expect(world.separateMembers()).toEqual(['s-2', 's-3']);
    for (const id of ['s-1', 's-4']) expect((await world.delivery(id)).status).toBe('delivered');
  });

  it('after a crash ends the delivery, and the redelivered job attempts the others', async () => {
    const world = await chunkedWorld(3);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 1_000 })]);
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
    await world.publish();
    await world.clock.run();
    const before = await world.delivery('s-2');
    expect((await retryMember(world, 's-2')).kind).toBe('retried');
    await world.clock.run();

    expect(world.requests()).toEqual([1, 2, 1]);
    expect(world.separateMembers()).toEqual(['s-2']);
    expect((await world.chunk())?.members?.get('s-2')).toBe('separate');
    const delivery = await world.delivery('s-2');
    expect(delivery).toMatchObject({
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
    world.subscriber.script(world.urlOf('s-1'), [status(200, { takesMs: 1_000 })]);
    world.deliverDying(world.job(), world.received('dead'), 500);
    await world.until(180_000);

    expect(await retryMember(world, 's-1')).toMatchObject({ why: 'not_begun' });
  });
});
