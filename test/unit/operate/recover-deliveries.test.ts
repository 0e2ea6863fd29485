import { describe, expect, it } from 'vitest';
import { anAttempt, type DeliveryFields, SOME_TIME } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, REQUESTED_AT } from '../../support/in-memory/operate-world.ts';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-schema.ts';

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

describe('a delivery with pending steps', () => {
  it('is checked again a minute later and reopened when they are done', async () => {
    const { startRecovery, work, delivery, ports, record, queued, receive, time } = await withOne({
      pendingSteps: [{ kind: 'undeliverable' }],
    });
    const recovery = await startRecovery();
    const [first] = queued.splice(0);
    if (first !== undefined) await receive(first.operation);
    expect(await recovery.found()).toMatchObject({ state: 'running', found: 0 });
    expect(queued).toMatchObject([{ delaySeconds: 60 }]);
    const change = { pendingSteps: [], updatedAt: time.now, expiresAt: delivery.expiresAt };
    await ports.deliveries.write({ name: 'settle', key: delivery.key, expect: { kind: 'present' }, change });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 1, reopened: 1, skipped: {} });
    expect((await record(delivery.key)).round).toBe(2);
  });

  it('is given up after five tries, and counted', async () => {
    const { startRecovery, work, delivery, record } = await withOne({
      pendingSteps: [{ kind: 'undeliverable' }],
    });
    const recovery = await startRecovery();
    expect(await work()).toBe(6);
    expect(await recovery.found()).toMatchObject({
      state: 'completed',
      found: 1,
      reopened: 0,
      skipped: { being_closed: 1 },
    });
    expect(await record(delivery.key)).toEqual(delivery);
  });

  it('blocks neither later pages nor the size of the record, however many there are', async () => {
    const { startRecovery, work, keep, beforeSave } = operateWorld();
    for (let index = 0; index < 230; index += 1) {
      const pendingSteps = index < 200 ? ([{ kind: 'undeliverable' }] as const) : [];
      await keep(anExhausted({ messageId: `m-${String(index).padStart(3, '0')}` }, { pendingSteps }));
    }
    let widest = 0;
    beforeSave(({ batch, deferred }) => {
      widest = Math.max(widest, batch.length + deferred.length);
    });
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({
      state: 'completed',
      found: 230,
      reopened: 30,
      skipped: { being_closed: 200 },
    });
    expect(widest).toBeLessThanOrEqual(150);
  });
});

describe('a recovery operation', () => {
  it('without a record yet is retried until the record can no longer appear', async () => {
    const { ports, work, time, queued } = operateWorld();
    const orderedAt = time.now;
    await ports.operations.send({ kind: 'recovery', queue: 'orders', recoveryId: 'r', orderedAt });
    expect(await work()).toBe(5);
    expect(queued).toEqual([]);
    expect(ports.journal.facts.at(-1)).toEqual({
      fact: 'operation_dropped',
      operation: 'recovery',
      queue: 'orders',
    });
  });

  it('that is received twice concurrently is done by one invocation, and checked by another message', async () => {
    const { startRecovery, receive, queued, keep, record, work } = operateWorld();
    const all = [];
    for (let index = 0; index < 60; index += 1)
      all.push(await keep(anExhausted({ messageId: `m-${index}` })));
    const recovery = await startRecovery();
    queued.length = 0;
    await Promise.all([receive(recovery.operation), receive(recovery.operation)]);
    expect(queued).toMatchObject([{ delaySeconds: 45 }]);
    await work();
    expect(await recovery.found()).toMatchObject({
      state: 'completed',
      found: 60,
      reopened: 60,
      skipped: {},
    });
    for (const { key } of all) expect((await record(key)).round).toBe(2);
  });

  it('that is redelivered after completion is a no-op', async () => {
    const { startRecovery, work, receive, woken } = await withOne();
    const recovery = await startRecovery();
    await work();
    const before = await recovery.found();
    await receive(recovery.operation);
    expect(await recovery.found()).toEqual(before);
    expect(woken).toHaveLength(1);
  });
});

describe('a recovery whose invocation crashes during a page', () => {
  it('shows its progress and continues from there on redelivery', async () => {
    const { startRecovery, receive, work, keep, ports, woken, queued } = operateWorld();
    for (let index = 0; index < 50; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    const sendDelayed = ports.wakeUps.sendDelayed;
    const crashed = Promise.withResolvers<undefined>();
    ports.wakeUps.sendDelayed = (wakeUp) => {
      if (woken.length < 35) return sendDelayed(wakeUp);
      crashed.resolve(undefined);
      return new Promise(() => undefined);
    };
    const recovery = await startRecovery();
    const [first] = queued.splice(0);
    if (first === undefined) throw new Error('no operation was sent');
    void receive(first.operation);
    await crashed.promise;
    expect(await recovery.found()).toMatchObject({ state: 'running', found: 30, reopened: 30 });

    ports.wakeUps.sendDelayed = sendDelayed;
    queued.push({ operation: first.operation, delaySeconds: 45 });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: 50, reopened: 50 });
  });
});

