import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { AddResult, Registry } from '../../shared/ports/subscriptions.ts';

/** Adds one subscription. @throws QueueMissingError */
export async function addSubscription(
  registry: Pick<Registry, 'addSubscriptions'>,
  subscription: Subscription,
): Promise<AddResult> {
  const [added = { kind: 'added' }] = await registry.addSubscriptions([subscription]);
  return added;
}
