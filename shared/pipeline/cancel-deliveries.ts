import type { DeliveryKey } from '../domain/delivery.ts';
import type { CancellationOperation } from '../domain/operation.ts';
import { MAX_DELAY_SECONDS } from '../domain/wake-up-plan.ts';
import { cancelDelivery } from './by-hand.ts';
import { goOnLater, PAGE_MS, worked, type OperateContext, type Remaining } from './operate-context.ts';

const PAGE = 100;

/**
 * Longer than an attempt that was under way at the deletion can take, its recording included (deliver-context.ts: 38 s at
 * most), and than the listing is behind.
 */
const SETTLING_MS = 60_000;

/** A delivery changed again and again while it was to be cancelled. Transient: the message comes again. */
export class ContendedCancellationError extends Error {
  override readonly name = 'ContendedCancellationError';

  constructor({ queue, messageId, subscriptionId }: DeliveryKey) {
    super(`Delivery ${queue}/${messageId}/${subscriptionId} kept changing while it was being cancelled`);
  }
}

/**
 * Cancels what is retrying for a deleted subscription, or for all of a deleted queue, page by page. Whatever it does not come
 * to finds its subscription gone when it is due: no request depends on this. A second pass catches what was under way at the
 * deletion; after it the subscription that was marked is removed.
 * @throws when a service fails: the message comes again.
 */
export const cancelDeliveries = async (
  context: OperateContext,
  order: CancellationOperation,
  remaining: Remaining,
): Promise<void> => {
  let rest: CancellationOperation | undefined = begun(order, context.ports.clock.now());
  while (rest !== undefined) {
    if (remaining() < PAGE_MS) {
      await goOnLater(context, rest, 0);
      return;
    }
    rest = await cancelPage(context, rest, remaining);
  }
};

/** A pass that begins late enough is the last one. */
const begun = (order: CancellationOperation, now: number): CancellationOperation =>
  order.cursor === undefined && now >= order.deletedAt + SETTLING_MS ? { ...order, settled: true } : order;

/** What is left to do; undefined where nothing is, or another message sees to it. */
const cancelPage = async (
  context: OperateContext,
  order: CancellationOperation,
  remaining: Remaining,
): Promise<CancellationOperation | undefined> => {
  const { queue, subscriptionId, deletedAt, cursor } = order;
  // A queue of the same name may be there again, with deliveries that are none of ours.
  const scope = subscriptionId === undefined ? { until: deletedAt } : { subscriptionId };
  const page = await context.ports.deliveryListings.oldest(
    { queue, status: 'retrying', ...scope },
    { limit: PAGE, ...(cursor !== undefined && { marker: cursor }) },
  );
  const keys = page.items.map(({ key }) => key);
  const { rest } = await worked(keys, remaining, (key) => cancelOne(context, order, key));
  if (rest.length > 0) return order;
  if (page.marker !== undefined) return { ...order, cursor: page.marker };
  await endPass(context, order);
  return undefined;
};

const cancelOne = async (
  context: OperateContext,
  { subscriptionId }: CancellationOperation,
  key: DeliveryKey,
): Promise<void> => {
  const reason = subscriptionId === undefined ? 'queue_deleted' : 'subscription_deleted';
  const result = await cancelDelivery(context, key, reason);
  if (result.kind === 'refused' && result.why === 'contended') throw new ContendedCancellationError(key);
};

const endPass = async (context: OperateContext, order: CancellationOperation): Promise<void> => {
  const { clock, registry } = context.ports;
  const { queue, subscriptionId, deletedAt, settled } = order;
  if (settled !== true) {
    const seconds = Math.ceil((deletedAt + SETTLING_MS - clock.now()) / 1000);
    await goOnLater(
      context,
      { kind: 'cancellation', queue, deletedAt, ...(subscriptionId !== undefined && { subscriptionId }) },
      Math.min(MAX_DELAY_SECONDS, Math.max(0, seconds)),
    );
    return;
  }
  if (subscriptionId !== undefined) await registry.removeMarked(queue, subscriptionId);
};