describe('the pages of a recovery', () => {
  it('contain each delivery once, however often it was deferred or received', async () => {
    const { startRecovery, work, keep, ports, receive } = operateWorld();
    for (let index = 0; index < 120; index += 1) {
      const pendingSteps = index % 10 === 0 ? ([{ kind: 'undeliverable' }] as const) : [];
      await keep(anExhausted({ messageId: `m-${index}` }, { pendingSteps }));
    }
    const recovery = await startRecovery();
    await Promise.all([receive(recovery.operation), receive(recovery.operation)]);
    await work();
    const { items } = await ports.recoveries.keptPages('orders', recovery.id, { limit: 100 });
    expect(items.map(({ keys }) => keys.length)).toEqual([50, 50, 20]);
    expect(new Set(items.flatMap(({ keys }) => keys.map(({ messageId }) => messageId))).size).toBe(120);
    expect(await recovery.found()).toMatchObject({ found: 120, reopened: 108, pages: 3 });
  });

  it('are kept as long as the records of their deliveries, also in a long recovery', async () => {
    const { startRecovery, work, ports, settings } = await withOne();
    const keepPage = ports.recoveries.keepPage.bind(ports.recoveries);
    const expiries: number[] = [];
    ports.recoveries.keepPage = (recovery) => {
      expiries.push(recovery.expiresAt);
      return keepPage(recovery);
    };
    await startRecovery();
    await work();
    expect(expiries).toEqual([
      REQUESTED_AT + settings.retentionMs + longestScheduleMs(settings.retryAfterCapMs),
    ]);
  });

  it('do not contain deferred deliveries again after a page without deliveries to reopen', async () => {
    const { startRecovery, work, keep, ports } = operateWorld();
    for (let index = 0; index < 50; index += 1)
      await keep(
        anExhausted(
          { messageId: `m-${index}` },
          { acceptedAt: SOME_TIME + index, pendingSteps: [{ kind: 'undeliverable' }] },
        ),
      );
    await keep(anExhausted({ messageId: 'm-open' }, { acceptedAt: SOME_TIME + 50, status: 'retrying' }));
    const recovery = await startRecovery();
    await work();
    const { items } = await ports.recoveries.keptPages('orders', recovery.id, { limit: 100 });
    expect(items.map(({ keys }) => keys.length)).toEqual([50]);
    expect(await recovery.found()).toMatchObject({ state: 'completed', pages: 2 });
  });

  it('are not stored for a recovery that an earlier version has begun', async () => {
    const { startRecovery, work, ports, record, delivery } = await withOne();
    const recovery = await startRecovery();
    const { pages: _, ...earlier } = await recovery.found();
    await ports.recoveries.save({ ...earlier, version: 2 });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 1 });
    expect(await recovery.found()).not.toHaveProperty('pages');
    expect((await record(delivery.key)).round).toBe(2);
    expect(await ports.recoveries.keptPages('orders', recovery.id, { limit: 9 })).toEqual({ items: [] });
  });
});

describe('a recovery that is stopped', () => {
  it('starts no other page and counts what was reopened', async () => {
    const { startRecovery, work, keep, ports, woken } = operateWorld();
    for (let index = 0; index < 120; index += 1) await keep(anExhausted({ messageId: `m-${index}` }));
    const recovery = await startRecovery();
    ports.wakeUps.sendDelayed = async (wakeUp) => {
      woken.push(wakeUp);
      if (woken.length !== 55) return;
      const current = await recovery.found();
      await ports.recoveries.save({ ...current, state: 'stopped', version: current.version + 1 });
    };
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, batch: [] });
    expect(woken).toHaveLength(60);
  });
});

describe('a recovery of 2,000 deliveries', () => {
  it('never reads, stores or processes more than a page at a time', async () => {
    const { startRecovery, work, keep, ports, beforeSave } = operateWorld();
    const count = 2_000;
    for (let index = 0; index < count; index += 1) {
      await keep(anExhausted({ messageId: `m-${index}` }, { acceptedAt: SOME_TIME + index }));
    }
    const most = { page: 0, records: 0, kept: 0, concurrent: 0 };
    const listings = { ...ports.deliveryListings };
    ports.deliveryListings.oldest = (selection, page) => {
      most.page = Math.max(most.page, page.limit);
      return listings.oldest(selection, page);
    };
    ports.deliveryListings.records = (keys) => {
      most.records = Math.max(most.records, keys.length);
      return listings.records(keys);
    };
    beforeSave(({ batch, deferred }) => {
      most.kept = Math.max(most.kept, batch.length + deferred.length);
    });
    const messages = { ...ports.messageRecords };
    let inFlight = 0;
    ports.messageRecords.find = async (key) => {
      inFlight += 1;
      most.concurrent = Math.max(most.concurrent, inFlight);
      const found = await messages.find(key);
      inFlight -= 1;
      return found;
    };
    const recovery = await startRecovery();
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', found: count, reopened: count });
    expect(most).toEqual({ page: 50, records: 10, kept: 50, concurrent: 10 });
  });
});

