import {
  type CancellationOperation,
  MAX_RECHECKS,
  recheckDelaySeconds,
} from '../../shared/domain/recovery/operation.ts';
import { ContendedError } from '../../shared/domain/contention.ts';
import { type DeliveryKey, nameOfDelivery } from '../../shared/domain/delivery/delivery.ts';
import { isOpenStatus } from '../../shared/domain/delivery/vocabulary.ts';
import { MAX_LEASE_MS } from '../../shared/domain/retry/attempt-duration.ts';
import { CLOCKS_DIFFER_MS } from '../../shared/domain/delivery/recreated-queue.ts';
import type { ListedDelivery } from '../../shared/ports/deliveries.ts';
import type { Page } from '../../shared/ports/page.ts';
import { cancelDelivery } from '../../shared/steps/cancel-delivery.ts';
import {
  continueLater,
  type OperationRun,
  PAGE_MS,
  processItems,
  processPages,
  secondsUntil,
} from './context.ts';

const PAGE = 100;

/**
 * How long SQS redelivers a message to dispatch in an outage of three hours, with some time to spare (receives.ts). A
 * redelivery sends to the originally matched subscriptions, so the deleted one stays on the list until then.
 */
const REPEAT_WINDOW_MS = 4 * 60 * 60_000;

/**
 * Cancels the open deliveries of a deleted subscription or queue, page by page. Best effort: a remaining delivery is
 * cancelled when it is due. A later pass finds deliveries in flight at the deletion; the last one removes the
 * subscription. Ends once the subscription or queue is restored.
 * @throws if a service fails: SQS redelivers the message
 */
export async function cancelDeliveries(run: OperationRun, operation: CancellationOperation): Promise<void> {
  const { clock, registry } = run.ports;
  const { queue, subscriptionId } = operation;
  // Its subscriptions go first, so that none is called. No queue of that name can be created before.
  const isQueueRemoved =
    subscriptionId !== undefined ||
    (await registry.removeDeletedQueue(queue, () => run.remaining() > PAGE_MS));
  const pass = markLastPass(operation, clock.now());
  if (isQueueRemoved) await processPages(run, pass, (rest) => cancelPage(run, rest));
  else await continueLater(run, operation, 0);
}

/** Marks a pass that starts after the longest lease as the last one. */
function markLastPass(operation: CancellationOperation, now: number): CancellationOperation {
  return operation.cursor === undefined && now >= operation.deletedAt + MAX_LEASE_MS
    ? { ...operation, settled: true }
    : operation;
}

/** The rest of the operation; undefined if nothing is left or another message continues it. */
async function cancelPage(
  run: OperationRun,
  operation: CancellationOperation,
): Promise<CancellationOperation | undefined> {
  if (await isRestored(run, operation)) return undefined;
  const page = await readPage(run, operation);
  const open = page.items.filter(({ status }) => isOpenStatus(status));
  const { results, failed, rest } = await processItems(run, operation.kind, open, ({ key }) =>
    cancelOne(run, operation, key),
  );
  // Reading the page again skips cancelled deliveries; if all failed, it would be the same page.
  const madeProgress = results.length > 0 || failed.length === 0;
  if (rest.length > 0 && madeProgress) return operation;
  const after = withFailed(operation, failed.length);
  if (rest.length === 0 && page.marker !== undefined) return { ...after, cursor: page.marker };
  return endPass(run, after);
}

/** A queue of the name that is older than the deletion is the restored one; one that was created again is younger. */
async function isRestored(
  { ports: { registry } }: OperationRun,
  { queue, subscriptionId, deletedAt }: CancellationOperation,
): Promise<boolean> {
  if (subscriptionId === undefined)
    return ((await registry.findQueue(queue))?.createdAt ?? Infinity) < deletedAt - CLOCKS_DIFFER_MS;
  const restored = (await registry.findSubscription(queue, subscriptionId))?.restored;
  return restored !== undefined && restored.deletedAt >= deletedAt;
}

function readPage(
  { ports }: OperationRun,
  { queue, subscriptionId, deletedAt, cursor }: CancellationOperation,
): Promise<Page<ListedDelivery>> {
  // A queue recreated under this name keeps its deliveries.
  const scope = subscriptionId === undefined ? { until: deletedAt } : { subscriptionId };
  return ports.deliveryListings.oldest({ queue, ...scope }, { limit: PAGE, marker: cursor });
}

function withFailed(operation: CancellationOperation, more: number): CancellationOperation {
  return more === 0 ? operation : { ...operation, failed: (operation.failed ?? 0) + more };
}

async function cancelOne(
  run: OperationRun,
  { subscriptionId }: CancellationOperation,
  key: DeliveryKey,
): Promise<void> {
  const reason = subscriptionId === undefined ? 'queue_deleted' : 'subscription_deleted';
  const result = await cancelDelivery(run, key, reason);
  // Counts as failed; another pass repeats it.
  if (result.kind === 'refused' && result.why === 'contended') throw new ContendedError(nameOfDelivery(key));
}

async function endPass(run: OperationRun, operation: CancellationOperation): Promise<undefined> {
  const next = nextPass(operation, run.ports.clock.now());
  if (next !== undefined) return continueLater(run, next.operation, next.delaySeconds);
  await finish(run, operation);
}

/** The next pass, or undefined after the last one. After a deleted queue there is no marked subscription to remove. */
function nextPass(
  operation: CancellationOperation,
  now: number,
): { operation: CancellationOperation; delaySeconds: number } | undefined {
  const { subscriptionId, deletedAt, settled, failed = 0, looks = 0 } = operation;
  if (settled !== true)
    return {
      operation: restarted(operation, looks),
      delaySeconds: secondsUntil(deletedAt + MAX_LEASE_MS, now),
    };
  if (failed > 0 && looks < MAX_RECHECKS)
    return { operation: restarted(operation, looks + 1), delaySeconds: recheckDelaySeconds(looks) };
  const rememberedUntil = deletedAt + REPEAT_WINDOW_MS;
  return subscriptionId !== undefined && now < rememberedUntil
    ? { operation: restarted(operation, looks), delaySeconds: secondsUntil(rememberedUntil, now) }
    : undefined;
}

/** The operation from its first page again. */
function restarted(
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

/**
 * Removes the deletion mark. If deliveries failed, the mark stays until its `ttl`: they must find it when they are
 * due.
 */
async function finish({ ports }: OperationRun, operation: CancellationOperation): Promise<void> {
  const { queue, subscriptionId, failed = 0 } = operation;
  if (failed > 0) {
    const scope = { queue, ...(subscriptionId !== undefined && { subscriptionId }) };
    ports.journal.note({ fact: 'cancellation_given_up', ...scope, failed });
    return;
  }
  if (subscriptionId !== undefined) await ports.registry.removeMarked(queue, subscriptionId);
}
