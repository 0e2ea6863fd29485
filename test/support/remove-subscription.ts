import type { Registry } from '../../shared/ports/subscriptions.ts';

/** Removes a subscription completely, as its deletion operation does. */
export const removeSubscription = async (
  registry: Pick<Registry, 'markDeleted' | 'removeMarked'>,
  queue: string,
  subscriptionId: string,
): Promise<void> => {
  await registry.markDeleted({ queue, subscriptionId, now: Date.now() });
  await registry.removeMarked(queue, subscriptionId);
};
