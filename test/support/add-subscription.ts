import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  type AddResult,
  MAX_SUBSCRIPTIONS_PER_TRANSACTION,
  type Registry,
} from '../../shared/ports/subscriptions.ts';

/** Adds one subscription. @throws QueueMissingError */
export async function addSubscription(
  registry: Pick<Registry, 'addSubscriptions'>,
  subscription: Subscription,
): Promise<AddResult> {
  const [added = { kind: 'added' }] = await registry.addSubscriptions([subscription]);
  return added;
}

/** Adds subscriptions to one queue, as many at once as a transaction allows. @throws QueueMissingError */
export async function addSubscriptions(
  registry: Pick<Registry, 'addSubscriptions'>,
  subscriptions: readonly Subscription[],
): Promise<void> {
  for (let first = 0; first < subscriptions.length; first += MAX_SUBSCRIPTIONS_PER_TRANSACTION)
    await registry.addSubscriptions(subscriptions.slice(first, first + MAX_SUBSCRIPTIONS_PER_TRANSACTION));
}
