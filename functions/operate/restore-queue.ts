import type { RestorationOperation } from '../../shared/domain/recovery/operation.ts';
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
  if (!isComplete) await continueLater(context, operation, 0);
}
