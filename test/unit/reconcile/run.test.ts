import { describe, expect, it } from 'vitest';
import { runReconcile } from '../../../functions/reconcile/run.ts';
import { apply, type Delivery, type Transition } from '../../../shared/domain/delivery/delivery.ts';
import { aDelivery, aDeliveryKey } from '../../support/delivery-builders.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
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
