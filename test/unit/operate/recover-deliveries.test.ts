import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { isSelected, newRecovery } from '../../../shared/domain/recovery/recovery.ts';
import { longestScheduleMs } from '../../../shared/domain/retry/policy-schema.ts';
import { aDelivery, anAttempt, type DeliveryFields, SOME_TIME } from '../../support/delivery-builders.ts';
import {
  anExhausted,
  operateWorld,
  type OperateWorld,
  REQUESTED_AT,
} from '../../support/in-memory/operate-world.ts';

const MINUTE_MS = 60_000;
const UNDELIVERED: DeliveryFields = { pendingSteps: [{ kind: 'undeliverable' }] };
let world: OperateWorld;

beforeEach(() => {
  world = operateWorld();
});

const keepOne = (overrides: DeliveryFields = {}) => world.keep(anExhausted({}, overrides));

/** Records that the second round of a delivery failed too. */
const failAgain = ({ key, expiresAt }: Delivery) => {
  const updatedAt = world.time.now;
  return world.ports.deliveries.write({
    name: 'record',
    key,
    expect: { kind: 'present' },
    change: {
      status: 'exhausted',
      reason: 'retries_exhausted',
      appendAttempt: anAttempt({ number: 2, round: 2, startedAt: updatedAt, durationMs: 100 }),
      updatedAt,
      expiresAt,
    },
  });
};

/** A recovery that processed all that it found. */
const completed = (found: number, reopened = found, skipped = {}) => ({
  state: 'completed',
  found,
  reopened,
  skipped,
});

/** As an operator stops it. */
const stop = async (recovery: Awaited<ReturnType<OperateWorld['startRecovery']>>): Promise<void> => {
  const current = await recovery.found();
  await world.ports.recoveries.save({ ...current, state: 'stopped', version: current.version + 1 });
};

