import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { CancellationOperation } from '../../../shared/domain/recovery/operation.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, ORDERED_AT } from '../../support/in-memory/operate-world.ts';

const aRetrying = (ids: Partial<Delivery['key']> = {}, overrides: Partial<Delivery> = {}): Delivery =>
  aDelivery({
    key: { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0, ...ids },
    status: 'retrying',
    next: { number: 2, phase: 'backoff', dueAt: SOME_TIME * 2, by: 'scheduler' },
    overdueAt: SOME_TIME * 2,
    ...overrides,
  });

const ofSubscription: CancellationOperation = {
  kind: 'cancellation',
  queue: 'orders',
  subscriptionId: 's-1',
  deletedAt: ORDERED_AT,
};

const ofQueue: CancellationOperation = { kind: 'cancellation', queue: 'orders', deletedAt: ORDERED_AT };

describe('the cancellation after a subscription was deleted', () => {
  it('ends what is retrying for it, and nothing else, and takes its schedule back', async () => {
    const { keep, ports, work, record, unscheduled } = operateWorld();
    const retrying = await keep(aRetrying());
    const others = await Promise.all([
      keep(aRetrying({ subscriptionId: 's-2' })),
      keep(aRetrying({ queue: 'bills' })),
      keep(anExhausted({ messageId: 'm-2' })),
    ]);
    await ports.operations.send(ofSubscription);
    await work();
    expect(await record(retrying.key)).toMatchObject({ status: 'cancelled', reason: 'subscription_deleted' });
    expect(unscheduled).toHaveLength(1);
    for (const other of others) expect(await record(other.key)).toEqual(other);
  });

  it('ends what waits for its first attempt because of a rate limit as well', async () => {
    const { keep, ports, work, record } = operateWorld();
    const next = { number: 1, phase: 'initial', dueAt: SOME_TIME * 2, by: 'scheduler' } as const;
    const waiting = await keep(aRetrying({}, { status: 'pending', attempts: [], next }));
    await ports.operations.send(ofSubscription);
    await work();
    expect(await record(waiting.key)).toMatchObject({ status: 'cancelled', reason: 'subscription_deleted' });
  });

  it('comes by again after a minute for what was under way, and removes the mark when nothing can ask for it any more', async () => {
    const { keep, put, ports, receive, ordered, record, time } = operateWorld();
    await keep(aRetrying());
    await ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: ORDERED_AT });
    await receive(ofSubscription);
    expect(ordered).toEqual([{ operation: ofSubscription, delaySeconds: 60 }]);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
    const late = await put(aRetrying({ messageId: 'late' }));
    time.now = ORDERED_AT + 60_000;
    await receive(ofSubscription);
    expect(await record(late.key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();

    // A dispatch that died comes again within half an hour, and has to find who was subscribed.
    expect(ordered.at(-1)).toEqual({ operation: ofSubscription, delaySeconds: 900 });
    time.now = ORDERED_AT + 45 * 60_000;
    await receive(ofSubscription);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeUndefined();
  });

  it('leaves a subscription alone that is not marked', async () => {
    const { keep, ports, work } = operateWorld();
    await keep(aRetrying());
    await ports.operations.send(ofSubscription);
    await work();
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
  });

  it('goes on where it was when the time runs short', async () => {
    const { keep, ports, work, time, record, ordered } = operateWorld();
    const all = [];
    for (let index = 0; index < 230; index += 1) all.push(await keep(aRetrying({ messageId: `m-${index}` })));
    // Ten at once take 5 s: an invocation has time for nine times ten.
    ports.wakeUps.unschedule = () => {
      time.now += 500;
      return Promise.resolve('removed');
    };
    time.now += 60_000;
    await ports.operations.send(ofSubscription);
    expect(await work()).toBeGreaterThanOrEqual(3);
    expect(ordered).toEqual([]);
    for (const { key } of all) expect(await record(key)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a delivery that cannot be cancelled', () => {
  const later = ORDERED_AT + 50 * 60_000;

  /** More than a page, of which the record of the oldest cannot be read, `times` times. */
  const withPoison = async (times: number) => {
    const world = operateWorld();
    const { keep, ports, time } = world;
    const poison = await keep(aRetrying({ messageId: 'poison' }, { acceptedAt: SOME_TIME - 1 }));
    const others: Delivery[] = [];
    for (let index = 0; index < 105; index += 1)
      others.push(await keep(aRetrying({ messageId: `m-${index}` })));
    await ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: ORDERED_AT });
    await ports.operations.send(ofSubscription);
    time.now = later;
    const find = ports.deliveries.find.bind(ports.deliveries);
    let reads = 0;
    ports.deliveries.find = (key) => {
      if (key.messageId !== 'poison') return find(key);
      reads += 1;
      return reads > times ? find(key) : Promise.reject(new TypeError('unreadable'));
    };
    return { ...world, poison, others, find };
  };

  it('keeps none of the others back, is tried in five more passes, and leaves the mark where it is', async () => {
    const { ports, work, ordered, time, others, find } = await withPoison(Infinity);
    expect(await work()).toBe(6);
    expect(ordered).toEqual([]);
    expect(time.now - later).toBe(30 * 60_000);
    for (const { key } of others) expect(await find(key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
    const facts = ports.journal.facts.filter(({ fact }) => fact === 'operation_failed_for');
    expect(facts).toHaveLength(6);
    expect(facts[0]).toMatchObject({
      operation: 'cancellation',
      key: { messageId: 'poison' },
      error: { name: 'TypeError' },
    });
    expect(ports.journal.facts).toContainEqual({
      fact: 'cancellation_given_up',
      queue: 'orders',
      subscriptionId: 's-1',
      failed: 1,
    });
  });

  it('is cancelled by the pass that finds it mended, and the mark is removed', async () => {
    const { ports, work, record, poison } = await withPoison(2);
    expect(await work()).toBe(3);
    expect(await record(poison.key)).toMatchObject({ status: 'cancelled' });
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeUndefined();
  });

  it('says so where it only kept changing', async () => {
    const { keep, ports, receive, ordered } = operateWorld();
    await keep(aRetrying());
    ports.deliveries.write = () => Promise.resolve({ kind: 'refused', current: aRetrying() });
    await receive({ ...ofSubscription, settled: true });
    expect(ports.journal.facts).toMatchObject([
      {
        fact: 'operation_failed_for',
        error: { message: 'The delivery orders/m-1/s-1 kept being changed by concurrent writes.' },
      },
      { fact: 'operation_continued', delaySeconds: 60 },
    ]);
    expect(ordered).toEqual([{ operation: { ...ofSubscription, looks: 1 }, delaySeconds: 60 }]);
  });

  it('does not keep a pass from its end where all that there was time for failed', async () => {
    const { keep, ports, receive, ordered, time } = operateWorld();
    for (let index = 0; index < 30; index += 1) await keep(aRetrying({ messageId: `m-${index}` }));
    ports.deliveries.write = () => {
      time.now += 3_000;
      return Promise.reject(new Error('the item is too large'));
    };
    await receive({ ...ofSubscription, settled: true });
    expect(ordered).toEqual([{ operation: { ...ofSubscription, looks: 1 }, delaySeconds: 60 }]);
  });
});

describe('the cancellation after a queue was deleted', () => {
  it('ends what was accepted before, and leaves alone what a new queue of that name accepted', async () => {
    const { keep, ports, work, record } = operateWorld();
    const before = await keep(aRetrying({}, { acceptedAt: ORDERED_AT - 1 }));
    const after = await keep(
      aRetrying({ messageId: 'm-2', subscriptionId: 's-2' }, { acceptedAt: ORDERED_AT }),
    );
    await ports.operations.send(ofQueue);
    await work();
    expect(await record(before.key)).toMatchObject({ status: 'cancelled', reason: 'queue_deleted' });
    expect(await record(after.key)).toEqual(after);
  });

  it('goes on in a new message while subscriptions are left to be removed, before it cancels anything', async () => {
    const { keep, ports, ordered, record, receive } = operateWorld();
    const delivery = await keep(aRetrying({}, { acceptedAt: ORDERED_AT - 1 }));
    let left = 2;
    ports.registry.removeDeletedQueue = () => Promise.resolve((left -= 1) === 0);
    await receive(ofQueue);
    expect(ordered).toEqual([{ operation: ofQueue, delaySeconds: 0 }]);
    expect(await record(delivery.key)).toEqual(delivery);
    await receive(ofQueue);
    expect(await record(delivery.key)).toMatchObject({ status: 'cancelled', reason: 'queue_deleted' });
  });
});
