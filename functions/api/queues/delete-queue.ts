import type { Clock } from '../../../shared/ports/clock.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import { type Registry, REMOVAL_BUDGET_MS } from '../../../shared/ports/subscriptions.ts';

/** So that operate and this request do not remove the same subscriptions at the same time. */
const OPERATE_AFTER_SECONDS = 2;

/**
 * Deletes a queue with its subscriptions; operate then removes what `removeAtOnce` left of them, and cancels its pending deliveries.
 * Idempotent: a repeat completes a deletion that a crash cut short.
 * @throws when the order for operate could not be sent; a repeat sends it
 */
export async function deleteQueue(
  {
    registry,
    clock,
    operations,
  }: {
    registry: Pick<Registry, 'deleteQueue'>;
    clock: Pick<Clock, 'now'>;
    operations: Operations;
  },
  queue: string,
): Promise<void> {
  const deletedAt = clock.now();
  await registry.deleteQueue(queue, deletedAt);
  await operations.send({ kind: 'cancellation', queue, deletedAt }, OPERATE_AFTER_SECONDS);
}

/** Removes what is left of a deleted queue for `REMOVAL_BUDGET_MS`, so that a small one can be made anew at once. */
export async function removeAtOnce(
  { registry, clock }: { registry: Pick<Registry, 'removeDeletedQueue'>; clock: Pick<Clock, 'now'> },
  queue: string,
): Promise<void> {
  const until = clock.now() + REMOVAL_BUDGET_MS;
  await registry.removeDeletedQueue(queue, () => clock.now() < until);
}
