import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { wasAlreadyPostponed, postpone } from '../../shared/domain/delivery/transitions.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries, OverdueDelivery } from '../../shared/ports/deliveries.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';

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
 * The safety net: wakes deliveries whose wake-up never came, and those that still owe something (docs/design.md#6-wake-ups). It stops
 * when nothing is overdue or the invocation's time is up; the next run goes on.
 * @throws AggregateError when deliveries could not be woken, after the others were; they are found again once their postponement is over.
 */
export async function reconcile(
  context: ReconcileContext,
  remainingMs: () => number,
): Promise<Reconciliation> {
  const { ports, settings } = context;
  let run: Run = { woken: 0, stuck: 0, latestMs: 0, failures: [] };
  for (;;) {
    const found = await ports.deliveries.overdue(ports.clock.now() - settings.overdueAfterMs, PAGE);
    run = await wakeAll(context, found, run);
    if (found.length < PAGE || remainingMs() < PAGE_MS) break;
  }
  const { failures, stuck, ...sum } = run;
  ports.journal.note({ fact: 'reconcile_ran', overdue: sum.woken + failures.length, stuck });
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} deliveries could not be woken`);
  return sum;
}

type Run = Reconciliation & { stuck: number; failures: readonly unknown[] };

async function wakeAll(
  context: ReconcileContext,
  found: readonly OverdueDelivery[],
  before: Run,
): Promise<Run> {
  let run = before;
  for (let start = 0; start < found.length; start += SIDE_BY_SIDE) {
    const group = found.slice(start, start + SIDE_BY_SIDE).map((one) => wake(context, one));
    for (const result of await Promise.allSettled(group)) run = withResult(run, result);
  }
  return run;
}

function withResult(run: Run, result: PromiseSettledResult<Woken | undefined>): Run {
  if (result.status === 'rejected') return { ...run, failures: [...run.failures, result.reason] };
  if (result.value === undefined) return run;
  const { overdueMs, stuck } = result.value;
  return {
    ...run,
    woken: run.woken + 1,
    stuck: run.stuck + (stuck ? 1 : 0),
    latestMs: Math.max(run.latestMs, overdueMs),
  };
}

/** How overdue it was, in milliseconds, and whether it was woken before in vain. */
type Woken = { overdueMs: number; stuck: boolean };

/** Undefined: another run or invocation moved its index key meanwhile. */
async function wake(
  { ports, settings }: ReconcileContext,
  found: OverdueDelivery,
): Promise<Woken | undefined> {
  const at = { now: ports.clock.now(), retentionMs: settings.retentionMs };
  const result = await ports.deliveries.write(postpone(found, at));
  if (result.kind === 'refused') return undefined;
  // It stays postponed where this throws: the wake-up may have been sent all the same.
  await ports.wakeUps.sendDelayed(wakeUpFor(result.delivery, at.now), 0);
  const overdueMs = at.now - found.overdueAt;
  ports.journal.note({ fact: 'reconciled', key: found.key, overdueMs });
  return { overdueMs, stuck: wasAlreadyPostponed(result.delivery, found.overdueAt) };
}

/** A delivery that is over is woken under its last attempt's number: it is refused, and then does what it owes. */
function wakeUpFor({ key, next, attempts }: Delivery, now: number): WakeUp {
  return {
    kind: 'wake_up',
    key,
    attempt: next?.number ?? Math.max(1, attempts.length),
    dueAt: next?.dueAt ?? now,
    by: 'reconcile',
  };
}
