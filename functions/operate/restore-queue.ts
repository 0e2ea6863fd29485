import type { PageRequest } from '../../shared/ports/page.ts';
import type { RestorationOperation } from '../../shared/domain/recovery/operation.ts';
import { findPause, type Pausable } from '../../shared/domain/subscription/pause.ts';
import type { WaitingPlace } from '../../shared/domain/delivery/paused.ts';
import { continueLater, type OperateContext, PAGE_MS, type TimeLeft } from './context.ts';

/**
 * Brings the subscriptions of a queue back, whose restoration the API has begun, and then shows the queue. A no-op
 * where that is done, or the queue was deleted again meanwhile.
 * @throws if a service fails: SQS redelivers the message
 */
export async function restoreQueue(
  context: OperateContext,
  operation: RestorationOperation,
  remaining: TimeLeft,
): Promise<void> {
  const hasTime = () => remaining() > PAGE_MS;
  const isComplete = await context.ports.registry.completeRestoredQueue(operation.queue, hasTime);
  if (isComplete) await continuePauses(context, operation.queue);
  else await continueLater(context, operation, 0);
}

/** Subscriptions read together. */
const PAGE = 1_000;

/** The operation of a pause ends with the deletion: without a new one, what waits from now on would wait for ever. */
async function continuePauses({ ports }: OperateContext, queue: string): Promise<void> {
  const { registry, operations, clock } = ports;
  const continuePause = async (place: WaitingPlace, of: Pausable | undefined): Promise<void> => {
    const pause = findPause(of, clock.now());
    if (pause !== undefined) await operations.send({ kind: 'pause', ...place, version: pause.version }, 0);
  };
  await continuePause({ queue }, await registry.findQueue(queue));
  let page: PageRequest | undefined = { limit: PAGE };
  while (page !== undefined) {
    const { items, marker } = await registry.listSubscriptions(queue, page);
    for (const one of items) await continuePause({ queue, subscriptionId: one.id }, one);
    page = marker === undefined ? undefined : { limit: PAGE, marker };
  }
}
