import { beforeEach, describe, expect, it, vi } from 'vitest';
import { endLongWaits } from '../../../functions/reconcile/end-waits.ts';
import { runReconcile } from '../../../functions/reconcile/reconcile.ts';
import { apply, type Delivery, type Transition } from '../../../shared/domain/delivery/delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey } from '../../support/delivery-builders.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import { inMemoryPullSubscriptions } from '../../support/in-memory/in-memory-subscriptions.ts';
import {
  numbered,
  oneSubscriberWorld,
  type OneSubscriberWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

describe('reconcile', () => {
  beforeEach(async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 });
    world.subscriber.script(world.url, [status(500), status(200)]);
  });

  /** Wake-ups that are sent meanwhile are lost. */
  const losingWakeUps = async (act: () => Promise<unknown>): Promise<void> => {
    const lost = vi.spyOn(world.wakeUps, 'sendDelayed').mockResolvedValue();
    await act();
    lost.mockRestore();
  };

  /** The first attempts of a message fail, and the wake-ups of their retries are lost. */
  const failWithLostWakeUps = () => losingWakeUps(() => world.deliver());

  /** A further subscriber, whose first attempt fails. */
  const subscribeFailing = async (id: string, retryAfter: string): Promise<void> => {
    const subscriber = `https://subscriber.test/${id}`;
    await addSubscription(world.subscriptions, aSubscription({ id, subscriber }));
    world.subscriber.script(subscriber, [status(500, { retryAfter }), status(200)]);
  };

  const lastRun = () => world.journal.facts.findLast(({ fact }) => fact === 'reconcile_ran');

  it('wakes a retry whose wake-up was lost, and returns how late it was', async () => {
    await failWithLostWakeUps();
    await world.runFor((10 + 45) * SECOND);
    const result = await world.reconcile();
    await world.clock.run();

    expect(result).toEqual({ woken: 1, latestMs: 45_000 });
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('does not wake a delivery that is overdue only briefly', async () => {
    await failWithLostWakeUps();
    await world.runFor((10 + 29) * SECOND);

    expect(await world.reconcile()).toEqual({ woken: 0, latestMs: 0 });
  });

  it('wakes a delivery at most once in 15 minutes, so that a backlog does not multiply', async () => {
    await failWithLostWakeUps();
    await world.runFor(MINUTE);
    await losingWakeUps(world.reconcile);
    await world.runFor(14 * MINUTE);
    expect(await world.reconcile()).toMatchObject({ woken: 0 });
    await world.runFor(2 * MINUTE);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('wakes the others if one wake-up cannot be sent, and that one five minutes later', async () => {
    await subscribeFailing('other', '10');
    await failWithLostWakeUps();
    await world.runFor(MINUTE);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) =>
      wakeUp.key.subscriptionId === 'other'
        ? Promise.reject(new Error('throttled'))
        : send(wakeUp, delaySeconds);
    await expect(world.reconcile()).rejects.toThrow('1 deliveries could not be woken');
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 2, stuck: 0 });
    await world.runFor(SECOND);
    expect((await world.delivery()).status).toBe('delivered');
    world.wakeUps.sendDelayed = send;
    await world.runFor(5 * MINUTE - 30 * SECOND);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('logs at each run how many deliveries it found and how many it had woken before', async () => {
    await world.reconcile();
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 0, stuck: 0 });

    await failWithLostWakeUps();
    await world.runFor(MINUTE);
    for (const stuck of [0, 1]) {
      await losingWakeUps(world.reconcile);
      expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck });
      await world.runFor(16 * MINUTE);
    }
    await world.reconcile();
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await world.runFor(MINUTE);
    await world.reconcile();
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 0, stuck: 0 });
  });

  it('wakes each delivery once if two runs are concurrent', async () => {
    await failWithLostWakeUps();
    await world.runFor(MINUTE);
    const both = await Promise.all([world.reconcile(), world.reconcile()]);

    expect(both.reduce((sum, { woken }) => sum + woken, 0)).toBe(1);
  });

  it('wakes a finished delivery with pending steps, which is stuck after an earlier wake-up', async () => {
    world.subscriber.script(world.url, [status(400)]);
    const send = vi.spyOn(world.undeliverables, 'send').mockRejectedValue(new Error('throttled'));
    await world.publish();
    await world.runFor(MINUTE);
    const pendingSteps = [{ kind: 'undeliverable' }];
    expect(await world.delivery()).toMatchObject({ status: 'rejected', pendingSteps });
    await losingWakeUps(world.reconcile);
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 0 });
    await world.runFor(16 * MINUTE);
    send.mockRestore();
    await world.reconcile();
    expect(lastRun()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await world.runFor(SECOND);

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
  });

  it('processes page after page until nothing is overdue', async () => {
    for (let index = 0; index < 450; index += 1) await subscribeFailing(`s-${index}`, '5');
    await failWithLostWakeUps();
    await world.runFor(2 * MINUTE);

    expect(await world.reconcile()).toMatchObject({ woken: 451 });
  });
});

