import { isRaised } from '../../../shared/domain/subscription/rate-limit.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { Operations } from '../../../shared/ports/queues.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';

/** For as long operate waits for the change to be made; its second pass finds one that took longer. */
const CHANGED_WITHIN_SECONDS = 2;

/** `operations`: takes the order for operate. */
export type MovingUpContext = { registry: Pick<Registry, 'findSubscription'>; operations: Operations };

/**
 * Where new options raise the limit of a subscription's rate, orders from operate that what waits for it moves up. To be called
 * before the options are changed: then no crash leaves a change without its order.
 * @throws when the order could not be sent
 */
export async function orderMovingUp(
  { registry, operations }: MovingUpContext,
  { queue, subscriptionId }: { queue: string; subscriptionId: string },
  options: SubscriptionOptions,
): Promise<void> {
  const current = await registry.findSubscription(queue, subscriptionId);
  if (current !== undefined && isRaised(current.options, options))
    await operations.send({ kind: 'moving_up', queue, subscriptionId }, CHANGED_WITHIN_SECONDS);
}
