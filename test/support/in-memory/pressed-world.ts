import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import type { PaceSwitches } from '../../../shared/domain/subscription/switches.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../builders.ts';
import { pipelineWorld, type PipelineWorld } from './pipeline-world.ts';

const BOTH_ON: PaceSwitches = { adaptToThrottling: true, holdWhileDown: true };

/** A queue with a subscriber that refuses requests, in any world of the pipeline. */
export const pressedWorld = <World extends PipelineWorld>(world: World, switches = BOTH_ON) => {
  Object.assign(world.settings, switches);
  const startedAt = world.clock.now();
  return {
    world,
    startedAt,
    url: SUBSCRIBER_URL,
    subscribe: async (
      options: SubscriptionOptions = {},
      policy: Parameters<typeof aBarePolicy>[0] = {},
    ): Promise<void> => {
      await world.subscriptions.putQueue(aQueue());
      await world.subscriptions.addSubscription(
        aSubscription({ options: { _retry_policy: aBarePolicy(policy), ...options } }),
      );
    },
    publish: async (...ids: string[]): Promise<void> => {
      for (const id of ids) await world.dispatch({ ok: true, message: aMessage({ id }) });
    },
    runFor: (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds),
    pressure: async () => (await world.subscriptions.findSubscription('orders', 'subscription-1'))?.pressure,
    deliveryOf: (messageId: string) => world.delivery('subscription-1', messageId),
    /** Seconds from the start to each request. */
    requestedAt: (): number[] => world.subscriber.seen.map(({ at }) => (at - startedAt) / 1_000),
    /** Types of the published events about back-pressure. */
    events: (): string[] =>
      world.operatorEvents.published
        .map(({ type }) => type)
        .filter((type) => type === 'subscription.slowed' || type === 'subscription.resumed'),
  };
};

export type PressedWorld = ReturnType<typeof pressedWorld>;

export const newPressedWorld = (): PressedWorld => pressedWorld(pipelineWorld());

/** Ids of messages. */
export const numbered = (count: number, name = 'm'): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
