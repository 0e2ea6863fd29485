import { endLongWaits, type EndWaitsContext } from './end-waits.ts';
import { reconcile, type Reconciliation, type ReconcileContext } from './reconcile.ts';

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
