import type { Operation } from '../../shared/domain/recovery/operation.ts';
import { cancelDeliveries } from './cancel-deliveries.ts';
import type { OperateContext, Remaining } from './context.ts';
import { recoverDeliveries } from './recover-deliveries.ts';

/**
 * One order, as far as the invocation's time goes; the rest goes on in a new message. It returns when its message may be
 * acknowledged, and throws when it must come again: all of it can be repeated without harm.
 */
export async function operate(
  context: OperateContext,
  operation: Operation,
  remaining: Remaining,
): Promise<void> {
  switch (operation.kind) {
    case 'recovery':
      await recoverDeliveries(context, operation, remaining);
      return;
    case 'cancellation':
      await cancelDeliveries(context, operation, remaining);
      return;
  }
}
