import { beforeEach, describe, expect, it } from 'vitest';
import type { PausedBy } from '../../../shared/domain/subscription/vocabulary.ts';
import { newDelivery } from '../../../shared/domain/delivery/claim.ts';
import { isPaused } from '../../../shared/domain/delivery/paused.ts';
import type { PauseOperation } from '../../../shared/domain/recovery/operation.ts';
import { type Pause, pause, resume } from '../../../shared/domain/subscription/pause.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { operateWorld, type OperateWorld } from '../../support/in-memory/operate-world.ts';

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const KEY = { queue: 'orders', subscriptionId: 'subscription-1' };

let world: OperateWorld;

const operationOf = (by: PausedBy, version: number): PauseOperation => ({
  kind: 'pause',
  ...(by === 'queue' ? { queue: 'orders' } : KEY),
  version,
});

const change = async (
  by: PausedBy,
  edit: <Of extends { pauses?: readonly Pause[] }>(of: Of) => Of,
): Promise<PauseOperation> => {
  const { registry } = world.ports;
  const now = world.time.now;
  if (by === 'queue') await registry.changeQueue('orders', edit);
  else await registry.changeSubscription({ ...KEY, now }, edit);
  return operationOf(by, now);
};

const pauseIt = (by: PausedBy = 'subscription', until?: number) =>
  change(by, (of) => pause(of, { now: world.time.now, until }));

const resumeIt = (by: PausedBy = 'subscription', perSecond?: number) => {
  world.time.now += 1;
  return change(by, (of) => resume(of, { now: world.time.now, perSecond }));
};

/** Deliveries that wait for the end of a pause, accepted one after the other. */
const wait = async (count: number, by: PausedBy = 'subscription', ageMs = DAY): Promise<void> => {
  const at = { now: world.time.now, retentionMs: world.settings.retentionMs };
  for (let index = 0; index < count; index += 1) {
    const key = { ...KEY, messageId: `m-${(index * 7919) % count}`, bucket: 0 };
    const acceptedAt = world.time.now - ageMs + ((index * 7919) % count);
    const next = { number: 1, phase: 'initial', dueAt: acceptedAt, by: `${by}_pause` } as const;
    const create = { ...newDelivery({ key, acceptedAt }, at), next, overdueAt: acceptedAt };
    await world.ports.deliveries.write({ name: 'await_resume', key, expect: { kind: 'absent' }, create });
  }
};

const never = (): never => {
  throw new Error('there is none');
};

/** The twins read all records for each page; with so many the tests would take minutes. */
const indexOnce = async (): Promise<void> => {
  const { deliveries, deliveryListings } = world.ports;
  const sorted = await deliveries.waiting(KEY, Infinity, Infinity);
  let from = 0;
  deliveries.waiting = async (_place, _before, limit) => {
    while (from < sorted.length && !isPaused(await world.record((sorted[from] ?? never()).key))) from += 1;
    return sorted.slice(from, from + limit);
  };
  deliveryListings.records = async (keys) => ({
    deliveries: await Promise.all(keys.map(world.record)),
    unreadable: [],
  });
};

/** Handles the operation and all that follows within so many milliseconds, each at its time. */
const run = async (operation: PauseOperation, forMs: number): Promise<number> => {
  const end = world.time.now + forMs;
  let messages = 1;
  await world.receive(operation);
  for (let next = world.queued.shift(); next !== undefined; next = world.queued.shift()) {
    const at = world.time.now + next.delaySeconds * 1000;
    if (at > end) break;
    world.time.now = at;
    messages += 1;
    await world.receive(next.operation);
  }
  return messages;
};

beforeEach(async () => {
  world = operateWorld();
  await world.ports.registry.putQueue(aQueue());
  await addSubscription(world.ports.registry, aSubscription());
});

