import { beforeEach, describe, expect, it } from 'vitest';
import { endLongWaits } from '../../../functions/reconcile/end-waits.ts';
import { runReconcile } from '../../../functions/reconcile/run.ts';
import { apply, type Delivery, type Transition } from '../../../shared/domain/delivery/delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey } from '../../support/delivery-builders.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { inMemoryPullSubscriptions } from '../../support/in-memory/in-memory-subscriptions.ts';

const URL = 'https://subscriber.test/hook';

let world: PipelineWorld;
let lost: boolean;

const failedWithLostWakeUp = async (): Promise<void> => {
  lost = true;
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();
  lost = false;
};

const afterSeconds = (seconds: number): Promise<void> => world.clock.run(world.clock.now() + seconds * 1000);

describe('reconcile', () => {
  beforeEach(async () => {
    world = pipelineWorld();
    lost = false;
    const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) =>
      lost ? Promise.resolve() : sendDelayed(wakeUp, delaySeconds);
    await world.subscriptions.putQueue(aQueue());
    await world.subscriptions.addSubscription(
      aSubscription({
        options: {
          _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 }),
        },
      }),
    );
    world.subscriber.script(URL, [status(500), status(200)]);
  });

  it('wakes a retry whose wake-up was lost, and returns how late it was', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(10 + 45);
    const result = await world.reconcile();
    await world.clock.run();

    expect(result).toEqual({ woken: 1, latestMs: 45_000 });
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('does not wake a delivery that is overdue only briefly', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(10 + 29);

    expect(await world.reconcile()).toEqual({ woken: 0, latestMs: 0 });
  });

  it('wakes a delivery at most once in 15 minutes, so that a backlog does not multiply', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    await afterSeconds(14 * 60);
    expect(await world.reconcile()).toMatchObject({ woken: 0 });
    await afterSeconds(2 * 60);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('wakes the others if one wake-up cannot be sent, and that one five minutes later', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'other', subscriber: 'https://subscriber.test/other' }),
    );
    world.subscriber.script('https://subscriber.test/other', [
      status(500, { retryAfter: '10' }),
      status(200),
    ]);
    await failedWithLostWakeUp();
    await afterSeconds(60);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) =>
      wakeUp.key.subscriptionId === 'other'
        ? Promise.reject(new Error('throttled'))
        : send(wakeUp, delaySeconds);
    await expect(world.reconcile()).rejects.toThrow('1 deliveries could not be woken');
    expect(world.journal.facts).toContainEqual({ fact: 'reconcile_ran', overdue: 2, stuck: 0 });
    await afterSeconds(1);
    expect((await world.delivery()).status).toBe('delivered');
    world.wakeUps.sendDelayed = send;
    await afterSeconds(5 * 60 - 30);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('logs at each run how many deliveries it found and how many it had woken before', async () => {
    const ran = () => world.journal.facts.filter(({ fact }) => fact === 'reconcile_ran');
    await world.reconcile();
    expect(ran()).toEqual([{ fact: 'reconcile_ran', overdue: 0, stuck: 0 }]);

    await failedWithLostWakeUp();
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 0 });
    await afterSeconds(16 * 60);
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await afterSeconds(16 * 60);
    lost = false;
    await world.reconcile();
    await world.clock.run();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await afterSeconds(60);
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 0, stuck: 0 });
  });

  it('counts pending steps as stuck only after an earlier wake-up', async () => {
    const ran = () => world.journal.facts.filter(({ fact }) => fact === 'reconcile_ran').at(-1);
    world.subscriber.script(URL, [status(400)]);
    world.undeliverables.send = () => Promise.reject(new Error('throttled'));
    await world.dispatch({ ok: true, message: aMessage() });
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    expect(ran()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 0 });
    await afterSeconds(16 * 60);
    await world.reconcile();
    expect(ran()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
  });

  it('wakes each delivery once if two runs are concurrent', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(60);
    const both = await Promise.all([world.reconcile(), world.reconcile()]);

    expect(both.reduce((sum, { woken }) => sum + woken, 0)).toBe(1);
  });

  it('wakes a finished delivery with pending steps', async () => {
    world.subscriber.script(URL, [status(400)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => Promise.reject(new Error('throttled'));
    await world.dispatch({ ok: true, message: aMessage() });
    await afterSeconds(1);
    expect(await world.delivery()).toMatchObject({
      status: 'rejected',
      pendingSteps: [{ kind: 'undeliverable' }],
    });
    world.undeliverables.send = send;
    await afterSeconds(60);
    await world.reconcile();
    await afterSeconds(1);

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
  });

  it('processes page after page until nothing is overdue', async () => {
    await Promise.all(
      Array.from({ length: 450 }, (_, index) =>
        world.subscriptions.addSubscription(
          aSubscription({ id: `s-${index}`, subscriber: `https://subscriber.test/${index}` }),
        ),
      ),
    );
    for (let index = 0; index < 450; index += 1) {
      world.subscriber.script(`https://subscriber.test/${index}`, [
        status(500, { retryAfter: '5' }),
        status(200),
      ]);
    }
    await failedWithLostWakeUp();
    await afterSeconds(120);

    expect(await world.reconcile()).toMatchObject({ woken: 451 });
  });
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const RETENTION_MS = 30 * DAY;
/** Of a query, a write and a send; a page of the deliveries has ten at a time. */
const CALL_MS = 10;
const TOGETHER = 10;

const unused = (): never => {
  throw new Error('reconcile does not call this');
};

/** Overdue webhooks, and deliveries that wait too long for pull, on a table whose calls take time. */
const worldOf = (counts: { overdue: number; waiting: number }) => {
  const left = { ...counts };
  const woken: number[] = [];
  let now = 100 * DAY;
  const takes = (calls: number): void => {
    now += (CALL_MS * calls) / TOGETHER;
  };
  const page = (count: number, overdueAt: number) =>
    Array.from({ length: count }, () => ({ key: aDeliveryKey(), overdueAt }));
  const write = (transition: Transition) => {
    takes(1);
    if (transition.name === 'cancel') left.waiting -= 1;
    else left.overdue -= 1;
    const current: Delivery = aDelivery({ key: transition.key, status: 'retrying' });
    const delivery = 'change' in transition ? apply(transition.change, current) : current;
    return Promise.resolve({ kind: 'written', delivery } as const);
  };
  const subscription = { queue: 'orders', subscriptionId: 's-1' };
  const context = {
    ports: {
      clock: { now: () => now, sleep: unused },
      journal: inMemoryJournal(),
      deliveries: {
        write,
        find: unused,
        overdue: (before: number, limit: number) => {
          takes(TOGETHER);
          return Promise.resolve(page(Math.min(limit, left.overdue), before));
        },
        waiting: (_: object, before: number, limit: number) => {
          takes(TOGETHER);
          return Promise.resolve(page(Math.min(limit, left.waiting), before - 1));
        },
      },
      pullSubscriptions: {
        // Of every part, so that each run has all waits to end.
        after: (last?: object) =>
          Promise.resolve(
            last === undefined
              ? Array.from({ length: 600 }, (_, index) => ({ ...subscription, subscriptionId: `s-${index}` }))
              : [],
          ),
      },
      wakeUps: {
        sendDelayed: () => {
          takes(1);
          woken.push(now);
          return Promise.resolve();
        },
      },
    },
    settings: { overdueAfterMs: 30_000, retentionMs: RETENTION_MS },
  };
  const start = now;
  return {
    left,
    /** A run of a minute. */
    run: async () => {
      const end = now + MINUTE;
      await runReconcile(context, () => end - now);
      return { tookMs: now - (end - MINUTE), wokenAfterMs: Math.max(0, ...woken) - start };
    },
  };
};

describe('a run of reconcile', () => {
  it('wakes 10,000 overdue webhooks first, although 100,000 deliveries waited too long for pull', async () => {
    const world = worldOf({ overdue: 10_000, waiting: 100_000 });
    const { tookMs, wokenAfterMs } = await world.run();
    expect(world.left.overdue).toBe(0);
    expect(wokenAfterMs).toBeLessThan(25_000);
    expect(world.left.waiting).toBeLessThan(95_000);
    expect(tookMs).toBeLessThan(MINUTE);
  });

  it('ends waits although the overdue webhooks do not end', async () => {
    const world = worldOf({ overdue: 1_000_000, waiting: 100_000 });
    const { tookMs } = await world.run();
    expect(world.left.overdue).toBeLessThan(990_000);
    expect(world.left.waiting).toBeLessThan(99_500);
    expect(tookMs).toBeLessThan(MINUTE);
  });

  it('leaves the rest of its minute to the next one, although waits do not end', async () => {
    const world = worldOf({ overdue: 0, waiting: 10_000_000 });
    const { tookMs } = await world.run();
    expect(tookMs).toBeLessThan(25_000);
    expect(world.left.waiting).toBeLessThan(9_995_000);
  });
});

const HALF_OF_RETENTION = 15 * DAY;

const passes = (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds);

/** An hour of runs. */
const endWaits = async (remainingMs = 60_000): Promise<void> => {
  const context = {
    ports: { ...world, pullSubscriptions: inMemoryPullSubscriptions(world.subscriptions, 1) },
    settings: world.settings,
  };
  for (let minute = 0; minute < 60; minute += 1) {
    await endLongWaits(context, () => remainingMs);
    await passes(MINUTE);
  }
};

const publish = async (count: number): Promise<void> => {
  for (let index = 0; index < count; index += 1)
    await world.dispatch({ ok: true, message: aMessage({ id: `m-${index}` }) });
  await world.clock.run(world.clock.now());
};

const statusOf = async (subscriptionId: string, messageId = 'm-0') => {
  const { status, reason } = await world.delivery(subscriptionId, messageId);
  return [status, reason];
};

describe('the end of long waits', () => {
  beforeEach(async () => {
    world = pipelineWorld();
    await world.subscriptions.putQueue(aQueue());
    const options = { _retry_policy: aBarePolicy() };
    const expiresAt = world.clock.now() + DAY;
    await world.subscriptions.addSubscription(aSubscription({ id: 's-1', subscriber: 'pull:one', options }));
    await world.subscriptions.addSubscription(
      aSubscription({ id: 's-2', subscriber: 'pull:two', options, expiresAt }),
    );
  });

  it('cancels what waited for half of the retention, on record for as long again', async () => {
    await publish(1);
    await passes(HALF_OF_RETENTION - HOUR);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['cancelled', 'not_received']);
    const { updatedAt, expiresAt } = await world.delivery('s-1', 'm-0');
    expect(expiresAt - updatedAt).toBe(2 * HALF_OF_RETENTION);
    expect(world.journal.facts.filter(({ fact }) => fact === 'delivery_cancelled')).toHaveLength(2);
  });

  it('cancels what waits for an expired subscription', async () => {
    await publish(1);
    await passes(DAY);
    await endWaits();
    expect(await statusOf('s-2')).toEqual(['cancelled', 'subscription_expired']);
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
  });

  it('covers more than a page of a subscription, and stops without time', async () => {
    await publish(30);
    await passes(HALF_OF_RETENTION);
    await endWaits(1_000);
    expect(await statusOf('s-1', 'm-29')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1', 'm-29')).toEqual(['cancelled', 'not_received']);
    expect(await statusOf('s-2', 'm-29')).toEqual(['cancelled', 'subscription_expired']);
  });

  it('looks at each subscription once an hour', async () => {
    const looks: string[] = [];
    const waiting = world.deliveries.waiting.bind(world.deliveries);
    world.deliveries.waiting = (subscription, ...rest) => {
      looks.push(subscription.subscriptionId);
      return waiting(subscription, ...rest);
    };
    await endWaits();
    expect(looks.toSorted()).toEqual(['s-1', 's-2']);
  });
});
