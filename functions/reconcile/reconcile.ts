import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import {
  type OverdueDelivery,
  wasAlreadyPostponed,
  postpone,
  UNSENT_MS,
} from '../../shared/domain/delivery/transitions.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import { endLongWaits, type EndWaitsContext } from './end-waits.ts';

export type ReconcileContext = {
  ports: { clock: Clock; deliveries: Deliveries; wakeUps: Pick<WakeUps, 'sendDelayed'>; journal: Journal };
  settings: { overdueAfterMs: number };
};

/**
 * Milliseconds of a run for ending waits: what wake-ups leave in any case, and the most. Without the first, a backlog of
 * overdue deliveries ends no wait for its whole length; without the second, waits keep the next run from starting.
 */
const LEAST_FOR_WAITS_MS = 12_000;
const MAX_FOR_WAITS_MS = 20_000;

/**
 * A run: wakes overdue deliveries, then ends long waits for pull.
 * @throws AggregateError if some could not be woken, after waits were ended
 */
export async function runReconcile(
  context: ReconcileContext & EndWaitsContext,
  remainingMs: () => number,
): Promise<Reconciliation> {
  try {
    return await reconcile(context, () => remainingMs() - LEAST_FOR_WAITS_MS);
  } finally {
    const { clock } = context.ports;
    const end = clock.now() + MAX_FOR_WAITS_MS;
    await endLongWaits(context, () => Math.min(remainingMs(), end - clock.now()));
  }
}

/** Deliveries read per page, and woken concurrently. */
const PAGE = 200;
const CONCURRENCY = 10;

/** Time needed for another page, in milliseconds. */
const PAGE_MS = 15_000;

/** The result of a run: how many deliveries it woke, and by how many milliseconds the most overdue one was late. */
export type Reconciliation = { woken: number; latestMs: number };

/**
 * Wakes overdue deliveries: their wake-up was lost, or they still have pending steps (docs/retry-policy.md#from-delay-to-wake-up).
 * Stops when none is left or the time is up; the next run continues.
 * @throws AggregateError if some could not be woken, after all others were; a later run finds them again
 */
export async function reconcile(
  context: ReconcileContext,
  remainingMs: () => number,
): Promise<Reconciliation> {
  const { ports, settings } = context;
  const results: PromiseSettledResult<WakeResult | undefined>[] = [];
  for (;;) {
    const found = await ports.deliveries.overdue(ports.clock.now() - settings.overdueAfterMs, PAGE);
    for (let start = 0; start < found.length; start += CONCURRENCY) {
      const group = found.slice(start, start + CONCURRENCY).map((one) => wake(context, one));
      results.push(...(await Promise.allSettled(group)));
    }
    if (found.length < PAGE || remainingMs() < PAGE_MS) break;
  }
  const woken = results.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
  const failures = results.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []));
  const stuck = woken.filter((one) => one.stuck).length;
  ports.journal.note({ fact: 'reconcile_ran', overdue: woken.length + failures.length, stuck });
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} deliveries could not be woken`);
  const latestMs = woken.reduce((latest, { overdueMs }) => Math.max(latest, overdueMs), 0);
  return { woken: woken.length, latestMs };
}

/** How overdue a delivery was, in milliseconds, and whether an earlier wake-up had no effect. */
type WakeResult = { overdueMs: number; stuck: boolean };

/** Postpones and wakes one delivery. Undefined: a concurrent write moved its key in the overdue index. */
async function wake({ ports }: ReconcileContext, found: OverdueDelivery): Promise<WakeResult | undefined> {
  const at = { now: ports.clock.now() };
  const result = await ports.deliveries.write(postpone(found, at));
  if (result.kind === 'refused') return undefined;
  const { delivery } = result;
  try {
    await ports.wakeUps.sendDelayed(wakeUpFor(delivery, at.now), 0);
  } catch (error) {
    const { key, overdueAt = found.overdueAt } = delivery;
    await ports.deliveries.write(postpone({ key, overdueAt }, at, UNSENT_MS));
    throw error;
  }
  const overdueMs = at.now - found.overdueAt;
  // The lapsed lease of a subscriber is no lost wake-up: deliver records its failure.
  if (delivery.lease?.receivedAt === undefined)
    ports.journal.note({ fact: 'reconciled', key: found.key, overdueMs });
  return { overdueMs, stuck: wasAlreadyPostponed(delivery, found.overdueAt) };
}

/** A finished delivery uses its last attempt's number: its claim is refused, and deliver does the pending steps. */
function wakeUpFor({ key, next, attempts }: Delivery, now: number): WakeUp {
  return {
    kind: 'wake_up',
    key,
    attempt: next?.number ?? Math.max(1, attempts.length),
    dueAt: next?.dueAt ?? now,
    by: 'reconcile',
  };
}
