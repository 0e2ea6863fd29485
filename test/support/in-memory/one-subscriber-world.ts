import { randomBytes, randomUUID } from 'node:crypto';
import { deliver } from '../../../functions/deliver/deliver.ts';
import type { ChangeContext } from '../../../functions/api/dependencies.ts';
import { type SubscriptionChange, updateSubscription } from '../../../functions/api/subscriptions/change.ts';
import type { DeliveryJob, FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import type { FailureStreak, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../builders.ts';
import { addSubscription } from '../add-subscription.ts';
import { pipelineWorld } from './pipeline-world.ts';
import { type ScriptedReply, status } from './scripted-subscriber.ts';

/** A world with one queue and, once subscribed, one subscriber at `url`. */
export const oneSubscriberWorld = () => {
  const world = pipelineWorld();
  const { clock, subscriber, subscriptions } = world;
  const startedAt = clock.now();
  const name = { queue: 'orders', subscriptionId: 'subscription-1' };
  const key = { ...name, messageId: 'message-1', bucket: 0 };
  const deliveryOf = (messageId: string) => world.delivery(name.subscriptionId, messageId);
  const publish = async (...ids: string[]): Promise<void> => {
    for (const id of ids.length === 0 ? [key.messageId] : ids)
      await world.dispatch({ ok: true, message: aMessage({ id }) });
  };
  let answered = 0;

  const apiContext = (): ChangeContext => ({
    ...world,
    registry: subscriptions,
    deliveryQueue: world.dispatchContext.ports.deliveryQueue,
    secretSealer: world.secretOpener,
    newId: randomUUID,
    randomBytes,
    settings: {
      ...world.settings,
      subscriptionConfirmation: false,
      queueLimit: { subscriptions: 100, bytes: 100_000 },
    },
  });

  return {
    ...world,
    apiContext,
    key,
    name,
    startedAt,
    url: SUBSCRIBER_URL,
    /** With these retries, and no others. */
    subscribe: async (
      policy: Partial<RetryPolicy> = {},
      { options, ...more }: Parameters<typeof aSubscription>[0] = {},
    ): Promise<void> => {
      await subscriptions.putQueue(aQueue());
      await addSubscription(
        subscriptions,
        aSubscription({ options: { _retry_policy: aBarePolicy(policy), ...options }, ...more }),
      );
    },
    /** Publishes these messages, or `message-1`. */
    publish,
    /** The same, and runs until nothing is pending. */
    deliver: async (...ids: string[]): Promise<void> => {
      await publish(...ids);
      await clock.run();
    },
    /** Delivers the next of `message-1`, `message-2` …, which is answered like this. */
    answer: async (reply: ScriptedReply = status(500)): Promise<void> => {
      answered += 1;
      subscriber.script(SUBSCRIBER_URL, [reply]);
      await publish(`message-${answered}`);
      await clock.run();
    },
    job: (): DeliveryJob => ({
      kind: 'job',
      key,
      attempt: 1,
      acceptedAt: clock.now(),
      body: { kind: 'inline', message: aMessage() },
    }),
    wakeUp: (attempt: number, dueAt = clock.now()): WakeUp => ({ kind: 'wake_up', key, attempt, dueAt }),
    /** Receives a job or wake-up outside of the queues. */
    receive: (work: FirstJob | WakeUp, owner: string, { receiveCount = 1, remainingMs = 30_000 } = {}) =>
      deliver(world.deliverContext, work, {
        id: 'sqs-1',
        text: '{}',
        owner,
        receiveCount,
        remainingMs: () => remainingMs,
      }),
    deliveryOf,
    subscription: async (): Promise<Subscription> => {
      const found = await subscriptions.findSubscription(name.queue, name.subscriptionId);
      if (found === undefined) throw new Error('the subscription is gone');
      return found;
    },
    /** Changes the subscription as the store does it. */
    change: (made: (current: Subscription) => Subscription) =>
      subscriptions.changeSubscription({ ...name, now: clock.now() }, made),
    /** Changes the subscription as the API does it. */
    update: async (wanted: SubscriptionChange): Promise<void> => {
      await updateSubscription(apiContext(), name, wanted);
    },
    /** Cancels the deliveries of these messages by hand. */
    cancel: async (...ids: string[]): Promise<void> => {
      for (const id of ids) await cancelDelivery(world.byHandContext, (await deliveryOf(id)).key, 'manual');
    },
    /** A failure streak that began this many milliseconds ago. */
    failing: (ago: number, failures: number): FailureStreak => ({ since: clock.now() - ago, failures }),
    /** Seconds from the start to each request. */
    requestedAt: (): number[] => subscriber.seen.map(({ at }) => (at - startedAt) / 1000),
    /** Seconds between consecutive requests. */
    gaps: (): number[] => {
      const times = subscriber.seen.map(({ at }) => at);
      return times.slice(1).map((at, index) => (at - (times[index] ?? 0)) / 1000);
    },
    /** The messages of the requests, in order. */
    requestedMessages: (): string[] =>
      subscriber.seen.map(({ request }) => request.headers['webhook-id'] ?? ''),
    /** Types of the operator events about subscriptions. */
    events: (): string[] =>
      world.operatorEvents.published
        .map(({ type }) => type)
        .filter((type) => type.startsWith('subscription.')),
  };
};

export type OneSubscriberWorld = ReturnType<typeof oneSubscriberWorld>;

/** Ids of messages, from `m-0` on. */
export const numbered = (count: number, { from = 0, name = 'm' } = {}): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${from + index}`);

/** The most requests in any ten seconds. */
export const mostInTenSeconds = (times: readonly number[]): number =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 10).length));
