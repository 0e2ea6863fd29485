import type { Auth } from '../../../shared/domain/subscription/auth.ts';
import { unredacted } from '../../../shared/domain/subscription/credential-headers.ts';
import { withAuth } from '../../../shared/domain/subscription/destination.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import { type Amount, measureAmount } from '../../../shared/domain/subscription/room.ts';
import type { SealedSecret } from '../../../shared/domain/subscription/secret-rotation.ts';
import {
  makeSecret,
  publicKeyText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import type { Subscription, SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import {
  type AddResult,
  QueueMissingError,
  type SubscriberConflict,
} from '../../../shared/ports/subscriptions.ts';
import type { OpenedSecret } from '../../../shared/steps/sign-request.ts';
import type { ChangeContext } from '../dependencies.ts';
import { RefusedRequest } from '../errors.ts';
import type { Tenant } from '../route.ts';
import { canConfirm, newConfirmation, requiresConfirmation } from './ask-confirmation.ts';
import { sealAuth } from './seal-auth.ts';

/**
 * A checked request. `auth` is given as one of the options, and stored beside them. `disabled`: set for an imported
 * subscription that was disabled when it was exported. `secrets`: those of an imported one, the current one first.
 */
export type SubscriptionRequest = Pick<
  Subscription,
  'queue' | 'name' | 'destination' | 'options' | 'ttl' | 'disabled'
> & { auth?: Auth; secrets?: readonly OpenedSecret[] };

/**
 * Adds a subscription, and creates its queue if it is missing, as Zaqar does. A subscriber that the queue already has
 * is a conflict. Where confirmation is required, the caller sends the link with `sendOwedConfirmation`.
 * @throws UnknownCredentialsError if a credential is redacted, RefusedRequest where the queue is full or `auth` unusable,
 * QueueFullError and QueueMissingError for a tenant
 */
export async function subscribe(
  context: ChangeContext,
  request: SubscriptionRequest,
  tenant?: Tenant,
): Promise<({ kind: 'subscribed' } & NewSubscription) | SubscriberConflict> {
  const mustConfirm = await requiresConfirmation(context, request.queue);
  const created = await newSubscription(context, request, mustConfirm);
  const [added] = await addToQueue(context, [created.subscription], tenant);
  return added?.kind === 'conflict' ? added : { kind: 'subscribed', ...created };
}

/** `secret`: made where the request has none, in plaintext; it is not shown again. */
type NewSubscription = { subscription: Subscription; secret?: SigningSecret };

/** @throws UnknownCredentialsError if a credential is redacted, RefusedRequest if `auth` cannot be used */
export async function newSubscription(
  context: ChangeContext,
  { auth: given, secrets, ...request }: SubscriptionRequest,
  mustConfirm: boolean,
): Promise<NewSubscription> {
  const { clock, newId, randomBytes } = context;
  const options = unredacted(request.options);
  const id = newId();
  const made = secrets === undefined ? [{ secret: makeSecret('v1', randomBytes) }] : [];
  const key = { queue: request.queue, subscriptionId: id };
  const sealed = await Promise.all((secrets ?? made).map((one) => sealSecret(context, key, one)));
  const auth = await sealAuth(context, { ...request, id }, given);
  const createdAt = clock.now();
  return {
    subscription: {
      ...request,
      options,
      id,
      createdAt,
      destination: withAuth(request.destination, auth),
      secrets: sealed,
      ...(request.ttl !== undefined && { expiresAt: createdAt + request.ttl * 1000 }),
      ...(mustConfirm &&
        canConfirm(request.destination) && { unconfirmed: newConfirmation(context).unconfirmed }),
    },
    ...made[0],
  };
}

/** A secret as it is stored. */
export async function sealSecret(
  { secretSealer }: Pick<ChangeContext, 'secretSealer'>,
  key: SubscriptionKey,
  { secret, ...end }: OpenedSecret,
): Promise<SealedSecret> {
  const publicKey = publicKeyText(secret);
  const sealed = await secretSealer.seal(key, secret);
  return { sealed, ...(publicKey !== undefined && { publicKey }), ...end };
}

/**
 * Adds subscriptions to one queue. If the queue is deleted in between, creates it again and retries, except for a tenant,
 * whose link is for the queue as it was.
 */
export async function addToQueue(
  context: ChangeContext,
  subscriptions: readonly Subscription[],
  tenant?: Tenant,
): Promise<readonly AddResult[]> {
  const { registry } = context;
  const [first] = subscriptions;
  if (first === undefined) return [];
  if (tenant !== undefined) {
    await takeRoom(context, first.queue, measureAmount(subscriptions));
    const { queueCreatedAt: createdAt, endpoints: most } = tenant;
    return registry.addSubscriptions(subscriptions, { createdAt, most });
  }
  const queue = { name: first.queue, metadata: {}, createdAt: first.createdAt };
  await registry.ensureQueue(queue);
  await takeRoom(context, queue.name, measureAmount(subscriptions));
  try {
    return await registry.addSubscriptions(subscriptions);
  } catch (error) {
    if (!(error instanceof QueueMissingError)) throw error;
    await registry.ensureQueue(queue);
    return registry.addSubscriptions(subscriptions);
  }
}

/** Reserves room for more subscriptions in a queue. @throws RefusedRequest where the queue is full */
export async function takeRoom(context: ChangeContext, queue: string, more: Amount): Promise<void> {
  const { registry, settings } = context;
  const { metadata } = (await registry.findQueue(queue)) ?? {};
  const most = queueMember('_max_subscriptions', metadata) ?? Infinity;
  const limit = {
    ...settings.queueLimit,
    subscriptions: Math.min(settings.queueLimit.subscriptions, most),
  };
  if (await registry.takeRoom(queue, more, limit)) return;
  const { subscriptions, bytes } = limit;
  throw new RefusedRequest(
    'conflict',
    `the queue is full: it can have at most ${subscriptions} subscriptions, and ${bytes} bytes of URLs and options`,
  );
}
