import { withRetriedWrites } from '../domain/contention.ts';
import { cancelOpen, cancelBeforeFirstAttempt } from '../domain/delivery/interventions.ts';
import { isOpen, type Delivery, type DeliveryKey, type Transition } from '../domain/delivery/delivery.ts';
import { bucketIn, isAhead, partWith } from '../domain/delivery/fan-out.ts';
import { sumOfCounts } from '../domain/delivery/books.ts';
import { wasActiveAt } from '../domain/message/matching.ts';
import { computePace } from '../domain/subscription/back-pressure.ts';
import { canReturnSlot } from '../domain/subscription/rate-limit.ts';
import { findAbsence } from '../domain/subscription/subscription.ts';
import type { MessageRecord } from '../ports/messages.ts';
import { removeSchedule, type InterventionContext } from './retry-delivery.ts';
import { isWaiting, moveUpWaiting } from './move-up.ts';
import { OPEN_STATUSES, type CancelReason, type CancelRefusal } from '../domain/delivery/vocabulary.ts';
import { writeTime } from './retention.ts';

export type CancelResult =
  | { kind: 'cancelled'; delivery: Delivery }
  | { kind: 'refused'; why: CancelRefusal; delivery?: Delivery };

/**
 * Cancels an open delivery: no further request starts. One in flight may still succeed and then counts. Also
 * cancels a delivery whose job has not been received, if the message's record shows that it is expected.
 * @throws when a service fails; safe to repeat.
 */
export function cancelDelivery(
  context: InterventionContext,
  key: DeliveryKey,
  reason: CancelReason,
): Promise<CancelResult> {
  const { ports } = context;
  const attempt = async (): Promise<CancelResult | 'again'> => {
    const current = await ports.deliveries.find(key);
    const decision = await decideCancellation(context, key, current, reason);
    if ('why' in decision)
      return { kind: 'refused', ...decision, ...(current === undefined ? {} : { delivery: current }) };
    const writing = await ports.deliveries.write(decision.transition);
    if (writing.kind === 'refused') return 'again';
    if (current !== undefined) await releaseSlotAndSchedule(context, current);
    ports.journal.note({ fact: 'delivery_cancelled', key, reason });
    return { kind: 'cancelled', delivery: writing.delivery };
  };
  return withRetriedWrites(attempt, () => ({ kind: 'refused', why: 'contended' }));
}

/** Removes the schedule of a cancelled delivery and frees its slot in the line for others. */
async function releaseSlotAndSchedule(context: InterventionContext, before: Delivery): Promise<void> {
  const { clock, rateLimits } = context.ports;
  await removeSchedule(context, before);
  if (!isWaiting(before) || !canReturnSlot(before.slot, clock.now())) return;
  await rateLimits.returnSlot(before.key, before.slot);
  await moveLastDeliveryUp(context, before.key);
}

/** How many of the newest open deliveries per status are searched for the last one in the line. */
const LATEST_PER_STATUS = 20;

/** Gives the freed slot to one of the last deliveries in the line. If there is none, the next delivery gets it. */
async function moveLastDeliveryUp(
  context: InterventionContext,
  { queue, subscriptionId }: DeliveryKey,
): Promise<void> {
  const { clock, deliveryListings, subscriptions } = context.ports;
  const { subscription } = await subscriptions.find(queue, subscriptionId, 'fresh');
  if (subscription === undefined || findAbsence(subscription, clock.now()) !== undefined) return;
  const pages = await Promise.all(
    OPEN_STATUSES.map((status) =>
      deliveryListings.newest({ queue, subscriptionId, status }, { limit: LATEST_PER_STATUS }),
    ),
  );
  const keys = pages.flatMap(({ items }) => items.map(({ key }) => key));
  const { deliveries } = await deliveryListings.records(keys);
  const [last] = deliveries.filter(isWaiting).toSorted((one, other) => other.slot.at - one.slot.at);
  if (last !== undefined) await moveUpWaiting(context, last, computePace(subscription, clock.now()));
}

type Decision = { transition: Transition } | { why: CancelRefusal };

async function decideCancellation(
  context: InterventionContext,
  key: DeliveryKey,
  current: Delivery | undefined,
  reason: CancelReason,
): Promise<Decision> {
  if (current !== undefined)
    return isOpen(current)
      ? { transition: cancelOpen(current, reason, writeTime(context, current)) }
      : { why: 'over' };
  // A bulk cancellation covers recorded deliveries; only an operator names one that has no record yet.
  if (reason !== 'manual') return { why: 'no_such_delivery' };
  const record = await context.ports.messageRecords.find(key);
  if (record === undefined) return { why: 'no_such_delivery' };
  if (isInAnotherBucket(key, record)) return { why: 'not_begun' };
  if (!(await isExpected(context, key, record))) return { why: 'no_such_delivery' };
  if (record.filtered > 0) return { why: 'not_begun' };
  const create = cancelBeforeFirstAttempt({ ...record, key }, reason, writeTime(context, record));
  return { transition: create };
}

/** Whether dispatch placed the subscription in another bucket, or has not reached it yet. */
function isInAnotherBucket({ subscriptionId, bucket }: DeliveryKey, record: MessageRecord): boolean {
  return (
    isAhead(record, subscriptionId) || bucketIn(partWith(record, subscriptionId), subscriptionId) !== bucket
  );
}

/**
 * Whether the message was sent to the subscription, as dispatch decides it but without filters (the record stores only
 * how many subscriptions they excluded), and not all that was sent is on record.
 */
async function isExpected(
  context: InterventionContext,
  { queue, subscriptionId }: DeliveryKey,
  record: MessageRecord,
): Promise<boolean> {
  const { subscription } = await context.ports.subscriptions.find(queue, subscriptionId, 'fresh');
  const { acceptedAt } = record;
  const { listedAt } = partWith(record, subscriptionId);
  const wasActive = subscription !== undefined && wasActiveAt(subscription, { acceptedAt, listedAt });
  return wasActive && (await hasUnrecordedDeliveries(context, record));
}

/** Whether fewer deliveries are recorded than matched, so that more will follow. */
export async function hasUnrecordedDeliveries(
  { ports }: Pick<InterventionContext, 'ports'>,
  record: MessageRecord,
): Promise<boolean> {
  return sumOfCounts(await ports.deliveryListings.tally(record)) < record.matched;
}
