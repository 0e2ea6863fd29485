import { contendedDelivery } from '../../shared/domain/contention.ts';
import {
  type CancellationOperation,
  MAX_RECHECKS,
  recheckDelaySeconds,
} from '../../shared/domain/recovery/operation.ts';
import { isOpen, type DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { ANY_LEASE_MS } from '../../shared/domain/delivery/lease.ts';
import { MAX_DELAY_SECONDS } from '../../shared/domain/retry/wake-up-plan.ts';
import type { ListedDelivery } from '../../shared/ports/deliveries.ts';
import type { Page } from '../../shared/ports/page.ts';
import { cancelDelivery } from '../../shared/steps/cancel-delivery.ts';
import {
  continueLater,
  noteFailed,
  PAGE_MS,
  pageByPage,
  workThrough,
  type OperateContext,
  type TimeLeft,
} from './context.ts';

const PAGE = 100;

/**
 * How long SQS may bring a message back to a dispatch that crashed before it sent the jobs: fifty receives, at most 55 s apart
 * (receives.ts). A repeat goes to the subscriptions of its first acceptance, and has to find them on the list for that.
 */
const REMEMBERED_MS = 45 * 60_000;

/**
 * Cancels the open deliveries of a deleted subscription, or of a whole deleted queue with what is left of it, page by page. Best effort: a delivery
 * that is left finds its subscription gone when it is due. A second pass finds what was in flight at the deletion; the marked
 * subscription is removed when no repeat of a dispatch can ask for it any more.
 * @throws when a service fails: the message comes again.
 */
export async function cancelDeliveries(
  context: OperateContext,
  order: CancellationOperation,
  remaining: TimeLeft,
): Promise<void> {
  if (!(await isQueueRemoved(context, order, remaining))) {
    await continueLater(context, order, 0);
    return;
  }
  const pass = begun(order, context.ports.clock.now());
  await pageByPage(context, pass, remaining, (rest) => cancelPage(context, rest, remaining));
}

/** Of a deleted queue its subscriptions go first: none of them is called, and no queue of that name can be made before. */
async function isQueueRemoved(
  { ports }: OperateContext,
  { queue, subscriptionId }: CancellationOperation,
  remaining: TimeLeft,
): Promise<boolean> {
  if (subscriptionId !== undefined) return true;
  return ports.registry.removeDeletedQueue(queue, () => remaining() > PAGE_MS);
}

/** A pass that begins late enough is the last one. */
function begun(order: CancellationOperation, now: number): CancellationOperation {
  return order.cursor === undefined && now >= order.deletedAt + ANY_LEASE_MS
    ? { ...order, settled: true }
    : order;
}

/** What is left to do; undefined where nothing is, or another message does it. */
async function cancelPage(
  context: OperateContext,
  order: CancellationOperation,
  remaining: TimeLeft,
): Promise<CancellationOperation | undefined> {
  const page = await pageOf(context, order);
  const keys = page.items.flatMap(({ key, status }) => (isOpen(status) ? [key] : []));
  const { results, failed, rest } = await workThrough(keys, remaining, (key) =>
    cancelOne(context, order, key),
  );
  for (const { item, error } of failed) noteFailed(context, 'cancellation', item, error);
  // Listed again, the page is shorter by what was cancelled; where all of it failed, it would be the same.
  const isShrinking = results.length > 0 || failed.length === 0;
  if (rest.length > 0 && isShrinking) return order;
  const after = withFailed(order, failed.length);
  if (rest.length === 0 && page.marker !== undefined) return { ...after, cursor: page.marker };
  await endPass(context, after);
  return undefined;
}

function pageOf(
  { ports }: OperateContext,
  { queue, subscriptionId, deletedAt, cursor }: CancellationOperation,
): Promise<Page<ListedDelivery>> {
  // A queue of the same name may have been created since; its deliveries are not ours to cancel.
  const scope = subscriptionId === undefined ? { until: deletedAt } : { subscriptionId };
  return ports.deliveryListings.oldest(
    { queue, ...scope },
    { limit: PAGE, ...(cursor !== undefined && { marker: cursor }) },
  );
}

function withFailed(order: CancellationOperation, more: number): CancellationOperation {
  return more === 0 ? order : { ...order, failed: (order.failed ?? 0) + more };
}

async function cancelOne(
  context: OperateContext,
  { subscriptionId }: CancellationOperation,
  key: DeliveryKey,
): Promise<void> {
  const reason = subscriptionId === undefined ? 'queue_deleted' : 'subscription_deleted';
  const result = await cancelDelivery(context, key, reason);
  // Another pass follows.
  if (result.kind === 'refused' && result.why === 'contended') throw contendedDelivery(key);
}

async function endPass(context: OperateContext, order: CancellationOperation): Promise<void> {
  const next = nextPass(order, context.ports.clock.now());
  if (next === undefined) await finish(context, order);
  else await continueLater(context, next.order, next.delaySeconds);
}

/** Undefined: this pass was the last. A queue that was deleted is on no list any more. */
function nextPass(
  order: CancellationOperation,
  now: number,
): { order: CancellationOperation; delaySeconds: number } | undefined {
  const { subscriptionId, deletedAt, settled, failed = 0, looks = 0 } = order;
  if (settled !== true)
    return { order: passOf(order, looks), delaySeconds: secondsUntil(deletedAt + ANY_LEASE_MS, now) };
  if (failed > 0 && looks < MAX_RECHECKS)
    return { order: passOf(order, looks + 1), delaySeconds: recheckDelaySeconds(looks) };
  const rememberedUntil = deletedAt + REMEMBERED_MS;
  return subscriptionId !== undefined && now < rememberedUntil
    ? { order: passOf(order, looks), delaySeconds: secondsUntil(rememberedUntil, now) }
    : undefined;
}

/** From the beginning. */
function passOf(
  { kind, queue, subscriptionId, deletedAt }: CancellationOperation,
  looks: number,
): CancellationOperation {
  return {
    kind,
    queue,
    deletedAt,
    ...(subscriptionId !== undefined && { subscriptionId }),
    ...(looks > 0 && { looks }),
  };
}

function secondsUntil(moment: number, now: number): number {
  return Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.ceil((moment - now) / 1000)));
}

/** The mark stays while something is left, for as long as its `ttl` says: those deliveries have to find it when they are due. */
async function finish({ ports }: OperateContext, order: CancellationOperation): Promise<void> {
  const { queue, subscriptionId, failed = 0 } = order;
  if (failed > 0) {
    const whose = { queue, ...(subscriptionId !== undefined && { subscriptionId }) };
    ports.journal.note({ fact: 'cancellation_given_up', ...whose, failed });
    return;
  }
  if (subscriptionId !== undefined) await ports.registry.removeMarked(queue, subscriptionId);
}