describe('the end of a pause', () => {
  it.each([['subscription'], ['queue']] as const)(
    'sends what waited in the order of acceptance, at the rate that was asked for: of the %s',
    async (by) => {
      await pauseIt(by);
      await wait(300, by);
      const startedAt = world.time.now + 1;
      await run(await resumeIt(by, 20), DAY);
      expect(world.woken.map(({ key }) => key.messageId)).toEqual(
        Array.from({ length: 300 }, (_, index) => `m-${index}`),
      );
      expect(world.woken.map(({ dueAt }) => dueAt - startedAt)).toEqual(
        Array.from({ length: 300 }, (_, index) => index * 50),
      );
    },
  );

  it('never has more than a minute of wake-ups in the retry queue', async () => {
    await pauseIt();
    await wait(1_000);
    await run(await resumeIt('subscription', 2), 0);
    expect(world.woken).toHaveLength(120);
  });

  it.each([
    [undefined, undefined, 10],
    [undefined, 4, 250],
    [50, 4, 20],
  ])(
    'is at %s a second, else at max_per_second (%s), else at 100',
    async (perSecond, max_per_second, interval) => {
      await world.ports.registry.changeSubscription({ ...KEY, now: 0 }, (one) => ({
        ...one,
        options: max_per_second === undefined ? {} : { max_per_second },
      }));
      await pauseIt();
      await wait(2);
      await run(await resumeIt('subscription', perSecond), 0);
      const [first, second] = world.woken;
      expect(Number(second?.dueAt) - Number(first?.dueAt)).toBe(interval);
    },
  );

  it('sends 10,000 in 1,000 s at 10 a second, by few messages', async () => {
    await pauseIt();
    await wait(10_000);
    await indexOnce();
    const startedAt = world.time.now + 1;
    const messages = await run(await resumeIt('subscription', 10), DAY);
    expect(world.woken).toHaveLength(10_000);
    expect(world.woken.every(({ key }, index) => key.messageId === `m-${index}`)).toBe(true);
    expect(Number(world.woken.at(-1)?.dueAt) - startedAt).toBe(999_900);
    expect(messages).toBeLessThan(50);
  });

  it('ends the operation after two more looks, which find what a slow invocation wrote or the index showed late', async () => {
    await pauseIt();
    const operation = await resumeIt();
    for (const [looks, delaySeconds] of [
      [1, 70],
      [2, 900],
    ] as const) {
      await world.receive(looks === 1 ? operation : { ...operation, looks: looks - 1 });
      expect(world.queued.splice(0)).toEqual([{ operation: { ...operation, looks }, delaySeconds }]);
      world.time.now += delaySeconds * 1000;
    }
    await wait(1);
    await run({ ...operation, looks: 2 }, DAY);
    expect(world.woken).toHaveLength(1);
    expect(world.queued).toEqual([]);
  });

  it('is left to the next operation once it is paused again, or resumed at another rate', async () => {
    await pauseIt();
    await wait(10);
    const first = await resumeIt('subscription', 1);
    world.time.now += 1;
    await pauseIt();
    await run(first, DAY);
    expect(world.woken).toEqual([]);
    const second = await resumeIt('subscription', 1);
    const third = await resumeIt('subscription', 1000);
    await run(second, DAY);
    expect(world.woken).toEqual([]);
    await run(third, DAY);
    expect(world.woken).toHaveLength(10);
  });

  it('waits for a change that is slower than its operation', async () => {
    await pauseIt();
    await wait(1);
    const slow = { ...operationOf('subscription', world.time.now + 5_000) };
    await world.receive(slow);
    expect(world.queued.splice(0)).toEqual([{ operation: { ...slow, looks: 1 }, delaySeconds: 70 }]);
    await world.receive({ ...slow, looks: 2 });
    expect(world.queued).toEqual([]);
    expect(world.woken).toEqual([]);
  });

  it('leaves nothing waiting where the subscription has expired or is gone', async () => {
    const operation = await pauseIt();
    await wait(3);
    const now = world.time.now + 1;
    await world.ports.registry.changeSubscription({ ...KEY, now }, (one) => ({
      ...one,
      ttl: 1,
      expiresAt: now,
    }));
    world.time.now = now;
    await run(operation, DAY);
    // deliver cancels them.
    expect(world.woken).toHaveLength(3);
  });

  it('leaves a delivery that fails to the next message', async () => {
    await pauseIt();
    await wait(5);
    const { sendDelayed } = world.ports.wakeUps;
    let calls = 0;
    world.ports.wakeUps.sendDelayed = (wakeUp) => {
      calls += 1;
      return calls === 2 ? Promise.reject(new Error('SQS is down')) : sendDelayed(wakeUp);
    };
    await run(await resumeIt(), DAY);
    expect(world.woken).toHaveLength(4);
    expect(world.facts('operation_failed_for')).toHaveLength(1);
    // reconcile finds it.
    expect(await world.ports.deliveries.overdue(Infinity, 10)).toHaveLength(5);
  });

  it('never leaves a delivery waiting when an invocation crashes between two steps', async () => {
    await pauseIt();
    await wait(30);
    const operation = await resumeIt('subscription', 10);
    const deliveries = { ...world.ports.deliveries };
    let calls = 0;
    world.ports.deliveries.write = (transition) => {
      calls += 1;
      if (calls % 7 === 0) throw new Error('crashed');
      return deliveries.write(transition);
    };
    await run(operation, DAY);
    expect(await world.ports.deliveries.waiting(KEY, Infinity, 1)).toEqual([]);
    expect(world.woken).toHaveLength(30);
  });

  it('does not read every two seconds for ever what a deleted receiver by pull left waiting', async () => {
    const key = { ...KEY, messageId: 'm-0', bucket: 0 };
    const at = { now: world.time.now, retentionMs: world.settings.retentionMs };
    const next = { number: 1, phase: 'initial', dueAt: at.now, by: 'pull' } as const;
    const create = { ...newDelivery({ key, acceptedAt: at.now }, at), next, overdueAt: at.now };
    await world.ports.deliveries.write({ name: 'await_pull', key, expect: { kind: 'absent' }, create });
    const operation = await pauseIt();
    await world.ports.registry.deleteQueue('orders', world.time.now);
    expect(await run(operation, HOUR)).toBe(3);
  });

  it('does nothing for a receiver by pull: what waits is received', async () => {
    await world.ports.registry.changeSubscription({ ...KEY, now: 0 }, (one) => ({
      ...one,
      destination: { kind: 'pull', name: '' },
    }));
    await pauseIt();
    await run(await resumeIt(), DAY);
    expect(world.queued).toEqual([]);
  });
});

