import type { DeliveryJob, FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { PartialRetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { deliver } from '../../../functions/deliver/deliver.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../builders.ts';
import { pipelineWorld } from './pipeline-world.ts';

/** A world with one queue and, once subscribed, one subscriber at `url`, to follow one message. */
export const oneSubscriberWorld = () => {
  const world = pipelineWorld();
  const key = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };
  return {
    ...world,
    key,
    url: SUBSCRIBER_URL,
    subscribe: async (policy?: PartialRetryPolicy): Promise<void> => {
      await world.subscriptions.putQueue(aQueue());
      await world.subscriptions.addSubscription(
        aSubscription({ options: policy === undefined ? {} : { _retry_policy: policy } }),
      );
    },
    /** Publishes one message and runs for this time, by default until nothing is pending. */
    publish: async (forMs?: number): Promise<void> => {
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(forMs === undefined ? undefined : world.clock.now() + forMs);
    },
    job: (): DeliveryJob => ({
      kind: 'job',
      key,
      attempt: 1,
      acceptedAt: world.clock.now(),
      body: { kind: 'inline', message: aMessage() },
    }),
    wakeUp: (attempt: number, dueAt = world.clock.now()): WakeUp => ({
      kind: 'wake_up',
      key,
      attempt,
      dueAt,
    }),
    /** Receives a job or wake-up outside of the queues. */
    receive: (work: FirstJob | WakeUp, owner: string, { receiveCount = 1, remainingMs = 30_000 } = {}) =>
      deliver(world.deliverContext, work, {
        id: 'sqs-1',
        text: '{}',
        owner,
        receiveCount,
        remainingMs: () => remainingMs,
      }),
    /** Seconds between consecutive requests. */
    gaps: (): number[] => {
      const times = world.subscriber.seen.map(({ at }) => at);
      return times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 1000);
    },
  };
};

export type OneSubscriberWorld = ReturnType<typeof oneSubscriberWorld>;

/** The same with a subscriber whose policy has only these fields. */
export const subscribedWorld = async (
  policy?: Parameters<typeof aBarePolicy>[0],
): Promise<OneSubscriberWorld> => {
  const world = oneSubscriberWorld();
  await world.subscribe(aBarePolicy(policy));
  return world;
};
