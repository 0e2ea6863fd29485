import { type Attempt, withBoundedText } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { ADDRESS_FORBIDDEN, isGone, outcomeOf, type Reply } from '../../shared/domain/delivery/outcome.ts';
import { release } from '../../shared/domain/delivery/result.ts';
import { webhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import { secretsInForce } from '../../shared/domain/subscription/secret-rotation.ts';
import type { SigningSecret } from '../../shared/domain/subscription/signing-secret.ts';
import { attemptTimeoutOf, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { SecretOpener } from '../../shared/ports/subscriptions.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import type { DeliverContext, HeldDelivery } from './context.ts';
import type { Turn } from './rate-limit.ts';
import { policyFor } from './verdict.ts';

/** All that a request needs, at the moment that it goes. */
export type Going = {
  subscription: Subscription;
  secrets: readonly OpenedSecret[];
  turn: Extract<Turn, { kind: 'now' }>;
};

/** `dueAt`: when it was due, in milliseconds since the epoch; undefined for a first attempt that nothing delayed. */
export type Made = { attempt: Attempt; reply: Reply; dueAt: number | undefined };

/** Makes the request that is due. Whatever the subscriber does is a result, never an error. */
export async function makeRequest(
  context: DeliverContext,
  held: HeldDelivery,
  { subscription, secrets: opened, turn }: Going,
): Promise<Made> {
  const { ports, settings } = context;
  const { delivery, message } = held;
  const startedAt = ports.clock.now();
  const dueAt = dueOf(delivery, turn);
  const secrets = secretsInForce(opened, startedAt).map(({ secret }) => secret);
  const reply = await ports.subscriber.post(
    webhookRequest(message, subscription, { startedAt, userAgent: settings.userAgent, secrets }),
    attemptTimeoutOf(subscription, settings.attemptTimeoutMs),
  );
  const attempt: Attempt = {
    number: delivery.attempts.length + 1,
    round: delivery.round,
    phase: delivery.next?.phase ?? 'initial',
    ...(held.by === undefined ? {} : { by: held.by }),
    ...(delivery.next === undefined || dueAt === undefined ? {} : { dueAt }),
    startedAt,
    durationMs: ports.clock.now() - startedAt,
    outcome: outcomeOf(reply, policyFor(context, held).retry_on_status),
    ...detailsOf(reply),
    ...(delivery.lost > 0 ? { lost: delivery.lost } : {}),
    ...(isGone(reply) ? wentBy(subscription) : {}),
  };
  return { attempt: withBoundedText(attempt, delivery.attempts), reply, dueAt };
}

/** By its policy, or by the slot that it had to wait for. */
function dueOf({ next }: Delivery, { slotAt }: Going['turn']): number | undefined {
  return slotAt === undefined ? next?.dueAt : Math.max(slotAt, next?.dueAt ?? slotAt);
}

function wentBy({ changedAt }: Subscription): Pick<Attempt, 'subscriptionChangedAt'> {
  return changedAt === undefined ? {} : { subscriptionChangedAt: changedAt };
}

function detailsOf(reply: Reply): Pick<Attempt, 'statusCode' | 'error' | 'snippet'> {
  switch (reply.kind) {
    case 'answered':
      return {
        statusCode: reply.statusCode,
        ...(reply.snippet === undefined ? {} : { snippet: reply.snippet }),
      };
    case 'unanswered':
      return { error: reply.detail === undefined ? reply.error : `${reply.error}: ${reply.detail}` };
    case 'forbidden':
      return { error: ADDRESS_FORBIDDEN };
  }
}

/** What a request may be signed with, and until when. */
type OpenedSecret = { secret: SigningSecret; expiresAt?: number };

/**
 * The secrets of a subscription that are in force, opened. Empty for one from before there were signatures.
 * @throws UnopenedSecretError for any one of them: a receiver may know just that one.
 */
export function openedSecrets(
  opener: SecretOpener,
  { id, queue, secrets = [] }: Subscription,
  now: number,
): Promise<readonly OpenedSecret[]> {
  return Promise.all(
    secretsInForce(secrets, now).map(async ({ sealed, ...end }) => ({
      secret: await opener.open({ queue, subscriptionId: id }, sealed),
      ...end,
    })),
  );
}

/**
 * What the request is signed with: none may be missing, and nothing goes out unsigned because KMS does not answer. The
 * lease is given back before such a fault goes on, since nothing was sent that could be lost.
 * @throws UnopenedSecretError: the message comes again.
 */
export async function openedFor(
  context: DeliverContext,
  { delivery, received }: HeldDelivery,
  subscription: Subscription,
): Promise<readonly OpenedSecret[]> {
  const { ports } = context;
  try {
    return await openedSecrets(ports.secretOpener, subscription, ports.clock.now());
  } catch (fault) {
    await ports.deliveries.write(release(delivery, received.owner, momentOf(context)));
    throw fault;
  }
}
