import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RECEIVE_LEASE_SECONDS } from '../../../shared/domain/delivery/pull.ts';
import type { CancellationOperation } from '../../../shared/domain/recovery/operation.ts';
import { aQueue } from '../../support/builders.ts';
import { anAttempt, SOME_TIME } from '../../support/delivery-builders.ts';
import {
  anExhausted,
  aRetrying,
  operateWorld,
  type OperateWorld,
  REQUESTED_AT,
  SUBSCRIPTION_DELETION,
} from '../../support/in-memory/operate-world.ts';
import { countOutcomes, sumOfOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';

let world: OperateWorld;

beforeEach(() => {
  world = operateWorld();
});

const theSubscription = () => world.ports.registry.findSubscription('orders', 's-1');
const markDeleted = () =>
  world.ports.registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT });

/** Sends the operation and does all of it. Returns how often it was received. */
const cancel = async (operation: CancellationOperation = SUBSCRIPTION_DELETION): Promise<number> => {
  await world.ports.operations.send(operation);
  return world.work();
};

const keepRetrying = (count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => world.keep(aRetrying({ messageId: `m-${index}` }))),
  );

describe('the cancellation after a subscription was deleted', () => {
  const cancelled = { status: 'cancelled', reason: 'subscription_deleted' };

  it('cancels its retrying deliveries and no others, and removes their schedules', async () => {
    const retrying = await world.keep(aRetrying());
    const others = await Promise.all([
      world.keep(aRetrying({ subscriptionId: 's-2' })),
      world.keep(aRetrying({ queue: 'bills' })),
      world.keep(anExhausted({ messageId: 'm-2' })),
    ]);
    await cancel();
    expect(await world.record(retrying.key)).toMatchObject(cancelled);
    expect(world.unscheduled).toHaveLength(1);
    for (const other of others) expect(await world.record(other.key)).toEqual(other);
    // It is not marked.
    expect(await theSubscription()).toBeDefined();
  });

  it('cancels a first attempt that waits for a rate-limit slot', async () => {
    const next = { number: 1, phase: 'initial', dueAt: SOME_TIME * 2, by: 'scheduler' } as const;
    const waiting = await world.keep(aRetrying({}, { status: 'pending', attempts: [], next }));
    await cancel();
    expect(await world.record(waiting.key)).toMatchObject(cancelled);
  });

  it('runs again for deliveries in flight, and removes the marked subscription after the last repeat', async () => {
    const { queued, time, receive } = world;
    await world.keep(aRetrying());
    await markDeleted();
    await receive(SUBSCRIPTION_DELETION);
    expect(queued).toEqual([{ operation: SUBSCRIPTION_DELETION, delaySeconds: 60 }]);
    expect(await theSubscription()).toBeDefined();
    const late = await world.put(aRetrying({ messageId: 'late' }));
    time.now = REQUESTED_AT + 60_000;
    await receive(SUBSCRIPTION_DELETION);
    expect(await world.record(late.key)).toMatchObject({ status: 'cancelled' });
    expect(await theSubscription()).toBeDefined();

    // A delivery that was received before can still be acknowledged.
    time.now = REQUESTED_AT + RECEIVE_LEASE_SECONDS.most * 1_000;
    await receive(SUBSCRIPTION_DELETION);
    expect(await theSubscription()).toBeDefined();

    // A crashed dispatch is redelivered within four hours and needs the original subscriptions.
    expect(queued.at(-1)).toEqual({ operation: SUBSCRIPTION_DELETION, delaySeconds: 900 });
    time.now = REQUESTED_AT + 4 * 60 * 60_000;
    await receive(SUBSCRIPTION_DELETION);
    expect(await theSubscription()).toBeUndefined();
  });

  it('ends once the subscription is restored, and cancels nothing new', async () => {
    const { queued, receive, ports } = world;
    const before = await world.keep(aRetrying());
    const target = { queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT };
    await ports.registry.markDeleted(target, REQUESTED_AT + 1000);
    await receive(SUBSCRIPTION_DELETION);
    expect(await world.record(before.key)).toMatchObject(cancelled);
    await ports.registry.restoreSubscription(target);
    const after = await world.keep(aRetrying({ messageId: 'after' }));
    queued.length = 0;
    await receive(SUBSCRIPTION_DELETION);
    expect(await world.record(after.key)).toEqual(after);
    expect(queued).toEqual([]);
    expect(await theSubscription()).not.toHaveProperty('deletedAt');
  });

  it('goes on for a later deletion of a restored subscription', async () => {
    const target = { queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT - 1 };
    await world.ports.registry.markDeleted(target, REQUESTED_AT + 1000);
    await world.ports.registry.restoreSubscription(target);
    await world.ports.registry.markDeleted({ ...target, now: REQUESTED_AT });
    const delivery = await world.keep(aRetrying());
    await cancel();
    expect(await world.record(delivery.key)).toMatchObject(cancelled);
  });

  it('lets a recovery reopen what it cancelled, after a restoration', async () => {
    const { ports } = world;
    const delivery = await world.keep(aRetrying());
    const target = { queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT };
    await ports.registry.markDeleted(target, REQUESTED_AT + 1000);
    await cancel();
    await ports.registry.restoreSubscription(target);
    expect(await world.recover()).toMatchObject({ found: 1, reopened: 1, skipped: {} });
    expect(await world.record(delivery.key)).toMatchObject({ status: 'retrying', round: 2 });
  });

  it('continues in a new message when the time runs out', async () => {
    const all = await keepRetrying(230);
    // Ten concurrent cancellations take 5 s: an invocation has time for nine groups of ten.
    world.ports.wakeUps.unschedule = () => {
      world.time.now += 500;
      return Promise.resolve('removed');
    };
    world.time.now += 60_000;
    expect(await cancel()).toBeGreaterThanOrEqual(3);
    expect(world.queued).toEqual([]);
    for (const { key } of all) expect(await world.record(key)).toMatchObject({ status: 'cancelled' });
  });
});

