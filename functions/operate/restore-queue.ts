import type { PageRequest } from '../../shared/ports/page.ts';
import type { RestorationOperation } from '../../shared/domain/recovery/operation.ts';
import { continuePause } from '../../shared/steps/continue-pause.ts';
import { continueLater, type OperationRun, PAGE_MS } from './context.ts';

/**
 * Brings the subscriptions of a queue back, whose restoration the API has begun, and then shows the queue. A no-op
 * where that is done, or the queue was deleted again meanwhile.
 * @throws if a service fails: SQS redelivers the message
 */
export async function restoreQueue(run: OperationRun, operation: RestorationOperation): Promise<void> {
  const hasTime = () => run.remaining() > PAGE_MS;
  const isComplete = await run.ports.registry.completeRestoredQueue(operation.queue, hasTime);
  if (isComplete) await continuePauses(run, operation.queue);
  else await continueLater(run, operation, 0);
}

/** Subscriptions read together, and operations sent at once. */
const PAGE = 100;

async function continuePauses({ ports }: OperationRun, queue: string): Promise<void> {
  const { registry } = ports;
  await continuePause(ports, { queue }, await registry.findQueue(queue), 0);
  let page: PageRequest | undefined = { limit: PAGE };
  while (page !== undefined) {
    const { items, marker } = await registry.listSubscriptions(queue, page);
    await Promise.all(items.map((one) => continuePause(ports, { queue, subscriptionId: one.id }, one, 0)));
    page = marker === undefined ? undefined : { limit: PAGE, marker };
  }
}
