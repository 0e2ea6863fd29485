import { withRetriedWrites } from '../domain/contention.ts';
import { cancelOpen, cancelBeforeFirstAttempt } from '../domain/delivery/by-hand.ts';
import { isOpen, type Delivery, type DeliveryKey, type Transition } from '../domain/delivery/delivery.ts';
import { bucketIn, isAhead, partWith } from '../domain/delivery/fan-out.ts';
import { wasActiveAt } from '../domain/message/addressees.ts';
import { canLeaveLine, rateLimitOf } from '../domain/subscription/rate-limit.ts';
import { absenceOf } from '../domain/subscription/subscription.ts';
import type { MessageRecord } from '../ports/messages.ts';
import { removeSchedule, type ByHandContext } from './by-hand.ts';
import { isWaiting, moveUpWaiting } from './move-up.ts';
import { OPEN_STATUSES, type CancelReason, type CancelRefusal } from '../domain/vocabulary.ts';
import { writeTime } from './retention.ts';

export type CancelResult =
  { kind: 'cancelled'; delivery: Delivery } | { kind: 'refused'; why: CancelRefusal; delivery?: Delivery };

/**
 * Ends an open delivery: no request is made for it any more. One may be in flight, and its success would still count. A
 * delivery whose job was not received yet ends as well, where the message's record says that it is to come.
 * @throws when a service fails; safe to repeat.
 */
export async function cancelDelivery(
  context: ByHandContext,
  key: DeliveryKey,
  reason: CancelReason,
): Promise<CancelResult> {
  const { ports } = context;
  const result = await withRetriedWrites<CancelResult>(async () => {
    const current = await ports.deliveries.find(key);
    const decision = await decisionOn(context, key, current, reason);
    if ('why' in decision)
      return { kind: 'refused', ...decision, ...(current === undefined ? {} : { delivery: current }) };
    const writing = await ports.deliveries.write(decision.transition);
    if (writing.kind === 'refused') return 'again';
    if (current !== undefined) await leaveBehind(context, current);
    ports.journal.note({ fact: 'delivery_cancelled', key, reason });
    return { kind: 'cancelled', delivery: writing.delivery };
  });
  return result === 'again' ? { kind: 'refused', why: 'contended' } : result;
}

/** Its schedule, and its place in the line of a subscription that limits the rate: those behind it need not wait for it. */
async function leaveBehind(context: ByHandContext, before: Delivery): Promise<void> {
  const { clock, rateLimits } = context.ports;
  await removeSchedule(context, before);
  if (!isWaiting(before) || !canLeaveLine(before.slot, clock.now())) return;
  await rateLimits.leave(before.key, before.slot);
  await moveLastUp(context, before.key);
}

/** Of either status so many deliveries are looked at for the last in a line: those of the latest messages. */
const LATEST = 20;

/** One of the last in a line takes the place that was left, and the line is shorter by one. Without any, the next to come takes it. */
async function moveLastUp(context: ByHandContext, { queue, subscriptionId }: DeliveryKey): Promise<void> {
  const { clock, deliveryListings, subscriptions } = context.ports;
  const { subscription } = await subscriptions.find(queue, subscriptionId, 'fresh');
  if (subscription === undefined || absenceOf(subscription, clock.now()) !== undefined) return;
  const pages = await Promise.all(
    OPEN_STATUSES.map((status) =>
      deliveryListings.newest({ queue, subscriptionId, status }, { limit: LATEST }),
    ),
  );
  const keys = pages.flatMap(({ items }) => items.map(({ key }) => key));
  const { deliveries } = await deliveryListings.records(keys);
  const [last] = deliveries.filter(isWaiting).toSorted((one, other) => other.slot.at - one.slot.at);
  if (last !== undefined) await moveUpWaiting(context, last, rateLimitOf(subscription));
}

type Decision = { transition: Transition } | { why: CancelRefusal };

async function decisionOn(
  context: ByHandContext,
  key: DeliveryKey,
  current: Delivery | undefined,
  reason: CancelReason,
): Promise<Decision> {
  const at = writeTime(context);
  if (current !== undefined)
    return isOpen(current.status) ? { transition: cancelOpen(current, reason, at) } : { why: 'over' };
  // An order for many goes by what is on record; only a person names a delivery that is still to come.
  if (reason !== 'manual') return { why: 'no_such_delivery' };
  const record = await context.ports.messageRecords.find(key);
  if (record === undefined) return { why: 'no_such_delivery' };
  if (isElsewhere(key, record)) return { why: 'not_begun' };
  if (!(await isToCome(context, key, record))) return { why: 'no_such_delivery' };
  if (record.filtered > 0) return { why: 'not_begun' };
  return { transition: cancelBeforeFirstAttempt({ key, acceptedAt: record.acceptedAt }, reason, at) };
}

/** Dispatch, which decides where a delivery is, had not come to its subscription when the key was made, or has not by now. */
function isElsewhere({ subscriptionId, bucket }: DeliveryKey, record: MessageRecord): boolean {
  return (
    isAhead(record, subscriptionId) || bucketIn(partWith(record, subscriptionId), subscriptionId) !== bucket
  );
}

async function isToCome(context: ByHandContext, key: DeliveryKey, record: MessageRecord): Promise<boolean> {
  return (await isMember(context, key, record)) && (await hasUnbegun(context, record));
}

/** Judged as dispatch did, but for filters: the record says how many subscriptions these left out, not which. */
async function isMember(
  { ports }: ByHandContext,
  { queue, subscriptionId }: DeliveryKey,
  record: MessageRecord,
): Promise<boolean> {
  const { subscription } = await ports.subscriptions.find(queue, subscriptionId, 'fresh');
  const { listedAt } = partWith(record, subscriptionId);
  return subscription !== undefined && wasActiveAt(subscription, { acceptedAt: record.acceptedAt, listedAt });
}

/** Where as many are on record as matched, no further one is to come. */
async function hasUnbegun({ ports }: ByHandContext, record: MessageRecord): Promise<boolean> {
  const counts = await ports.deliveryListings.tally(record);
  return Object.values(counts).reduce((sum, count) => sum + count, 0) < record.matched;
}