/** A recovery of more than a page with one faulty delivery on the first page. */
const withFaultyDelivery = async () => {
  const world = operateWorld();
  for (let index = 0; index < 60; index += 1) {
    await world.keep(anExhausted({ messageId: index === 7 ? 'faulty' : `m-${index}` }));
  }
  const recovery = await world.startRecovery();
  const failures = () => world.ports.journal.facts.filter(({ fact }) => fact === 'operation_failed_for');
  return { ...world, recovery, failures };
};

const ALL_BUT_ONE = { state: 'completed', found: 60, reopened: 59, skipped: { fault: 1 }, deferred: [] };

describe('a delivery that a recovery cannot process', () => {
  it('is counted as a fault after five more tries in half an hour, and does not block the others', async () => {
    const { ports, recovery, work, time, queued, failures } = await withFaultyDelivery();
    const write = ports.deliveries.write.bind(ports.deliveries);
    ports.deliveries.write = (transition) =>
      transition.key.messageId === 'faulty'
        ? Promise.reject(new RangeError('the item is too large'))
        : write(transition);
    const begunAt = time.now;
    await work();
    expect(queued).toEqual([]);
    expect(time.now - begunAt).toBe(30 * 60_000);
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
    expect(failures()[0]).toMatchObject({
      operation: 'recovery',
      key: { messageId: 'faulty' },
      error: { name: 'RangeError' },
    });
  });

  it('is reopened if the fault is transient', async () => {
    const { ports, recovery, work, woken } = await withFaultyDelivery();
    let failures = 2;
    ports.wakeUps.sendDelayed = (wakeUp) => {
      if (wakeUp.key.messageId === 'faulty' && failures > 0) {
        failures -= 1;
        return Promise.reject(new Error('throttled'));
      }
      woken.push(wakeUp);
      return Promise.resolve();
    };
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
    expect(woken).toHaveLength(60);
  });

  it('is counted as reopened if only its wake-up failed, which reconcile repeats', async () => {
    const { ports, recovery, work } = await withFaultyDelivery();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'faulty' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });

  it('is counted as a fault if its record cannot be read', async () => {
    const { ports, recovery, work, failures } = await withFaultyDelivery();
    const listings = { ...ports.deliveryListings };
    const isFaulty = ({ messageId }: { messageId: string }) => messageId === 'faulty';
    ports.deliveryListings.records = async (keys) => ({
      ...(await listings.records(keys.filter((key) => !isFaulty(key)))),
      unreadable: keys.filter(isFaulty).map((key) => ({ key, error: new TypeError('unreadable') })),
    });
    await work();
    expect(await recovery.found()).toMatchObject(ALL_BUT_ONE);
    expect(failures()).toHaveLength(6);
  });

  it('is counted once if the recovery is stopped after its record was written', async () => {
    const { ports, recovery, workOnce, work } = await withFaultyDelivery();
    const sendDelayed = ports.wakeUps.sendDelayed.bind(ports.wakeUps);
    ports.wakeUps.sendDelayed = (wakeUp) =>
      wakeUp.key.messageId === 'faulty' ? Promise.reject(new Error('throttled')) : sendDelayed(wakeUp);
    await workOnce();
    const current = await recovery.found();
    expect(current).toMatchObject({ state: 'running', reopened: 59 });
    await ports.recoveries.save({ ...current, state: 'stopped', version: current.version + 1 });
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, deferred: [] });
  });
});

describe('a service that is down during a whole recovery', () => {
  it('makes the operation return and costs no delivery its round', async () => {
    const { ports, recovery, workOnce, work, queued } = await withFaultyDelivery();
    const recoveries = { ...ports.recoveries };
    const listings = { ...ports.deliveryListings };
    ports.recoveries.save = () => Promise.reject(new Error('DynamoDB is down'));
    ports.deliveryListings.oldest = () => Promise.reject(new Error('DynamoDB is down'));
    await workOnce();
    expect(queued).toHaveLength(1);
    Object.assign(ports.recoveries, recoveries);
    Object.assign(ports.deliveryListings, listings);
    await work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 60, skipped: {} });
  });
});