describe('a recovery', () => {
  it('starts another round of a delivery, wakes it, and completes', async () => {
    const { key } = await keepOne();
    const recovery = await world.recover();
    expect(recovery).toMatchObject(completed(1));
    expect(await world.record(key)).toMatchObject({
      status: 'retrying',
      round: 2,
      recoveries: [recovery.id],
      next: { number: 2, phase: 'manual' },
    });
    expect(world.woken).toMatchObject([{ key, attempt: 2 }]);
    expect(world.facts('recovery_completed')).toEqual([
      { fact: 'recovery_completed', queue: 'orders', recoveryId: recovery.id, found: 1, reopened: 1 },
    ]);
  });

  it.each<[string, DeliveryFields]>([
    ['rejected', { status: 'rejected', reason: 'http_404' }],
    [
      'cancelled while its subscription was disabled',
      { status: 'cancelled', reason: 'disabled', attempts: [] },
    ],
  ])('selects a delivery that is %s', async (_, overrides) => {
    await keepOne(overrides);
    expect(await world.recover()).toMatchObject({ found: 1, reopened: 1 });
  });

  it('of one status leaves a delivery that ended in another since it was listed', () => {
    const selection = { queue: 'orders', since: 0, until: SOME_TIME, status: 'rejected' } as const;
    const recovery = newRecovery('id', selection, { now: REQUESTED_AT, retentionMs: 1 });
    expect(isSelected(recovery, aDelivery({ status: 'rejected' }))).toBe(true);
    expect(isSelected(recovery, aDelivery({ status: 'exhausted' }))).toBe(false);
  });

  it.each<[string, DeliveryFields]>([
    ['delivered', { status: 'delivered' }],
    ['retrying', { status: 'retrying' }],
    ['pending', { status: 'pending', attempts: [] }],
    ['cancelled manually', { status: 'cancelled', reason: 'manual' }],
    [
      'exhausted after the recovery was requested',
      { attempts: [anAttempt({ startedAt: REQUESTED_AT - 5, durationMs: 6 })] },
    ],
    [
      'cancelled after the recovery was requested',
      { status: 'cancelled', reason: 'disabled', attempts: [], updatedAt: REQUESTED_AT + 1 },
    ],
    ['accepted before the window', { acceptedAt: SOME_TIME - 2 * 24 * 60 * MINUTE_MS }],
    ['accepted after the window', { acceptedAt: REQUESTED_AT }],
  ])('does not select a delivery that was %s', async (_, overrides) => {
    const delivery = await keepOne(overrides);
    expect(await world.recover()).toMatchObject(completed(0));
    expect(await world.record(delivery.key)).toEqual(delivery);
    expect(world.woken).toEqual([]);
  });

  it('by the time of the failure selects what ended in the window, whenever it was accepted', async () => {
    const endedAt = (at: number): DeliveryFields => ({
      acceptedAt: SOME_TIME,
      attempts: [anAttempt({ startedAt: at - 100, durationMs: 100 })],
    });
    const [since, until] = [SOME_TIME + 10 * MINUTE_MS, SOME_TIME + 20 * MINUTE_MS];
    const ends = [since - 1, since, until - 1, until];
    const kept = await world.keepMany(4, (index) => endedAt(ends[index] ?? 0));
    const old = anExhausted({ messageId: 'old' }, { ...endedAt(since), acceptedAt: SOME_TIME - 1 });
    await world.keep(old);
    const recovery = await world.recover({ since, until, acceptedSince: SOME_TIME });
    expect(recovery).toMatchObject(completed(2));
    const rounds = await Promise.all([...kept, old].map(async ({ key }) => (await world.record(key)).round));
    expect(rounds).toEqual([1, 2, 2, 1, 1]);
  });

  it('selects by subscription and status if given, and then also manual cancellations', async () => {
    const all = await Promise.all([
      world.keep(anExhausted({ subscriptionId: 's-1' })),
      world.keep(anExhausted({ subscriptionId: 's-2' })),
      world.keep(
        anExhausted({ subscriptionId: 's-2', messageId: 'm-2' }, { status: 'cancelled', reason: 'manual' }),
      ),
      world.keep(
        anExhausted({ subscriptionId: 's-2', messageId: 'm-3' }, { status: 'rejected', reason: 'gone' }),
      ),
    ]);
    await world.recover({ subscriptionId: 's-2', status: 'cancelled' });
    const rounds = await Promise.all(all.map(async ({ key }) => (await world.record(key)).round));
    expect(rounds).toEqual([1, 1, 2, 1]);
  });

  it('continues in a new message when the time runs out, without losing a delivery', async () => {
    await world.keepMany(75);
    // Ten concurrent wake-ups take 30 s: an invocation has time for two groups of ten.
    world.ports.wakeUps.sendDelayed = () => {
      world.time.now += 3_000;
      return Promise.resolve();
    };
    const recovery = await world.startRecovery();
    expect(await world.work()).toBe(8);
    expect(world.queued).toEqual([]);
    expect(await recovery.found()).toMatchObject(completed(75));
  });

  it('leaves out none for which the time ran out while their records were read', async () => {
    await world.keepMany(20);
    const { deliveryListings } = world.ports;
    const read = deliveryListings.records.bind(deliveryListings);
    vi.spyOn(deliveryListings, 'records').mockImplementationOnce((keys) => {
      world.time.now += 25_000;
      return read(keys);
    });
    expect(await world.recover()).toMatchObject(completed(20));
  });

  it('does not reopen a delivery that fails again during the recovery, even if a page is repeated', async () => {
    const delivery = await keepOne();
    let saves = 0;
    world.beforeSave(async () => {
      saves += 1;
      if (saves !== 2) return;
      // It failed again within a second, before the recovery recorded that it was reopened.
      await failAgain(delivery);
      throw new Error('the network is down');
    });
    expect(await world.recover()).toMatchObject(completed(1));
    expect((await world.record(delivery.key)).round).toBe(2);
    expect(world.woken).toHaveLength(1);
  });

  it('reopens a delivery again that failed after an earlier recovery', async () => {
    const delivery = await keepOne();
    await world.recover();
    await failAgain(delivery);
    world.time.now += MINUTE_MS;
    expect(await world.recover()).toMatchObject({ found: 1, reopened: 1 });
    expect((await world.record(delivery.key)).round).toBe(3);
  });

  it('counts the deliveries that it cannot reopen by reason', async () => {
    await world.keep(anExhausted({ messageId: 'kept' }));
    await world.put(anExhausted({ messageId: 'bare' }));
    for (const messageId of ['x', 'y']) await world.keep(anExhausted({ messageId, subscriptionId: 's-2' }));
    await world.ports.registry.disable('orders', 's-2', { reason: 'gone', at: 0 });
    expect(await world.recover()).toMatchObject(completed(4, 1, { body_gone: 1, subscription_absent: 2 }));
  });
});

