import { errorOf } from '../../../shared/domain/errors.ts';
import type { QueueDepth } from '../../../shared/ports/queues.ts';
import type { ApiDependencies } from '../dependencies.ts';

export type HealthContext = Pick<
  ApiDependencies,
  'registry' | 'messageRecords' | 'deliveries' | 'queueDepths' | 'clock' | 'settings'
>;

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
  const [subscriptionsTable, deliveriesTable, queues] = await Promise.allSettled([
    registry.findQueue(PROBE_QUEUE),
    Promise.all([
      deliveries.overdue(clock.now() - settings.overdueAfterMs, MAX_OVERDUE),
      messageRecords.find({ queue: PROBE_QUEUE, messageId: PROBE_QUEUE }),
    ]),
    queueDepths.approximate(),
  ]);
  return {
    checks: {
      subscriptionsTable: stateOf(subscriptionsTable),
      deliveriesTable: stateOf(deliveriesTable),
      queues: stateOf(queues),
    },
    ...(queues.status === 'fulfilled' && {
      queues: countEach(queues.value, ({ waiting }) => waiting),
      delayed: countEach(queues.value, ({ delayed }) => delayed),
    }),
    ...(deliveriesTable.status === 'fulfilled' && { overdue: deliveriesTable.value[0].length }),
    faults: [subscriptionsTable, deliveriesTable, queues].flatMap((check) =>
      check.status === 'fulfilled' ? [] : [errorOf(check.reason)],
    ),
  };
}

function countEach(
  depths: Record<string, QueueDepth>,
  count: (depth: QueueDepth) => number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(depths).map(([name, depth]) => [name, count(depth)]));
}

function stateOf({ status }: PromiseSettledResult<unknown>): 'ok' | 'failing' {
  return status === 'fulfilled' ? 'ok' : 'failing';
}
