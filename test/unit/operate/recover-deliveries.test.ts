import { describe, expect, it } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { SOME_TIME, anAttempt } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, ORDERED_AT } from '../../support/in-memory/operate-world.ts';

const MINUTE_MS = 60_000;

const withOne = async (overrides: Partial<Delivery> = {}) => {
  const world = operateWorld();
  const delivery = await world.keep(anExhausted({}, overrides));
  return { ...world, delivery };
};

describe('a recovery', () => {
  it('gives a delivery another round, wakes it, and is completed', async () => {
    const { order, work, record, woken, delivery, ports } = await withOne();
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 1, reopened: 1, skipped: {} });
    expect(await record(delivery.key)).toMatchObject({
      status: 'retrying',
      round: 2,
      recoveries: [recovery.id],
      next: { number: 2, phase: 'manual' },
    });
    expect(woken).toMatchObject([{ key: delivery.key, attempt: 2 }]);
    expect(ports.journal.facts).toContainEqual({
      fact: 'recovery_completed',
      queue: 'orders',
      recoveryId: recovery.id,
      found: 1,
      reopened: 1,
    });
  });

  it.each<{ name: string; overrides: Partial<Delivery> }>([
    { name: 'rejected', overrides: { status: 'rejected', reason: 'http_404' } },
    { name: 'exhausted', overrides: {} },
    {
      name: 'cancelled while its subscription was disabled',
      overrides: { status: 'cancelled', reason: 'disabled', attempts: [] },
    },
  ])('is about what is $name', async ({ overrides }) => {
    const { order, work } = await withOne(overrides);
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({ found: 1, reopened: 1 });
  });

  it.each<{ name: string; overrides: Partial<Delivery> }>([
    { name: 'delivered', overrides: { status: 'delivered' } },
    { name: 'retrying', overrides: { status: 'retrying' } },
    { name: 'pending', overrides: { status: 'pending', attempts: [] } },
    { name: 'cancelled by hand', overrides: { status: 'cancelled', reason: 'manual' } },
    {
      name: 'exhausted since it was ordered',
      overrides: { attempts: [anAttempt({ startedAt: ORDERED_AT - 5, durationMs: 6 })] },
    },
    {
      name: 'cancelled since it was ordered',
      overrides: { status: 'cancelled', reason: 'disabled', attempts: [], updatedAt: ORDERED_AT + 1 },
    },
    { name: 'accepted before the window', overrides: { acceptedAt: SOME_TIME - 2 * 24 * 60 * MINUTE_MS } },
    { name: 'accepted after the window', overrides: { acceptedAt: ORDERED_AT } },
  ])('is not about what was $name', async ({ overrides }) => {
    const { order, work, record, delivery, woken } = await withOne(overrides);
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 0, reopened: 0, skipped: {} });
    expect(await record(delivery.key)).toEqual(delivery);
    expect(woken).toEqual([]);
  });

  it('is about one subscription or one status where it says so, and then about what was cancelled by hand', async () => {
    const { order, work, keep, record } = operateWorld();
    const all = await Promise.all([
      keep(anExhausted({ subscriptionId: 's-1' })),
      keep(anExhausted({ subscriptionId: 's-2' })),
      keep(
        anExhausted({ subscriptionId: 's-2', messageId: 'm-2' }, { status: 'cancelled', reason: 'manual' }),
      ),
      keep(anExhausted({ subscriptionId: 's-2', messageId: 'm-3' }, { status: 'rejected', reason: 'gone' })),
    ]);
    const roundsOf = () => Promise.all(all.map(async ({ key }) => (await record(key)).round));
    await order({ subscriptionId: 's-2', status: 'cancelled' });
    await work();
    expect(await roundsOf()).toEqual([1, 1, 2, 1]);
  });

  it('goes through page after page, in a record that stays small', async () => {
    const { order, work, keep, beforeSave } = operateWorld();
    const count = 120;
    for (let index = 0; index < count; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    const batches: number[] = [];
    beforeSave(({ batch }) => batches.push(batch.length));
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: count, reopened: count });
    expect(batches).toEqual([50, 40, 30, 20, 10, 50, 40, 30, 20, 10, 20, 10, 0]);
  });

  it('goes on in a new message when the time runs short, and loses nothing on the way', async () => {
    const { order, work, keep, ports, time, ordered } = operateWorld();
    for (let index = 0; index < 75; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    // Ten at once take 30 s: two times ten are all that one invocation has time for.
    ports.wakeUps.sendDelayed = () => {
      time.now += 3_000;
      return Promise.resolve();
    };
    const recovery = await order();
    expect(await work()).toBe(8);
    expect(ordered).toEqual([]);
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 75, reopened: 75 });
  });

  it('is not about what fails again while it runs, though a page is gone through twice', async () => {
    const { order, work, record, woken, delivery, ports, time, beforeSave } = await withOne();
    let saves = 0;
    beforeSave(async () => {
      saves += 1;
      if (saves !== 2) return;
      // It failed for good within a second, before the recovery could write down that it had reopened it.
      const attempt = anAttempt({ number: 2, round: 2, startedAt: time.now, durationMs: 100 });
      const { expiresAt } = delivery;
      const change = {
        status: 'exhausted' as const,
        next: null,
        appendAttempt: attempt,
        updatedAt: time.now,
        expiresAt,
      };
      await ports.deliveries.write({
        name: 'record',
        key: delivery.key,
        expect: { kind: 'present' },
        change,
      });
      throw new Error('the network is gone');
    });
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 1, reopened: 1 });
    expect((await record(delivery.key)).round).toBe(2);
    expect(woken).toHaveLength(1);
  });

  it('reopens again what an earlier one reopened, once it has failed again', async () => {
    const { order, work, record, delivery, ports, time } = await withOne();
    await order();
    await work();
    const attempt = anAttempt({ number: 2, round: 2, startedAt: time.now, durationMs: 100 });
    const change = { status: 'exhausted' as const, next: null, appendAttempt: attempt, updatedAt: time.now };
    const { expiresAt } = delivery;
    await ports.deliveries.write({
      name: 'record',
      key: delivery.key,
      expect: { kind: 'present' },
      change: { ...change, expiresAt },
    });
    time.now += MINUTE_MS;
    const second = await order();
    await work();
    expect(await second.found()).toMatchObject({ found: 1, reopened: 1 });
    expect((await record(delivery.key)).round).toBe(3);
  });

  it('counts what it cannot reopen by its reason', async () => {
    const { order, work, keep, put, ports } = operateWorld();
    await keep(anExhausted({ messageId: 'kept' }));
    await put(anExhausted({ messageId: 'bare' }));
    for (const messageId of ['x', 'y']) await keep(anExhausted({ messageId, subscriptionId: 's-2' }));
    await ports.registry.disable('orders', 's-2', { reason: 'gone', at: 0 });
    const recovery = await order();
    await work();
    expect(await recovery.found()).toMatchObject({
      state: 'completed',
      found: 4,
      reopened: 1,
      skipped: { body_gone: 1, subscription_absent: 2 },
    });
  });
});