describe('a delivery with pending steps', () => {
  it('is checked again a minute later and reopened when they are done', async () => {
    const { key, expiresAt } = await keepOne(UNDELIVERED);
    const recovery = await world.startRecovery();
    await world.workOnce();
    expect(await recovery.found()).toMatchObject({ state: 'running', found: 0 });
    expect(world.queued).toMatchObject([{ delaySeconds: 60 }]);
    const change = { pendingSteps: [], updatedAt: world.time.now, expiresAt };
    await world.ports.deliveries.write({ name: 'settle', key, expect: { kind: 'present' }, change });
    await world.work();
    expect(await recovery.found()).toMatchObject(completed(1));
    expect((await world.record(key)).round).toBe(2);
  });

  it('is given up after five tries, and counted', async () => {
    const delivery = await keepOne(UNDELIVERED);
    const recovery = await world.startRecovery();
    expect(await world.work()).toBe(6);
    expect(await recovery.found()).toMatchObject(completed(1, 0, { being_closed: 1 }));
    expect(await world.record(delivery.key)).toEqual(delivery);
  });

  it('blocks neither later pages nor the size of the record, however many there are', async () => {
    await world.keepMany(230, (index) => ({
      acceptedAt: SOME_TIME + index,
      ...(index < 200 ? UNDELIVERED : {}),
    }));
    let widest = 0;
    world.beforeSave(({ batch, deferred }) => {
      widest = Math.max(widest, batch.length + deferred.length);
    });
    expect(await world.recover()).toMatchObject(completed(230, 30, { being_closed: 200 }));
    expect(widest).toBeLessThanOrEqual(150);
  });
});

describe('a recovery operation', () => {
  it('without a record yet is retried until the record can no longer appear', async () => {
    const orderedAt = world.time.now;
    await world.ports.operations.send({ kind: 'recovery', queue: 'orders', recoveryId: 'r', orderedAt });
    expect(await world.work()).toBe(5);
    expect(world.queued).toEqual([]);
    expect(world.ports.journal.facts.at(-1)).toEqual({
      fact: 'operation_dropped',
      operation: 'recovery',
      queue: 'orders',
    });
  });

  it('that is received twice concurrently is done by one invocation, and checked by another message', async () => {
    const all = await world.keepMany(60);
    const recovery = await world.startRecovery();
    world.queued.length = 0;
    await Promise.all([world.receive(recovery.operation), world.receive(recovery.operation)]);
    expect(world.queued).toMatchObject([{ delaySeconds: 45 }]);
    await world.work();
    expect(await recovery.found()).toMatchObject(completed(60));
    for (const { key } of all) expect((await world.record(key)).round).toBe(2);
  });

  it('that is redelivered after completion is a no-op', async () => {
    await keepOne();
    const recovery = await world.startRecovery();
    await world.work();
    const before = await recovery.found();
    await world.receive(recovery.operation);
    expect(await recovery.found()).toEqual(before);
    expect(world.woken).toHaveLength(1);
  });

  it('that crashes during a page shows its progress and continues from there on redelivery', async () => {
    await world.keepMany(50);
    const { sendDelayed } = world.ports.wakeUps;
    const crashed = Promise.withResolvers<undefined>();
    world.ports.wakeUps.sendDelayed = (wakeUp) => {
      if (world.woken.length < 35) return sendDelayed(wakeUp);
      crashed.resolve(undefined);
      return new Promise(() => undefined);
    };
    const recovery = await world.startRecovery();
    world.queued.length = 0;
    void world.receive(recovery.operation);
    await crashed.promise;
    expect(await recovery.found()).toMatchObject({ state: 'running', found: 30, reopened: 30 });

    world.ports.wakeUps.sendDelayed = sendDelayed;
    world.queued.push({ operation: recovery.operation, delaySeconds: 45 });
    await world.work();
    expect(await recovery.found()).toMatchObject(completed(50));
  });
});

