import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import { ANY_LEASE_MS } from '../../shared/domain/delivery/lease.ts';
import type { MovingUpOperation } from '../../shared/domain/recovery/operation.ts';
import { isFromLowerLimit, rateLimitOf } from '../../shared/domain/subscription/rate-limit.ts';
import { absenceOf, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import { isWaiting, moveUpWaiting, type WaitingDelivery } from '../../shared/steps/move-up.ts';
import {
  continueLater,
  noteFailed,
  pageByPage,
  workThrough,
  type OperateContext,
  type TimeLeft,
} from './context.ts';

const PAGE = 100;

/**
 * Moves up what waits in a subscription's line by a lower limit than it has now, page by page, those with the oldest messages first. A second
 * pass finds what was under way at the change. Best effort: a delivery that is left goes when it was to go before.
 * @throws when a service fails: the message comes again.
 */
export async function moveLineUp(
  context: OperateContext,
  order: MovingUpOperation,
  remaining: TimeLeft,
): Promise<void> {
  await pageByPage(context, order, remaining, (rest) => movePage(context, rest, remaining));
}

/** What is left to do; undefined where nothing is, or another message does it. */
async function movePage(
  context: OperateContext,
  order: MovingUpOperation,
  remaining: TimeLeft,
): Promise<MovingUpOperation | undefined> {
  const subscription = await presentSubscription(context, order);
  // What waits for one that is gone or disabled is cancelled when it is due.
  if (subscription === undefined) return undefined;
  const limit = rateLimitOf(subscription);
  const { deliveries, marker } = await openDeliveries(context, order);
  const waiting = deliveries.filter(isWaiting).filter(({ slot }) => isFromLowerLimit(slot, limit));
  const { results, failed, rest } = await workThrough(inLine(waiting), remaining, (one) =>
    moveUpWaiting(context, one, limit),
  );
  for (const { item, error } of failed) noteFailed(context, 'moving_up', item.key, error);
  // Read again, the page is shorter by those that moved; where none did, it would be the same.
  if (rest.length > 0 && results.includes('moved')) return order;
  if (marker !== undefined) return { ...order, cursor: marker };
  if (order.settled !== true) await passAgain(context, order);
  return undefined;
}

async function presentSubscription(
  { ports }: OperateContext,
  { queue, subscriptionId }: MovingUpOperation,
): Promise<Subscription | undefined> {
  const { subscription } = await ports.subscriptions.find(queue, subscriptionId, 'fresh');
  return absenceOf(subscription, ports.clock.now()) === undefined ? subscription : undefined;
}

async function openDeliveries(
  { ports }: OperateContext,
  { queue, subscriptionId, cursor }: MovingUpOperation,
): Promise<{ deliveries: readonly Delivery[]; marker?: string }> {
  const { items, ...end } = await ports.deliveryListings.oldest(
    { queue, subscriptionId },
    { limit: PAGE, ...(cursor !== undefined && { marker: cursor }) },
  );
  const open = items.flatMap(({ key, status }) => (isOpen(status) ? [key] : []));
  const { deliveries } = await ports.deliveryListings.records(open);
  return { deliveries, ...end };
}

/** Those that were to go first stay first. */
function inLine(waiting: readonly WaitingDelivery[]): WaitingDelivery[] {
  return waiting.toSorted((one, other) => one.slot.at - other.slot.at);
}

/** A delivery that was claimed before the change may be put in the line as it was then, after this pass came by. */
async function passAgain(
  context: OperateContext,
  { kind, queue, subscriptionId }: MovingUpOperation,
): Promise<void> {
  await continueLater(context, { kind, queue, subscriptionId, settled: true }, ANY_LEASE_MS / 1000);
}