describe('a delivery that cannot be cancelled', () => {
  const settled = { ...SUBSCRIPTION_DELETION, settled: true } as const;

  /** Cancels more than a page of deliveries; reading the oldest record fails `times` times. */
  const cancelUnreadable = async (times: number) => {
    const unreadable = await world.keep(
      aRetrying({ messageId: 'unreadable' }, { acceptedAt: SOME_TIME - 1 }),
    );
    const others = await keepRetrying(105);
    await markDeleted();
    const begunAt = REQUESTED_AT + 5 * 60 * 60_000;
    world.time.now = begunAt;
    const find = world.ports.deliveries.find.bind(world.ports.deliveries);
    let reads = 0;
    world.ports.deliveries.find = (key) => {
      if (key.messageId !== 'unreadable') return find(key);
      reads += 1;
      return reads > times ? find(key) : Promise.reject(new TypeError('invalid record'));
    };
    const receives = await cancel();
    return { unreadable, others, receives, tookMs: world.time.now - begunAt };
  };

  it('does not block the others, is tried in five more passes, and leaves the subscription marked', async () => {
    const { others, receives, tookMs } = await cancelUnreadable(Infinity);
    expect([receives, tookMs, world.queued]).toEqual([6, 30 * 60_000, []]);
    for (const { key } of others) expect(await world.record(key)).toMatchObject({ status: 'cancelled' });
    expect(await theSubscription()).toBeDefined();
    expect(world.facts('operation_failed_for')).toHaveLength(6);
    expect(world.facts('operation_failed_for')[0]).toMatchObject({
      operation: 'cancellation',
      key: { messageId: 'unreadable' },
      error: { name: 'TypeError' },
    });
    expect(world.facts('cancellation_given_up')).toEqual([
      { fact: 'cancellation_given_up', queue: 'orders', subscriptionId: 's-1', failed: 1 },
    ]);
  });

  it('is cancelled by the first pass that can read it, and the marked subscription is removed', async () => {
    const { unreadable, receives } = await cancelUnreadable(2);
    expect(receives).toBe(3);
    expect(await world.record(unreadable.key)).toMatchObject({ status: 'cancelled' });
    expect(await theSubscription()).toBeUndefined();
  });

  it('is logged as contended if its record keeps changing', async () => {
    await world.keep(aRetrying());
    vi.spyOn(world.ports.deliveries, 'write').mockResolvedValue({ kind: 'refused', current: aRetrying() });
    await world.receive(settled);
    const message = 'The delivery orders/m-1/s-1 kept being changed by concurrent writes.';
    expect(world.ports.journal.facts).toMatchObject([
      { fact: 'operation_failed_for', error: { message } },
      { fact: 'operation_continued', delaySeconds: 60 },
    ]);
    expect(world.queued).toEqual([{ operation: { ...SUBSCRIPTION_DELETION, looks: 1 }, delaySeconds: 60 }]);
  });

  it('does not prevent the end of a pass in which every delivery failed', async () => {
    await keepRetrying(30);
    world.ports.deliveries.write = () => {
      world.time.now += 3_000;
      return Promise.reject(new Error('the item is too large'));
    };
    await world.receive(settled);
    expect(world.queued).toEqual([{ operation: { ...SUBSCRIPTION_DELETION, looks: 1 }, delaySeconds: 60 }]);
  });
});

