import type { WakeUp } from '../domain/delivery-job.ts';
import { postpone } from '../domain/delivery-result.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deliveries, OverdueDelivery } from '../ports/deliveries.ts';
import type { Journal } from '../ports/journal.ts';
import type { WakeUps } from '../ports/wake-ups.ts';

export type ReconcileContext = {
  ports: { clock: Clock; deliveries: Deliveries; wakeUps: Pick<WakeUps, 'sendDelayed'>; journal: Journal };
  settings: { overdueAfterMs: number; retentionMs: number };
};

/** Deliveries looked up, and woken side by side, at a time. */
const PAGE = 200;
const SIDE_BY_SIDE = 10;

/** What has to be left of the invocation for another page. */
const PAGE_MS = 15_000;

/** What a run did: how many it woke, and how late the latest of them was, in milliseconds. */
export type Reconciliation = { woken: number; latestMs: number };

/**
 * The safety net: wakes deliveries whose wake-up never came, and those that still owe something (design §6). It stops
 * when nothing is overdue or the invocation's time is up; the next run goes on.
 * @throws when a delivery could not be woken; it stays in the index and is found again.
 */
export const reconcile = async (
  context: ReconcileContext,
  remainingMs: () => number,
): Promise<Reconciliation> => {
  const { ports, settings } = context;
  let sum: Reconciliation = { woken: 0, latestMs: 0 };
  for (;;) {
    const found = await ports.deliveries.overdue(ports.clock.now() - settings.overdueAfterMs, PAGE);
    sum = await wakeAll(context, found, sum);
    if (found.length < PAGE || remainingMs() < PAGE_MS) return sum;
  }
};

const wakeAll = async (
  context: ReconcileContext,
  found: readonly OverdueDelivery[],
  before: Reconciliation,
): Promise<Reconciliation> => {
  let sum = before;
  for (let start = 0; start < found.length; start += SIDE_BY_SIDE) {
    const overdueMs = await Promise.all(
      found.slice(start, start + SIDE_BY_SIDE).map((one) => wake(context, one)),
    );
    for (const ms of overdueMs)
      if (ms !== undefined) sum = { woken: sum.woken + 1, latestMs: Math.max(sum.latestMs, ms) };
  }
  return sum;
};

/** How overdue it was, in milliseconds; undefined where somebody else moved it meanwhile. */
const wake = async (
  { ports, settings }: ReconcileContext,
  found: OverdueDelivery,
): Promise<number | undefined> => {
  const now = ports.clock.now();
  const result = await ports.deliveries.write(postpone(found, { now, retentionMs: settings.retentionMs }));
  if (result.kind === 'refused') return undefined;
  await ports.wakeUps.sendDelayed(wakeUpFor(result.delivery, now), 0);
  const overdueMs = now - found.overdueAt;
  ports.journal.note({ fact: 'reconciled', key: found.key, overdueMs });
  return overdueMs;
};

/** A delivery that is over is woken under its last attempt's number: it is refused, and then does what it owes. */
const wakeUpFor = ({ key, next, attempts }: Delivery, now: number): WakeUp => ({
  kind: 'wake_up',
  key,
  attempt: next?.number ?? Math.max(1, attempts.length),
  dueAt: next?.dueAt ?? now,
  by: 'reconcile',
});
