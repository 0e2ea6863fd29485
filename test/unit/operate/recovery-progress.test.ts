import { describe, expect, it } from 'vitest';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-schema.ts';
import { SOME_TIME, type DeliveryFields } from '../../support/delivery-builders.ts';
import { anExhausted, operateWorld, REQUESTED_AT } from '../../support/in-memory/operate-world.ts';

const withOne = async (overrides: DeliveryFields = {}) => {
  const world = operateWorld();
  const delivery = await world.keep(anExhausted({}, overrides));
  return { ...world, delivery };
};

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