describe('the cancellation after a queue was deleted', () => {
  const deletion: CancellationOperation = { kind: 'cancellation', queue: 'orders', deletedAt: REQUESTED_AT };
  const cancelled = { status: 'cancelled', reason: 'queue_deleted' };

  it('cancels what was accepted before the deletion, and nothing of a recreated queue', async () => {
    const before = await world.keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    const others = { messageId: 'm-2', subscriptionId: 's-2' };
    const after = await world.keep(aRetrying(others, { acceptedAt: REQUESTED_AT }));
    await world.ports.registry.deleteQueue('orders', REQUESTED_AT);
    await world.ports.registry.putQueue(aQueue({ createdAt: REQUESTED_AT }));
    await cancel(deletion);
    expect(await world.record(before.key)).toMatchObject(cancelled);
    expect(await world.record(after.key)).toEqual(after);
  });

  it('ends once the queue is restored, and cancels nothing new', async () => {
    const { registry } = world.ports;
    await registry.deleteQueue('orders', REQUESTED_AT, REQUESTED_AT + 1000);
    await registry.restoreQueue('orders', REQUESTED_AT);
    await world.receive({ kind: 'restoration', queue: 'orders' });
    const delivery = await world.keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    await world.receive(deletion);
    expect(await world.record(delivery.key)).toEqual(delivery);
    expect(world.queued).toEqual([]);
  });

  it('goes on beside a queue that was created again, although its clock is behind', async () => {
    const { registry } = world.ports;
    await registry.deleteQueue('orders', REQUESTED_AT);
    await registry.putQueue(aQueue({ createdAt: REQUESTED_AT - 1_000 }));
    const delivery = await world.keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    await cancel(deletion);
    expect(await world.record(delivery.key)).toMatchObject(cancelled);
  });

  it('removes all subscriptions first, in further messages, before it cancels a delivery', async () => {
    const delivery = await world.keep(aRetrying({}, { acceptedAt: REQUESTED_AT - 1 }));
    await world.ports.registry.deleteQueue('orders', REQUESTED_AT);
    vi.spyOn(world.ports.registry, 'removeDeletedQueue').mockResolvedValue(true).mockResolvedValueOnce(false);
    await world.receive(deletion);
    expect(world.queued).toEqual([{ operation: deletion, delaySeconds: 0 }]);
    expect(await world.record(delivery.key)).toEqual(delivery);
    await world.receive(deletion);
    expect(await world.record(delivery.key)).toMatchObject(cancelled);
  });
});

it('the restoration of a queue continues in a new message until all subscriptions are back', async () => {
  const restoration = { kind: 'restoration', queue: 'orders' } as const;
  const complete = vi.spyOn(world.ports.registry, 'completeRestoredQueue');
  complete.mockResolvedValue(true).mockResolvedValueOnce(false);
  await world.receive(restoration);
  expect(world.queued).toEqual([{ operation: restoration, delaySeconds: 0 }]);
  expect(await world.work()).toBe(1);
});

/** How a call fails: before its effect, after it (a lost response), or because the function crashes. */
type Failure = 'before' | 'after' | 'crashed';

type Port = Record<string, (...args: never[]) => unknown>;

/**
 * Ports whose call number `at`, counted over all of them, fails. `crashed`: all later calls of the invocation fail
 * too. `calls` returns the number of calls.
 */
const failingPorts = <Ports extends Record<string, object>>(
  ports: Ports,
  { at, how, excluded }: { at: number; how: Failure; excluded: readonly (keyof Ports)[] },
) => {
  let calls = 0;
  let hasCrashed = false;

  const failing =
    (method: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]): Promise<unknown> => {
      calls += 1;
      const isHit = calls === at;
      if (isHit && how === 'crashed') hasCrashed = true;
      if (hasCrashed || (isHit && how === 'before')) throw new Error(`call ${calls} failed`);
      const result = await method(...args);
      if (isHit) throw new Error(`the response of call ${calls} was lost`);
      return result;
    };

  const wrapped = (port: object): object =>
    new Proxy(port, {
      get: (target, name) => {
        const method = (target as Port)[String(name)];
        return typeof method === 'function' ? failing(method.bind(target) as never) : method;
      },
    });

  const faulty = Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [name, excluded.includes(name) ? port : wrapped(port)]),
  ) as Ports;

  return {
    ports: faulty,
    calls: () => calls,
    /** Starts the next invocation. */
    revive: () => {
      hasCrashed = false;
    },
  };
};