describe('the pages of a recovery', () => {
  const keptPages = async (recoveryId: string) =>
    (await world.ports.recoveries.keptPages('orders', recoveryId, { limit: 100 })).items;

  it('contain each delivery once, however often it was deferred or received', async () => {
    await world.keepMany(120, (index) => (index % 10 === 0 ? UNDELIVERED : {}));
    const recovery = await world.startRecovery();
    await Promise.all([world.receive(recovery.operation), world.receive(recovery.operation)]);
    await world.work();
    const pages = await keptPages(recovery.id);
    expect(pages.map(({ keys }) => keys.length)).toEqual([50, 50, 20]);
    expect(new Set(pages.flatMap(({ keys }) => keys.map(({ messageId }) => messageId))).size).toBe(120);
    expect(await recovery.found()).toMatchObject({ found: 120, reopened: 108, pages: 3 });
  });

  it('are kept as long as the records of their deliveries, also in a long recovery', async () => {
    await keepOne();
    const keepPage = vi.spyOn(world.ports.recoveries, 'keepPage');
    await world.recover();
    const { retentionMs, retryAfterCapMs } = world.settings;
    expect(keepPage.mock.calls.map(([{ expiresAt }]) => expiresAt)).toEqual([
      REQUESTED_AT + retentionMs + longestScheduleMs(retryAfterCapMs),
    ]);
  });

  it('do not contain deferred deliveries again after a page without deliveries to reopen', async () => {
    await world.keepMany(51, (index) => ({
      acceptedAt: SOME_TIME + index,
      ...(index < 50 ? UNDELIVERED : { status: 'retrying' }),
    }));
    const recovery = await world.recover();
    expect((await keptPages(recovery.id)).map(({ keys }) => keys.length)).toEqual([50]);
    expect(recovery).toMatchObject({ state: 'completed', pages: 2 });
  });

  it('are not stored for a recovery that an earlier version has begun', async () => {
    const { key } = await keepOne();
    const recovery = await world.startRecovery();
    const { pages: _, ...earlier } = await recovery.found();
    await world.ports.recoveries.save({ ...earlier, version: 2 });
    await world.work();
    expect(await recovery.found()).toMatchObject({ state: 'completed', reopened: 1 });
    expect(await recovery.found()).not.toHaveProperty('pages');
    expect((await world.record(key)).round).toBe(2);
    expect(await keptPages(recovery.id)).toEqual([]);
  });
});

it('a recovery that is stopped starts no other page and counts what was reopened', async () => {
  await world.keepMany(120);
  const recovery = await world.startRecovery();
  world.ports.wakeUps.sendDelayed = async (wakeUp) => {
    world.woken.push(wakeUp);
    if (world.woken.length === 55) await stop(recovery);
  };
  await world.work();
  expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, batch: [] });
  expect(world.woken).toHaveLength(60);
});