describe('a run of reconcile', () => {
  const CALL_MS = 10;
  /** A page of the deliveries has ten writes at a time. */
  const TOGETHER = 10;

  /** A run of a minute over overdue webhooks, and over deliveries that wait too long for pull. */
  const runOver = async (counts: { overdue: number; waiting: number }) => {
    const left = { ...counts };
    const start = 100 * DAY;
    let now = start;
    let wokenAt = start;
    const takes = (calls: number): void => {
      now += (CALL_MS * calls) / TOGETHER;
    };
    const page = (count: number, overdueAt: number) =>
      Array.from({ length: count }, () => ({ key: aDeliveryKey(), overdueAt }));
    const write = (transition: Transition) => {
      takes(1);
      left[transition.name === 'cancel' ? 'waiting' : 'overdue'] -= 1;
      const current: Delivery = aDelivery({ key: transition.key, status: 'retrying' });
      const delivery = 'change' in transition ? apply(transition.change, current) : current;
      return Promise.resolve({ kind: 'written', delivery } as const);
    };
    // Of every part, so that each run has all waits to end.
    const pulled = numbered(600).map((subscriptionId) => ({ queue: 'orders', subscriptionId }));
    const unused = (): never => {
      throw new Error('reconcile does not call this');
    };
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
        pullSubscriptions: { after: (last?: object) => Promise.resolve(last === undefined ? pulled : []) },
        wakeUps: {
          sendDelayed: () => {
            takes(1);
            wokenAt = now;
            return Promise.resolve();
          },
        },
      },
      settings: { overdueAfterMs: 30_000, retentionMs: 30 * DAY },
    };
    await runReconcile(context, () => start + MINUTE - now);
    return { left, tookMs: now - start, wokenAfterMs: wokenAt - start };
  };

  it('wakes 10,000 overdue webhooks first, although 100,000 deliveries waited too long for pull', async () => {
    const { left, tookMs, wokenAfterMs } = await runOver({ overdue: 10_000, waiting: 100_000 });
    expect(left.overdue).toBe(0);
    expect(wokenAfterMs).toBeLessThan(25_000);
    expect(left.waiting).toBeLessThan(95_000);
    expect(tookMs).toBeLessThan(MINUTE);
  });

  it('ends waits although the overdue webhooks do not end', async () => {
    const { left, tookMs } = await runOver({ overdue: 1_000_000, waiting: 100_000 });
    expect(left.overdue).toBeLessThan(990_000);
    expect(left.waiting).toBeLessThan(99_500);
    expect(tookMs).toBeLessThan(MINUTE);
  });

  it('leaves the rest of its minute to the next one, although waits do not end', async () => {
    const { left, tookMs } = await runOver({ overdue: 0, waiting: 10_000_000 });
    expect(tookMs).toBeLessThan(25_000);
    expect(left.waiting).toBeLessThan(9_995_000);
  });
});

describe('the end of long waits', () => {
  const HALF_OF_RETENTION = 15 * DAY;

  /** An hour of runs. */
  const endWaits = async (remainingMs = MINUTE): Promise<void> => {
    const context = {
      ports: { ...world, pullSubscriptions: inMemoryPullSubscriptions(world.subscriptions, 1) },
      settings: world.settings,
    };
    for (let minute = 0; minute < 60; minute += 1) {
      await endLongWaits(context, () => remainingMs);
      await world.runFor(MINUTE);
    }
  };

  const publish = async (count: number): Promise<void> => {
    await world.publish(...numbered(count));
    await world.runFor(0);
  };

  const statusOf = async (subscriptionId: string, messageId = 'm-0') => {
    const { status, reason } = await world.delivery(subscriptionId, messageId);
    return [status, reason];
  };

  beforeEach(async () => {
    await world.subscriptions.putQueue(aQueue());
    const options = { _retry_policy: aBarePolicy() };
    const expiresAt = world.clock.now() + DAY;
    for (const more of [
      { id: 's-1', subscriber: 'pull:one' },
      { id: 's-2', subscriber: 'pull:two', expiresAt },
    ])
      await addSubscription(world.subscriptions, aSubscription({ options, ...more }));
  });

  it('cancels what waited for half of the retention, on record for as long again', async () => {
    await publish(1);
    await world.runFor(HALF_OF_RETENTION - HOUR);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1')).toEqual(['cancelled', 'not_received']);
    const { updatedAt, expiresAt } = await world.delivery('s-1', 'm-0');
    expect(expiresAt - updatedAt).toBe(2 * HALF_OF_RETENTION);
    expect(world.facts('delivery_cancelled')).toHaveLength(2);
  });

  it('cancels what waits for an expired subscription', async () => {
    await publish(1);
    await world.runFor(DAY);
    await endWaits();
    expect(await statusOf('s-2')).toEqual(['cancelled', 'subscription_expired']);
    expect(await statusOf('s-1')).toEqual(['pending', undefined]);
  });

  it('covers more than a page of a subscription, and stops without time', async () => {
    await publish(30);
    await world.runFor(HALF_OF_RETENTION);
    await endWaits(1_000);
    expect(await statusOf('s-1', 'm-29')).toEqual(['pending', undefined]);
    await endWaits();
    expect(await statusOf('s-1', 'm-29')).toEqual(['cancelled', 'not_received']);
    expect(await statusOf('s-2', 'm-29')).toEqual(['cancelled', 'subscription_expired']);
  });

  it('looks at each subscription once an hour', async () => {
    const waiting = vi.spyOn(world.deliveries, 'waiting');
    await endWaits();
    expect(waiting.mock.calls.map(([{ subscriptionId }]) => subscriptionId).sort()).toEqual(['s-1', 's-2']);
  });
});
