import type { Registry } from '../../shared/ports/subscriptions.ts';

/** Gone altogether, as it is once the job of its deletion is done. */
export const removeSubscription = async (
  registry: Pick<Registry, 'markDeleted' | 'removeMarked'>,
  queue: string,
  subscriptionId: string,
): Promise<void> => {
  await registry.markDeleted({ queue, subscriptionId, now: Date.now() });
  await registry.removeMarked(queue, subscriptionId);
};