it('a recovery of 2,000 deliveries never reads, stores or processes more than a page at a time', async () => {
  const count = 2_000;
  await world.keepMany(count, (index) => ({ acceptedAt: SOME_TIME + index }));
  const { deliveryListings, messageRecords } = world.ports;
  const oldest = vi.spyOn(deliveryListings, 'oldest');
  const records = vi.spyOn(deliveryListings, 'records');
  const kept: number[] = [];
  world.beforeSave(({ batch, deferred }) => kept.push(batch.length + deferred.length));
  const find = messageRecords.find.bind(messageRecords);
  const concurrent: number[] = [];
  let inFlight = 0;
  messageRecords.find = async (key) => {
    inFlight += 1;
    concurrent.push(inFlight);
    const found = await find(key);
    inFlight -= 1;
    return found;
  };
  expect(await world.recover()).toMatchObject(completed(count));
  expect({
    page: Math.max(...oldest.mock.calls.map(([, { limit }]) => limit)),
    records: Math.max(...records.mock.calls.map(([keys]) => keys.length)),
    kept: Math.max(...kept),
    concurrent: Math.max(...concurrent),
  }).toEqual({ page: 50, records: 10, kept: 50, concurrent: 10 });
});

describe('a delivery that a recovery cannot process', () => {
  const ALL_BUT_ONE = { ...completed(60, 59, { fault: 1 }), deferred: [] };

  /** On the first page of the recovery. */
  const isFaulty = ({ messageId }: { messageId: string }) => messageId === 'm-7';

  beforeEach(async () => {
    await world.keepMany(60);
  });

  /** Makes the first `times` wake-ups of the faulty delivery fail. */
  const failWakeUps = (times: number): void => {
    const { sendDelayed } = world.ports.wakeUps;
    let failures = 0;
    world.ports.wakeUps.sendDelayed = (wakeUp) => {
      if (!isFaulty(wakeUp.key) || failures === times) return sendDelayed(wakeUp);
      failures += 1;
      return Promise.reject(new Error('throttled'));
    };
  };

  it('is counted as a fault after five more tries in half an hour, and does not block the others', async () => {
    const write = world.ports.deliveries.write.bind(world.ports.deliveries);
    world.ports.deliveries.write = (transition) =>
      isFaulty(transition.key) ? Promise.reject(new RangeError('the item is too large')) : write(transition);
    expect(await world.recover()).toMatchObject(ALL_BUT_ONE);
    expect(world.queued).toEqual([]);
    expect(world.time.now - REQUESTED_AT).toBe(30 * MINUTE_MS);
    expect(world.facts('operation_failed_for')).toHaveLength(6);
    expect(world.facts('operation_failed_for')[0]).toMatchObject({
      operation: 'recovery',
      key: { messageId: 'm-7' },
      error: { name: 'RangeError' },
    });
  });

  it.each([
    ['twice, and is woken', 2, 60],
    ['each time, because reconcile repeats it', Infinity, 59],
  ])('is counted as reopened if its wake-up fails %s', async (_, times, woken) => {
    failWakeUps(times);
    expect(await world.recover()).toMatchObject(completed(60));
    expect(world.woken).toHaveLength(woken);
  });

  it('is counted as a fault if its record cannot be read', async () => {
    const records = world.ports.deliveryListings.records.bind(world.ports.deliveryListings);
    world.ports.deliveryListings.records = async (keys) => ({
      ...(await records(keys.filter((key) => !isFaulty(key)))),
      unreadable: keys.filter(isFaulty).map((key) => ({ key, error: new TypeError('unreadable') })),
    });
    expect(await world.recover()).toMatchObject(ALL_BUT_ONE);
    expect(world.facts('operation_failed_for')).toHaveLength(6);
  });

  it('is counted once if the recovery is stopped after its record was written', async () => {
    failWakeUps(Infinity);
    const recovery = await world.startRecovery();
    await world.workOnce();
    expect(await recovery.found()).toMatchObject({ state: 'running', reopened: 59 });
    await stop(recovery);
    await world.work();
    expect(await recovery.found()).toMatchObject({ state: 'stopped', found: 60, reopened: 60, deferred: [] });
  });
});
