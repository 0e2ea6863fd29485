import { RECEIVE_LEASE_SECONDS } from '../../../shared/domain/delivery/pull.ts';
import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { CancellationOperation } from '../../../shared/domain/recovery/operation.ts';
import { aDelivery, SOME_TIME, type DeliveryFields } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, REQUESTED_AT } from '../../support/in-memory/operate-world.ts';

const aRetrying = (ids: Partial<Delivery['key']> = {}, overrides: DeliveryFields = {}): Delivery =>
  aDelivery({
    key: { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0, ...ids },
    status: 'retrying',
    next: { number: 2, phase: 'backoff', dueAt: SOME_TIME * 2, by: 'scheduler' },
    overdueAt: SOME_TIME * 2,
    ...overrides,
  });

const subscriptionDeletion: CancellationOperation = {
  kind: 'cancellation',
  queue: 'orders',
  subscriptionId: 's-1',
  deletedAt: REQUESTED_AT,
};

const queueDeletion: CancellationOperation = {
  kind: 'cancellation',
  queue: 'orders',
  deletedAt: REQUESTED_AT,
};

describe('the cancellation after a subscription was deleted', () => {
  it('cancels its retrying deliveries and no others, and removes their schedules', async () => {
    const { keep, ports, work, record, unscheduled } = operateWorld();
    const retrying = await keep(aRetrying());
    const others = await Promise.all([
      keep(aRetrying({ subscriptionId: 's-2' })),
      keep(aRetrying({ queue: 'bills' })),
      keep(anExhausted({ messageId: 'm-2' })),
    ]);
    await ports.operations.send(subscriptionDeletion);
    await work();
    expect(await record(retrying.key)).toMatchObject({ status: 'cancelled', reason: 'subscription_deleted' });
    expect(unscheduled).toHaveLength(1);
    for (const other of others) expect(await record(other.key)).toEqual(other);
  });

  it('cancels a first attempt that waits for a rate-limit slot', async () => {
    const { keep, ports, work, record } = operateWorld();
    const next = { number: 1, phase: 'initial', dueAt: SOME_TIME * 2, by: 'scheduler' } as const;
    const waiting = await keep(aRetrying({}, { status: 'pending', attempts: [], next }));
    await ports.operations.send(subscriptionDeletion);
    await work();
    expect(await record(waiting.key)).toMatchObject({ status: 'cancelled', reason: 'subscription_deleted' });
  });

  it('runs again for deliveries in flight, and removes the marked subscription after the last repeat', async () => {
    const { keep, put, ports, receive, queued, record, time } = operateWorld();
    await keep(aRetrying());
    await ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT });
    await receive(subscriptionDeletion);
    expect(queued).toEqual([{ operation: subscriptionDeletion, delaySeconds: 60 }]);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
    const late = await put(aRetrying({ messageId: 'late' }));
    time.now = REQUESTED_AT + 60_000;
    await receive(subscriptionDeletion);
    expect(await record(late.key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();

    // A delivery that was received before can still be acknowledged.
    time.now = REQUESTED_AT + RECEIVE_LEASE_SECONDS.most * 1_000;
    await receive(subscriptionDeletion);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();

    // A crashed dispatch is redelivered within four hours and needs the original subscriptions.
    expect(queued.at(-1)).toEqual({ operation: subscriptionDeletion, delaySeconds: 900 });
    time.now = REQUESTED_AT + 4 * 60 * 60_000;
    await receive(subscriptionDeletion);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeUndefined();
  });

  it('does not remove a subscription that is not marked', async () => {
    const { keep, ports, work } = operateWorld();
    await keep(aRetrying());
    await ports.operations.send(subscriptionDeletion);
    await work();
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
  });

  it('continues in a new message when the time runs out', async () => {
    const { keep, ports, work, time, record, queued } = operateWorld();
    const all = [];
    for (let index = 0; index < 230; index += 1) all.push(await keep(aRetrying({ messageId: `m-${index}` })));
    // Ten concurrent cancellations take 5 s: an invocation has time for nine groups of ten.
    ports.wakeUps.unschedule = () => {
      time.now += 500;
      return Promise.resolve('removed');
    };
    time.now += 60_000;
    await ports.operations.send(subscriptionDeletion);
    expect(await work()).toBeGreaterThanOrEqual(3);
    expect(queued).toEqual([]);
    for (const { key } of all) expect(await record(key)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a delivery that cannot be cancelled', () => {
  const later = REQUESTED_AT + 5 * 60 * 60_000;

  /** More than a page of deliveries; reading the oldest record fails `times` times. */
  const withUnreadable = async (times: number) => {
    const world = operateWorld();
    const { keep, ports, time } = world;
    const unreadable = await keep(aRetrying({ messageId: 'unreadable' }, { acceptedAt: SOME_TIME - 1 }));
    const others: Delivery[] = [];
    for (let index = 0; index < 105; index += 1)
      others.push(await keep(aRetrying({ messageId: `m-${index}` })));
    await ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT });
    await ports.operations.send(subscriptionDeletion);
    time.now = later;
    const find = ports.deliveries.find.bind(ports.deliveries);
    let reads = 0;
    ports.deliveries.find = (key) => {
      if (key.messageId !== 'unreadable') return find(key);
      reads += 1;
      return reads > times ? find(key) : Promise.reject(new TypeError('invalid record'));
    };
    return { ...world, unreadable, others, find };
  };

  it('does not block the others, is tried in five more passes, and leaves the subscription marked', async () => {
    const { ports, work, queued, time, others, find } = await withUnreadable(Infinity);
    expect(await work()).toBe(6);
    expect(queued).toEqual([]);
    expect(time.now - later).toBe(30 * 60_000);
    for (const { key } of others) expect(await find(key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
    const facts = ports.journal.facts.filter(({ fact }) => fact === 'operation_failed_for');
    expect(facts).toHaveLength(6);
    expect(facts[0]).toMatchObject({
      operation: 'cancellation',
      key: { messageId: 'unreadable' },
      error: { name: 'TypeError' },
    });
    expect(ports.journal.facts).toContainEqual({
      fact: 'cancellation_given_up',
      queue: 'orders',
      subscriptionId: 's-1',
      failed: 1,
    });
  });

  it('is cancelled by the first pass that can read it, and the marked subscription is removed', async () => {
    const { ports, work, record, unreadable } = await withUnreadable(2);
    expect(await work()).toBe(3);
    expect(await record(unreadable.key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeUndefined();
  });

  it('is logged as contended if its record keeps changing', async () => {
    const { keep, ports, receive, queued } = operateWorld();
    await keep(aRetrying());
    ports.deliveries.write = () => Promise.resolve({ kind: 'refused', current: aRetrying() });
    await receive({ ...subscriptionDeletion, settled: true });
    expect(ports.journal.facts).toMatchObject([
      {
        fact: 'operation_failed_for',
        error: { message: 'The delivery orders/m-1/s-1 kept being changed by concurrent writes.' },
      },
      { fact: 'operation_continued', delaySeconds: 60 },
    ]);
    expect(queued).toEqual([{ operation: { ...subscriptionDeletion, looks: 1 }, delaySeconds: 60 }]);
  });

  it('does not prevent the end of a pass in which every delivery failed', async () => {
    const { keep, ports, receive, queued, time } = operateWorld();
    for (let index = 0; index < 30; index += 1) await keep(aRetrying({ messageId: `m-${index}` }));
    ports.deliveries.write = () => {
      time.now += 3_000;
      return Promise.reject(new Error('the item is too large'));
    };
    await receive({ ...subscriptionDeletion, settled: true });
    expect(queued).toEqual([{ operation: { ...subscriptionDeletion, looks: 1 }, delaySeconds: 60 }]);
  });
});

describe('the cancellation after a queue was deleted', () => {
  it('cancels what was accepted before the deletion, and nothing of a recreated queue', async () => {
    const { keep, ports, work, record } = operateWorld();
    const before = await keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    const after = await keep(
      aRetrying({ messageId: 'm-2', subscriptionId: 's-2' }, { acceptedAt: REQUESTED_AT }),
    );
    await ports.operations.send(queueDeletion);
    await work();
    expect(await record(before.key)).toMatchObject({ status: 'cancelled', reason: 'queue_deleted' });
    expect(await record(after.key)).toEqual(after);
  });

  it('removes all subscriptions first, in further messages, before it cancels a delivery', async () => {
    const { keep, ports, queued, record, receive } = operateWorld();
    const delivery = await keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    let left = 2;
    ports.registry.removeDeletedQueue = () => Promise.resolve((left -= 1) === 0);
    await receive(queueDeletion);
    expect(queued).toEqual([{ operation: queueDeletion, delaySeconds: 0 }]);
    expect(await record(delivery.key)).toEqual(delivery);
    await receive(queueDeletion);
    expect(await record(delivery.key)).toMatchObject({ status: 'cancelled', reason: 'queue_deleted' });
  });
});
