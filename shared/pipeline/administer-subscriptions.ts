import type { Subscription, SubscriptionOptions } from '../domain/subscription.ts';
import type { Clock } from '../ports/clock.ts';
import { QueueMissingError, type SubscriptionRegistry } from '../ports/subscription-registry.ts';

/** What subscribing needs of the world. */
export type SubscribeContext = { registry: SubscriptionRegistry; clock: Clock; newId: () => string };

/** A subscription as asked for, checked. `ttl` is in seconds. */
export type SubscriptionRequest = {
  queue: string;
  subscriber: string;
  options: SubscriptionOptions;
  ttl?: number;
};

export type SubscribeResult =
  { kind: 'subscribed'; subscription: Subscription } | { kind: 'conflict'; subscriptionId: string };

/** Creates the queue if there is none, as Zaqar does. A subscriber that the queue has already is a conflict. */
export const subscribe = async (
  context: SubscribeContext,
  request: SubscriptionRequest,
): Promise<SubscribeResult> => {
  const { registry, clock, newId } = context;
  const createdAt = clock.now();
  const subscription: Subscription = {
    ...request,
    id: newId(),
    createdAt,
    ...(request.ttl !== undefined && { expiresAt: createdAt + request.ttl * 1000 }),
  };
  const result = await added(registry, subscription);
  return result.kind === 'added' ? { kind: 'subscribed', subscription } : result;
};

/** Once more where the queue was deleted in between: a conflict would say that the subscriber is there already. */
const added = async (registry: SubscriptionRegistry, subscription: Subscription) => {
  const queue = { name: subscription.queue, metadata: {}, createdAt: subscription.createdAt };
  await registry.ensureQueue(queue);
  try {
    return await registry.addSubscription(subscription);
  } catch (error) {
    if (!(error instanceof QueueMissingError)) throw error;
    await registry.ensureQueue(queue);
    return registry.addSubscription(subscription);
  }
};
