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

export type SubscribeContext = ConfirmationContext & {
  registry: Registry;
  secretSealer: SecretSealer;
  clock: Clock;
  newId: () => string;
};

/** A checked request. `ttl` is in seconds. */
export type SubscriptionRequest = {
  queue: string;
  subscriber: string;
  options: SubscriptionOptions;
  ttl?: number;
  /** Of an imported subscription that was disabled where it was exported. */
  disabled?: Disabled;
};

export type SubscribeResult =
  /** `secret` signs its requests; it is not shown again. */
  | { kind: 'subscribed'; subscription: Subscription; secret: SigningSecret }
  | { kind: 'conflict'; subscriptionId: string };

/**
 * Adds a subscription, and creates its queue if it is missing, as Zaqar does. A subscriber that the queue has already is a
 * conflict. Where confirmation is required it is owed from now on; `sendOwedConfirmation` sends it.
 * @throws UnknownCredentialsError if a header is redacted
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

/** Tries again if the queue was deleted in between: a conflict would mean that the subscriber exists. */
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
