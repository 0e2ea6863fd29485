import type { Clock } from '../../../shared/ports/clock.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import { type Registry, REMOVAL_BUDGET_MS } from '../../../shared/ports/subscriptions.ts';

/** Keeps operate from removing the same subscriptions while this request does. */
const OPERATE_AFTER_SECONDS = 2;

/**
 * Deletes a queue with its subscriptions. operate then removes the subscriptions that `removeAtOnce` left, and cancels
 * pending deliveries. Idempotent: a repeat completes a deletion that a crash interrupted.
 * @throws when the operation could not be sent; a repeat sends it
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

/**
 * Removes subscriptions of a deleted queue for up to `REMOVAL_BUDGET_MS`, so that a small queue can be created again at once.
 */
export async function removeAtOnce(
  { registry, clock }: { registry: Pick<Registry, 'removeDeletedQueue'>; clock: Pick<Clock, 'now'> },
  queue: string,
): Promise<void> {
  const until = clock.now() + REMOVAL_BUDGET_MS;
  await registry.removeDeletedQueue(queue, () => clock.now() < until);
}
