import { randomBytes } from 'node:crypto';
import { type SubscriptionChange, updateSubscription } from '../../../functions/api/subscriptions/change.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../builders.ts';
import { pipelineWorld, type PipelineWorld } from './pipeline-world.ts';

/** A queue with one subscriber whose rate is limited from the start. */
export const limitedWorld = async () => {
  const world = pipelineWorld();
  const startedAt = world.clock.now();
  await world.subscriptions.putQueue(aQueue());
  const deliveryOf = (messageId: string) => world.delivery('subscription-1', messageId);
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
    /** Time of each request in seconds since the start. */
    requestedAt: (): number[] => world.subscriber.seen.map(({ at }) => (at - startedAt) / 1000),
    /** Lateness of each attempt in milliseconds, as journalled. */
    latenesses: (): number[] =>
      world.journal.facts.flatMap((fact) => (fact.fact === 'attempt_made' ? [fact.latenessMs ?? 0] : [])),
    deliveryOf,
    /** Cancels the deliveries of these messages by hand. */
    cancel: async (from: number, to: number, step = 1): Promise<void> => {
      for (let index = from; index < to; index += step)
        await cancelDelivery(world.byHandContext, (await deliveryOf(`m${index}`)).key, 'manual');
    },
    /** Changes the limit as an operator would; undefined removes it. */
    limitTo: limitsOf(world),
  };
};

/** The API step that changes a subscription. */
const limitsOf = ({ clock, subscriptions: registry, secretOpener, operations }: PipelineWorld) => {
  const change = async (wanted: SubscriptionChange): Promise<void> => {
    const queueLimit = { subscriptions: 100, bytes: 100_000 };
    const settings = { subscriptionConfirmation: false, queueLimit };
    await updateSubscription(
      { registry, clock, settings, randomBytes, operations, secretSealer: secretOpener },
      { queue: 'orders', subscriptionId: 'subscription-1' },
      wanted,
    );
  };
  const limitTo = (max_per_second?: number, policy = {}): Promise<void> => {
    const limit = max_per_second === undefined ? {} : { max_per_second };
    return change({ options: { _retry_policy: aBarePolicy(policy), ...limit } });
  };
  return Object.assign(limitTo, { change });
};

export type LimitedWorld = Awaited<ReturnType<typeof limitedWorld>>;

/** The most requests in any ten seconds. */
export const mostInTenSeconds = (times: readonly number[]): number =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 10).length));
