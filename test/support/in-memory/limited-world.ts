import { aBarePolicy, aMessage, aQueue, aSubscription } from '../builders.ts';
import { pipelineWorld } from './pipeline-world.ts';

/** A queue with one subscriber that limits the rate of its requests, from the beginning on. */
export const limitedWorld = async () => {
  const world = pipelineWorld();
  const startedAt = world.clock.now();
  await world.subscriptions.putQueue(aQueue());
  return {
    world,
    startedAt,
    subscribe: (max_per_second: number, policy = aBarePolicy()) =>
      world.subscriptions.addSubscription(
        aSubscription({ options: { max_per_second, _retry_policy: policy } }),
      ),
    publish: async (count: number, from = 0): Promise<void> => {
      for (let index = from; index < from + count; index += 1)
        await world.dispatch({ ok: true, message: aMessage({ id: `m${index}` }) });
    },
    /** Seconds after the beginning, of each request. */
    requestedAt: (): number[] => world.subscriber.seen.map(({ at }) => (at - startedAt) / 1000),
    /** Milliseconds, of each attempt, as told. */
    latenesses: (): number[] =>
      world.journal.facts.flatMap((fact) => (fact.fact === 'attempt_made' ? [fact.latenessMs] : [])),
    deliveryOf: (messageId: string) => world.delivery('subscription-1', messageId),
  };
};

export type LimitedWorld = Awaited<ReturnType<typeof limitedWorld>>;
