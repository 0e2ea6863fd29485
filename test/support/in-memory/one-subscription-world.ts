import type { OperatorEvent } from '../../../shared/domain/delivery/operator-event.ts';
import type { FailureStreak, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../builders.ts';
import { pipelineWorld } from './pipeline-world.ts';
import { status, type ScriptedReply } from './scripted-subscriber.ts';

const URL = SUBSCRIBER_URL;

/** A world with one subscription without retries, to follow its health over many messages. */
export const oneSubscriptionWorld = () => {
  const world = pipelineWorld();
  let messages = 0;
  return {
    ...world,
    subscribe: async (more: Partial<Subscription> = {}): Promise<void> => {
      await world.subscriptions.putQueue(aQueue());
      await world.subscriptions.addSubscription(
        aSubscription({ options: { _retry_policy: aBarePolicy() }, ...more }),
      );
    },
    /**
     * Publishes the next of `message-1`, `message-2` …, answers it with `reply`, and runs until nothing is
     * pending.
     */
    answer: async (reply: ScriptedReply = status(500)): Promise<void> => {
      messages += 1;
      world.subscriber.script(URL, [reply]);
      await world.dispatch({ ok: true, message: aMessage({ id: `message-${messages}` }) });
      await world.clock.run();
    },
    later: (milliseconds: number): Promise<void> => world.clock.run(world.clock.now() + milliseconds),
    /** A failure streak that began this many milliseconds ago. */
    failing: (ago: number, failures: number): FailureStreak => ({ since: world.clock.now() - ago, failures }),
    subscription: async (): Promise<Subscription> => {
      const found = await world.subscriptions.findSubscription('orders', 'subscription-1');
      if (found === undefined) throw new Error('the subscription is gone');
      return found;
    },
    /** Types of the published operator events about subscriptions. */
    publishedEvents: (): string[] =>
      world.operatorEvents.published
        .map(({ type }) => type)
        .filter((type) => type.startsWith('subscription.')),
    unrecordedHealth: () => world.journal.facts.filter(({ fact }) => fact === 'health_not_recorded'),
    /** Rejects events of this type until the returned function is called. */
    refuseEvents: (type: OperatorEvent['type']): (() => void) => {
      const publish = world.operatorEvents.publish.bind(world.operatorEvents);
      world.operatorEvents.publish = (event) =>
        event.type === type ? Promise.reject(new Error('EventBridge is down')) : publish(event);
      return () => {
        world.operatorEvents.publish = publish;
      };
    },
  };
};

export type OneSubscriptionWorld = ReturnType<typeof oneSubscriptionWorld>;