describe('a pause in force', () => {
  it('is looked at every quarter of an hour, and sends nothing', async () => {
    const operation = await pauseIt();
    await wait(3);
    await world.receive(operation);
    expect(world.queued).toEqual([{ operation, delaySeconds: 900 }]);
    expect(world.woken).toEqual([]);
  });

  it('is looked at when it ends', async () => {
    const operation = await pauseIt('queue', world.time.now + 60_500);
    await world.receive(operation);
    expect(world.queued).toEqual([{ operation, delaySeconds: 61 }]);
  });

  it('is looked at at once if it ended while it was read', async () => {
    const operation = await pauseIt('subscription', world.time.now + 1_000);
    const { subscriptions } = world.ports;
    const find = subscriptions.find.bind(subscriptions);
    subscriptions.find = async (...of) => {
      const found = await find(...of);
      world.time.now += 3_000;
      return found;
    };
    await world.receive(operation);
    expect(world.queued).toMatchObject([{ operation, delaySeconds: 0 }]);
  });

  it('warns once, a day before what waits longest is cancelled', async () => {
    const { retentionMs } = world.settings;
    const operation = await pauseIt('queue');
    const since = world.time.now;
    await wait(2, 'queue', 0);
    const cancelledFrom = since + retentionMs - HOUR;
    world.time.now = cancelledFrom - DAY - 1;
    await world.receive(operation);
    expect(world.ports.operatorEvents.published).toEqual([]);
    world.time.now += 1;
    await world.receive(operation);
    expect(world.ports.operatorEvents.published).toEqual([
      { type: 'deliveries.expiring', queue: 'orders', since, cancelledFrom },
    ]);
    const next = world.queued.at(-1)?.operation;
    expect(next).toEqual({ ...operation, warned: true });
    await world.receive({ ...operation, warned: true });
    expect(world.ports.operatorEvents.published).toHaveLength(1);
    expect(world.queued.at(-1)?.operation).toEqual({ ...operation, warned: true });
  });

  it('warns for a receiver by pull, whose deliveries wait for half of the time', async () => {
    await world.ports.registry.changeSubscription({ ...KEY, now: 0 }, (one) => ({
      ...one,
      destination: { kind: 'pull', name: '' },
    }));
    const operation = await pauseIt();
    await wait(1, 'subscription', 14 * DAY);
    await world.receive(operation);
    expect(world.ports.operatorEvents.published).toMatchObject([KEY]);
  });

  it('of a queue warns for its receivers by pull, also on a later page of its subscriptions', async () => {
    const { registry } = world.ports;
    for (let index = 100; index < 300; index += 1)
      await addSubscription(
        registry,
        aSubscription({ id: `s-${index}`, subscriber: `https://s-${index}.example` }),
      );
    await registry.changeSubscription({ ...KEY, now: 0 }, (one) => ({
      ...one,
      destination: { kind: 'pull', name: '' },
    }));
    const operation = await pauseIt('queue');
    await wait(1, 'subscription', 14 * DAY - 1);
    await world.receive(operation);
    expect(world.ports.operatorEvents.published).toEqual([]);
    expect(world.queued).toEqual([{ operation, delaySeconds: 900 }]);
    world.time.now += 1;
    await world.receive(operation);
    expect(world.ports.operatorEvents.published).toMatchObject([{ ...KEY, type: 'deliveries.expiring' }]);
    expect(world.queued[1]).toEqual({ operation: { ...operation, warned: true }, delaySeconds: 900 });
  });

  it('cancels what has waited for the retention, as paused_too_long, before the record expires', async () => {
    const operation = await pauseIt();
    await wait(250, 'subscription', 0);
    world.time.now += world.settings.retentionMs - HOUR + 100;
    await world.receive(operation);
    expect(world.facts('delivery_cancelled')).toHaveLength(101);
    world.time.now += 150;
    await world.receive(operation);
    const { key } = { key: { ...KEY, messageId: 'm-249', bucket: 0 } };
    expect(await world.record(key)).toMatchObject({ status: 'cancelled', reason: 'paused_too_long' });
    expect(await world.ports.deliveries.waiting(KEY, Infinity, 1)).toEqual([]);
  });
});

