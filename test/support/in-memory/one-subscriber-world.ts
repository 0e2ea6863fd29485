import type { PartialRetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { aMessage, aQueue, aSubscription } from '../builders.ts';
import { pipelineWorld } from './pipeline-world.ts';

/** A world with one queue and, once subscribed, one subscriber at `url`, to follow one message. */
export const oneSubscriberWorld = () => {
  const world = pipelineWorld();
  return {
    ...world,
    url: aSubscription().subscriber,
    subscribe: async (policy?: PartialRetryPolicy): Promise<void> => {
      await world.subscriptions.putQueue(aQueue());
      await world.subscriptions.addSubscription(
        aSubscription({ options: policy === undefined ? {} : { _retry_policy: policy } }),
      );
    },
    /** Publishes one message and runs until nothing is pending. */
    publish: async (): Promise<void> => {
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run();
    },
    /** Seconds between consecutive requests. */
    gaps: (): number[] => {
      const times = world.subscriber.seen.map(({ at }) => at);
      return times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 1000);
    },
  };
};

export type OneSubscriberWorld = ReturnType<typeof oneSubscriberWorld>;
