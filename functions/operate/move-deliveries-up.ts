import { type Delivery } from '../../shared/domain/delivery/delivery.ts';
import { isOpenStatus } from '../../shared/domain/delivery/vocabulary.ts';
import { MAX_LEASE_MS } from '../../shared/domain/retry/attempt-duration.ts';
import type { MovingUpOperation } from '../../shared/domain/recovery/operation.ts';
import { computePace } from '../../shared/domain/subscription/back-pressure.ts';
import { isFromLowerLimit } from '../../shared/domain/subscription/rate-limit.ts';
import { findAbsence, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import { isWaiting, moveUpWaiting } from '../../shared/steps/move-up.ts';
import { continueLater, type OperationRun, processItems, processPages } from './context.ts';

const PAGE = 100;

/**
 * Gives earlier slots to the deliveries that wait under a lower rate limit than the current one, such as that of an
 * outage, oldest first. A second pass finds those in flight at the change. Best effort: a remaining delivery keeps its
 * slot.
 * @throws if a service fails: SQS redelivers the message
 */
export function moveDeliveriesUp(run: OperationRun, operation: MovingUpOperation): Promise<void> {
  return processPages(run, operation, (rest) => movePage(run, rest));
}

/** The rest of the operation; undefined if nothing is left or another message continues it. */
async function movePage(
  run: OperationRun,
  operation: MovingUpOperation,
): Promise<MovingUpOperation | undefined> {
  const subscription = await presentSubscription(run, operation);
  // Deliveries of a deleted or disabled subscription are cancelled when they are due.
  if (subscription === undefined) return undefined;
  const limit = computePace(subscription, run.ports.clock.now());
  const { deliveries, marker } = await openDeliveries(run, operation);
  const waiting = deliveries.filter(isWaiting).filter(({ slot }) => isFromLowerLimit(slot, limit));
  // Sorted by current slot, which keeps their order.
  const inLine = waiting.toSorted((one, other) => one.slot.at - other.slot.at);
  const { results, rest } = await processItems(run, operation.kind, inLine, (one) =>
    moveUpWaiting(run, one, limit),
  );
  // A moved delivery is not selected again, so reading the page again makes progress; if none moved, it would not.
  if (rest.length > 0 && results.includes('moved')) return operation;
  if (marker !== undefined) return { ...operation, cursor: marker };
  const { kind, queue, subscriptionId, settled } = operation;
  if (settled === true) return undefined;
  // A delivery claimed before the change may take a slot under the old limit after this pass.
  return continueLater(run, { kind, queue, subscriptionId, settled: true }, MAX_LEASE_MS / 1000);
}

async function presentSubscription(
  { ports }: OperationRun,
  { queue, subscriptionId }: MovingUpOperation,
): Promise<Subscription | undefined> {
  const { subscription } = await ports.subscriptions.find(queue, subscriptionId, 'fresh');
  return findAbsence(subscription, ports.clock.now()) === undefined ? subscription : undefined;
}

async function openDeliveries(
  { ports }: OperationRun,
  { queue, subscriptionId, cursor }: MovingUpOperation,
): Promise<{ deliveries: readonly Delivery[]; marker?: string }> {
  const page = { limit: PAGE, marker: cursor };
  const { items, ...end } = await ports.deliveryListings.oldest({ queue, subscriptionId }, page);
  const open = items.flatMap(({ key, status }) => (isOpenStatus(status) ? [key] : []));
  const { deliveries } = await ports.deliveryListings.records(open);
  return { deliveries, ...end };
}
