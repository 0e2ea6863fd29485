import { errorOf } from '../../../shared/domain/errors.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Deliveries } from '../../../shared/ports/deliveries.ts';
import type { MessageRecords } from '../../../shared/ports/messages.ts';
import type { QueueDepth, QueueDepths } from '../../../shared/ports/queues.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';

export type HealthContext = {
  registry: Pick<Registry, 'findQueue'>;
  messageRecords: Pick<MessageRecords, 'find'>;
  deliveries: Pick<Deliveries, 'overdue'>;
  queueDepths: QueueDepths;
  clock: Pick<Clock, 'now'>;
  /** How long past due, in milliseconds, a retry counts as overdue. */
  settings: { overdueAfterMs: number };
};

export type Check = 'subscriptionsTable' | 'deliveriesTable' | 'queues';

/**
 * `queues`: waiting messages; `delayed`: those not visible yet. These and `overdue` are absent if their check failed.
 * `faults` are for the log.
 */
export type Health = {
  checks: Record<Check, 'ok' | 'failing'>;
  queues?: Record<string, number>;
  delayed?: Record<string, number>;
  overdue?: number;
  faults: readonly Error[];
};

/** Counting stops here, to bound the cost. */
const MAX_OVERDUE = 1_000;

/** The queue name that the checks read. The queue need not exist. */
const PROBE_QUEUE = 'health';

/** Whether the tables and SQS queues of the deployment answer. A failed check is a result and does not throw. */
export async function readHealth(context: HealthContext): Promise<Health> {
  const { registry, messageRecords, deliveries, queueDepths, clock, settings } = context;
  const [subscriptionsTable, deliveriesTable, queues] = await Promise.all([
    runCheck(() => registry.findQueue(PROBE_QUEUE)),
    runCheck(async () => {
      const [overdue] = await Promise.all([
        deliveries.overdue(clock.now() - settings.overdueAfterMs, MAX_OVERDUE),
        messageRecords.find({ queue: PROBE_QUEUE, messageId: PROBE_QUEUE }),
      ]);
      return overdue.length;
    }),
    runCheck(() => queueDepths.approximate()),
  ]);
  const all = { subscriptionsTable, deliveriesTable, queues };
  return {
    checks: {
      subscriptionsTable: stateOf(subscriptionsTable),
      deliveriesTable: stateOf(deliveriesTable),
      queues: stateOf(queues),
    },
    ...(queues.ok && {
      queues: countEach(queues.value, ({ waiting }) => waiting),
      delayed: countEach(queues.value, ({ delayed }) => delayed),
    }),
    ...(deliveriesTable.ok && { overdue: deliveriesTable.value }),
    faults: Object.values(all).flatMap((one) => (one.ok ? [] : [one.fault])),
  };
}

function countEach(
  depths: Record<string, QueueDepth>,
  count: (depth: QueueDepth) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(depths).map(([name, depth]) => [name, count(depth)]));
}

type CheckResult<Value> = { ok: true; value: Value } | { ok: false; fault: Error };

async function runCheck<Value>(check: () => Promise<Value>): Promise<CheckResult<Value>> {
  try {
    return { ok: true, value: await check() };
  } catch (error) {
    return { ok: false, fault: errorOf(error) };
  }
}

function stateOf({ ok }: CheckResult<unknown>): 'ok' | 'failing' {
  return ok ? 'ok' : 'failing';
}
