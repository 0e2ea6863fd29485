import { aBarePolicy, aMessage, aQueue, aSubscription } from '../builders.ts';
import { pipelineWorld } from './pipeline-world.ts';

/** A world with one subscriber of a queue and this policy, for manual operations on one delivery. */
export const byHandWorld = async (policy: Parameters<typeof aBarePolicy>[0]) => {
  const world = pipelineWorld();
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({ options: { _retry_policy: aBarePolicy(policy) } }),
  );
  return {
    ...world,
    key: { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 },
    url: aSubscription().subscriber,
    /** Publishes, then advances the clock. */
    published: async (forMs = 1_000): Promise<void> => {
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(world.clock.now() + forMs);
    },
  };
};

export type ByHandWorld = Awaited<ReturnType<typeof byHandWorld>>;
