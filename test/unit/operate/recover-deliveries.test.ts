import { describe, expect, it } from 'vitest';
import { SOME_TIME, anAttempt, type DeliveryFields } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, REQUESTED_AT } from '../../support/in-memory/operate-world.ts';

const MINUTE_MS = 60_000;

const withOne = async (overrides: DeliveryFields = {}) => {
  const world = operateWorld();
  const delivery = await world.keep(anExhausted({}, overrides));
  return { ...world, delivery };
};

describe('a recovery', () => {
  it('starts another round of a delivery, wakes it, and completes', async () => {
    const { startRecovery, work, record, woken, delivery, ports } = await withOne();
    const recovery = await startRecovery();
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

  it.each<{ name: string; overrides: DeliveryFields }>([
    { name: 'rejected', overrides: { status: 'rejected', reason: 'http_404' } },
    { name: 'exhausted', overrides: {} },
    {
      name: 'cancelled while its subscription was disabled',
      overrides: { status: 'cancelled', reason: 'disabled', attempts: [] },
    },
  ])('selects a delivery that is $name', async ({ overrides }) => {
    const { startRecovery, work } = await withOne(overrides);
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({ found: 1, reopened: 1 });
  });

  it.each<{ name: string; overrides: DeliveryFields }>([
    { name: 'delivered', overrides: { status: 'delivered' } },
    { name: 'retrying', overrides: { status: 'retrying' } },
    { name: 'pending', overrides: { status: 'pending', attempts: [] } },
    { name: 'cancelled manually', overrides: { status: 'cancelled', reason: 'manual' } },
    {
      name: 'exhausted after the recovery was requested',
      overrides: { attempts: [anAttempt({ startedAt: REQUESTED_AT - 5, durationMs: 6 })] },
    },
    {
      name: 'cancelled after the recovery was requested',
      overrides: { status: 'cancelled', reason: 'disabled', attempts: [], updatedAt: REQUESTED_AT + 1 },
    },
    { name: 'accepted before the window', overrides: { acceptedAt: SOME_TIME - 2 * 24 * 60 * MINUTE_MS } },
    { name: 'accepted after the window', overrides: { acceptedAt: REQUESTED_AT } },
  ])('does not select a delivery that was $name', async ({ overrides }) => {
    const { startRecovery, work, record, delivery, woken } = await withOne(overrides);
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 0, reopened: 0, skipped: {} });
    expect(await record(delivery.key)).toEqual(delivery);
    expect(woken).toEqual([]);
  });

  it('selects by subscription and status if given, and then also manual cancellations', async () => {
    const { startRecovery, work, keep, record } = operateWorld();
    const all = await Promise.all([
      keep(anExhausted({ subscriptionId: 's-1' })),
      keep(anExhausted({ subscriptionId: 's-2' })),
      keep(
        anExhausted({ subscriptionId: 's-2', messageId: 'm-2' }, { status: 'cancelled', reason: 'manual' }),
      ),
      keep(anExhausted({ subscriptionId: 's-2', messageId: 'm-3' }, { status: 'rejected', reason: 'gone' })),
    ]);
    const roundsOf = () => Promise.all(all.map(async ({ key }) => (await record(key)).round));
    await startRecovery({ subscriptionId: 's-2', status: 'cancelled' });
    await work();
    expect(await roundsOf()).toEqual([1, 1, 2, 1]);
  });

  it('processes page after page with a small record', async () => {
    const { startRecovery, work, keep, beforeSave } = operateWorld();
    const count = 120;
    for (let index = 0; index < count; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    const batches: number[] = [];
    beforeSave(({ batch }) => batches.push(batch.length));
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: count, reopened: count });
    expect(batches).toEqual([50, 40, 30, 20, 10, 50, 40, 30, 20, 10, 20, 10, 0]);
  });

  it('continues in a new message when the time runs out, without losing a delivery', async () => {
    const { startRecovery, work, keep, ports, time, queued } = operateWorld();
    for (let index = 0; index < 75; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    // Ten concurrent wake-ups take 30 s: an invocation has time for two groups of ten.
    ports.wakeUps.sendDelayed = () => {
      time.now += 3_000;
      return Promise.resolve();
    };
    const recovery = await startRecovery();
    expect(await work()).toBe(8);
    expect(queued).toEqual([]);
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 75, reopened: 75 });
  });

  it('does not reopen a delivery that fails again during the recovery, even if a page is repeated', async () => {
    const { startRecovery, work, record, woken, delivery, ports, time, beforeSave } = await withOne();
    let saves = 0;
    beforeSave(async () => {
      saves += 1;
      if (saves !== 2) return;
      // It failed again within a second, before the recovery recorded that it was reopened.
      const attempt = anAttempt({ number: 2, round: 2, startedAt: time.now, durationMs: 100 });
      const { expiresAt } = delivery;
      const change = {
        status: 'exhausted' as const,
        reason: 'retries_exhausted' as const,
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
      throw new Error('the network is down');
    });
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 1, reopened: 1 });
    expect((await record(delivery.key)).round).toBe(2);
    expect(woken).toHaveLength(1);
  });

  it('reopens a delivery again that failed after an earlier recovery', async () => {
    const { startRecovery, work, record, delivery, ports, time } = await withOne();
    await startRecovery();
    await work();
    const attempt = anAttempt({ number: 2, round: 2, startedAt: time.now, durationMs: 100 });
    const end = { status: 'exhausted', reason: 'retries_exhausted' } as const;
    const change = { ...end, appendAttempt: attempt, updatedAt: time.now };
    const { expiresAt } = delivery;
    await ports.deliveries.write({
      name: 'record',
      key: delivery.key,
      expect: { kind: 'present' },
      change: { ...change, expiresAt },
    });
    time.now += MINUTE_MS;
    const second = await startRecovery();
    await work();
    expect(await second.found()).toMatchObject({ found: 1, reopened: 1 });
    expect((await record(delivery.key)).round).toBe(3);
  });

  it('counts the deliveries that it cannot reopen by reason', async () => {
    const { startRecovery, work, keep, put, ports } = operateWorld();
    await keep(anExhausted({ messageId: 'kept' }));
    await put(anExhausted({ messageId: 'bare' }));
    for (const messageId of ['x', 'y']) await keep(anExhausted({ messageId, subscriptionId: 's-2' }));
    await ports.registry.disable('orders', 's-2', { reason: 'gone', at: 0 });
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({
      state: 'completed',
      found: 4,
      reopened: 1,
      skipped: { body_gone: 1, subscription_absent: 2 },
    });
  });
});
