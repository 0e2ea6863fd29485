import { makeSecret, type SigningSecret } from '../../../shared/domain/subscription/signing-secret.ts';
import { unredacted } from '../../../shared/domain/subscription/credential-headers.ts';
import type {
  Disabled,
  Subscription,
  SubscriptionOptions,
} from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import { QueueMissingError, type SecretSealer, type Registry } from '../../../shared/ports/subscriptions.ts';
import { requiresConfirmation, newConfirmation, type ConfirmationContext } from './ask-confirmation.ts';

/** What subscribing needs of the world. */
export type SubscribeContext = ConfirmationContext & {
  registry: Registry;
  secretSealer: SecretSealer;
  clock: Clock;
  newId: () => string;
};

/** A subscription as asked for, checked. `ttl` is in seconds. */
export type SubscriptionRequest = {
  queue: string;
  subscriber: string;
  options: SubscriptionOptions;
  ttl?: number;
  /** It begins disabled, as it was where it comes from. */
  disabled?: Disabled;
};

export type SubscribeResult =
  /** `secret`: the one to sign with, which cannot be had again. */
  | { kind: 'subscribed'; subscription: Subscription; secret: SigningSecret }
  | { kind: 'conflict'; subscriptionId: string };

/**
 * Creates the queue if there is none, as Zaqar does. A subscriber that the queue has already is a conflict. Where
 * confirmation is asked for, the question is owed from then on: `askIfOwed` sends it.
 * @throws UnknownCredentialsError where a header comes redacted
 */
export async function subscribe(
  context: SubscribeContext,
  request: SubscriptionRequest,
): Promise<SubscribeResult> {
  const { registry, secretSealer, clock, newId, randomBytes } = context;
  const id = newId();
  const secret = makeSecret('v1', randomBytes);
  const sealed = await secretSealer.seal({ queue: request.queue, subscriptionId: id }, secret);
  const createdAt = clock.now();
  const subscription: Subscription = {
    ...request,
    options: unredacted(request.options),
    id,
    createdAt,
    secrets: [{ sealed }],
    ...(request.ttl !== undefined && { expiresAt: createdAt + request.ttl * 1000 }),
  };
  const asks = await requiresConfirmation(context, request.queue);
  const kept = asks ? { ...subscription, unconfirmed: newConfirmation(context).unconfirmed } : subscription;
  const result = await addToQueue(registry, kept);
  if (result.kind !== 'added') return result;
  return { kind: 'subscribed', subscription: kept, secret };
}

/** Once more where the queue was deleted in between: a conflict would say that the subscriber is there already. */
async function addToQueue(registry: Registry, subscription: Subscription) {
  const queue = { name: subscription.queue, metadata: {}, createdAt: subscription.createdAt };
  await registry.ensureQueue(queue);
  try {
    return await registry.addSubscription(subscription);
  } catch (error) {
    if (!(error instanceof QueueMissingError)) throw error;
    await registry.ensureQueue(queue);
    return registry.addSubscription(subscription);
  }
}
