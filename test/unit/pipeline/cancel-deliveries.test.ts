import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery.ts';
import type { CancellationOperation } from '../../../shared/domain/operation.ts';
import { ContendedCancellationError } from '../../../shared/pipeline/cancel-deliveries.ts';
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

  it('comes by again after a minute for what was under way, and removes the mark only then', async () => {
    const { keep, put, ports, receive, ordered, record, work } = operateWorld();
    await keep(aRetrying());
    await ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: ORDERED_AT });
    await receive(ofSubscription);
    expect(ordered).toEqual([{ operation: ofSubscription, delaySeconds: 60 }]);
    expect(await ports.registry.findSubscription('orders', 's-1')).toBeDefined();
    const late = await put(aRetrying({ messageId: 'late' }));
    expect(await work()).toBe(1);
    expect(await record(late.key)).toMatchObject({ status: 'cancelled' });
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
    expect(await work()).toBe(3);
    expect(ordered).toEqual([]);
    for (const { key } of all) expect(await record(key)).toMatchObject({ status: 'cancelled' });
  });

  it('comes again where a delivery kept changing', async () => {
    const { keep, ports, receive } = operateWorld();
    await keep(aRetrying());
    ports.deliveries.write = () => Promise.resolve({ kind: 'refused', current: aRetrying() });
    const failure = await receive(ofSubscription).catch((error: unknown) => error);
    expect(failure).toMatchObject({ errors: [expect.any(ContendedCancellationError)] });
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
});