/** More than a page of deliveries. The recovery selects every seventh. */
const LISTED = 53;
const SELECTED = 8;

const FAILURES: Failure[] = ['before', 'after', 'crashed'];

/** Processes the queue with call number `at` failing. Returns whether there was such a call. */
const workWith = async (world: OperateWorld, at: number, how: Failure): Promise<boolean> => {
  const { ports, settings } = world;
  const failing = failingPorts(ports, { at, how, excluded: ['clock', 'journal'] });
  for (let receives = 0; world.queued.length > 0; receives += 1) {
    if (receives > 30) throw new Error(`the operations never end with call ${at} failing (${how})`);
    failing.revive();
    await world.workOnce({ ports: failing.ports, settings });
  }
  return failing.calls() >= at;
};

/** Runs `check` for every call number, until a run has fewer calls. */
const forEveryCall = async (check: (at: number) => Promise<boolean>): Promise<number> => {
  let at = 1;
  while (await check(at)) at += 1;
  return at - 1;
};

const worldWith = async (all: readonly Delivery[]): Promise<OperateWorld> => {
  const world = operateWorld();
  for (const delivery of all) await world.keep(delivery);
  return world;
};

/** The outcomes of a recovery, read from its pages and the records of the deliveries. */
const provenDeliveries = async ({ ports }: OperateWorld, id: string) => {
  const { items } = await ports.recoveries.keptPages('orders', id, { limit: 100 });
  const pages = await Promise.all(items.map(({ keys }) => ports.deliveryListings.records(keys)));
  return sumOfOutcomes(pages.flatMap(({ deliveries }) => countOutcomes(id, deliveries)));
};

const failedLater = anAttempt({ startedAt: REQUESTED_AT, durationMs: 1 });

const exhausted = Array.from({ length: LISTED }, (_, index) =>
  anExhausted(
    { messageId: `m-${index}` },
    { acceptedAt: SOME_TIME + index, ...(index % 7 > 0 && { attempts: [failedLater] }) },
  ),
);

const retrying = Array.from({ length: 12 }, (_, index) => aRetrying({ messageId: `m-${index}` }));

describe.each(FAILURES)('if any one call of an operation fails (%s)', (how) => {
  it('a recovery reopens and wakes each delivery once and counts it once', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await worldWith(exhausted);
      const recovery = await world.startRecovery();
      const isHit = await workWith(world, at, how);
      const rounds = await Promise.all(exhausted.map(async ({ key }) => (await world.record(key)).round));
      expect(rounds, `call ${at}`).toEqual(exhausted.map((_, index) => (index % 7 > 0 ? 1 : 2)));
      expect(new Set(world.woken.map(({ key }) => key.messageId)).size, `call ${at}`).toBe(SELECTED);
      expect(await recovery.found(), `call ${at}`).toMatchObject({
        state: 'completed',
        found: SELECTED,
        reopened: SELECTED,
        skipped: {},
        batch: [],
        deferred: [],
      });
      expect(await provenDeliveries(world, recovery.id), `call ${at}`).toEqual([
        expect.objectContaining({ total: SELECTED, open: SELECTED }),
      ]);
      return isHit;
    });
    expect(calls).toBeGreaterThan(5 * SELECTED);
  });

  it('a cancellation cancels every delivery and removes the subscription', async () => {
    const calls = await forEveryCall(async (at) => {
      const world = await worldWith(retrying);
      const { registry, operations } = world.ports;
      await registry.markDeleted({ queue: 'orders', subscriptionId: 's-1', now: REQUESTED_AT });
      await operations.send(SUBSCRIPTION_DELETION);
      const isHit = await workWith(world, at, how);
      for (const { key } of retrying)
        expect(await world.record(key), `call ${at}`).toMatchObject({ status: 'cancelled' });
      expect(await registry.findSubscription('orders', 's-1'), `call ${at}`).toBeUndefined();
      return isHit;
    });
    expect(calls).toBeGreaterThan(3 * retrying.length);
  });
});