it('a pause of a queue or of a subscription goes on after its queue was deleted and restored', async () => {
  const { registry } = world.ports;
  const pauses = [await pauseIt('queue'), await pauseIt()];
  await registry.deleteQueue('orders', world.time.now, world.time.now + DAY);
  world.time.now += 1;
  await registry.restoreQueue('orders', world.time.now);
  await world.receive({ kind: 'restoration', queue: 'orders' });
  const version = world.time.now;
  expect(world.queued).toEqual(
    pauses.map((operation) => ({ operation: { ...operation, version }, delaySeconds: 0 })),
  );
  // Those from before the deletion end: two would send what waits at twice the rate.
  for (const operation of pauses) await world.receive(operation);
  expect(world.queued).toHaveLength(pauses.length);
});

it.each([['queue'], ['subscription']] as const)(
  'what still waits after the pause of a %s is sent on after its queue was deleted and restored',
  async (by) => {
    const { registry } = world.ports;
    await pauseIt(by);
    await wait(300, by);
    await world.receive(await resumeIt(by, 1));
    const [rest] = world.queued.splice(0);
    await registry.deleteQueue('orders', world.time.now, world.time.now + DAY);
    world.time.now += 1;
    await registry.restoreQueue('orders', world.time.now);
    await world.receive({ kind: 'restoration', queue: 'orders' });
    // Sent for the pause as it was before the deletion.
    if (rest !== undefined) await world.receive(rest.operation);
    const [operation] = world.queued.splice(0);
    if (operation?.operation.kind === 'pause') await run(operation.operation, DAY);
    expect(world.woken).toHaveLength(300);
  },
);

it('the pauses of many restored subscriptions go on together: one after the other they would take too long', async () => {
  const { registry, operations } = world.ports;
  for (let index = 0; index < 20; index += 1)
    await addSubscription(
      registry,
      aSubscription({ id: `s-${index}`, subscriber: `https://s-${index}.example` }),
    );
  const now = world.time.now;
  for (const { id: subscriptionId } of (await registry.listSubscriptions('orders', { limit: 100 })).items)
    await registry.changeSubscription({ queue: 'orders', subscriptionId, now }, (one) =>
      pause(one, { now, until: undefined }),
    );
  await registry.deleteQueue('orders', now, now + DAY);
  await registry.restoreQueue('orders', now);
  let [sending, most] = [0, 0];
  operations.send = async () => {
    sending += 1;
    most = Math.max(most, sending);
    await Promise.resolve();
    sending -= 1;
  };
  await world.receive({ kind: 'restoration', queue: 'orders' });
  expect(most).toBe(21);
});
