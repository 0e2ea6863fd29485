import { toError } from '../../../shared/domain/errors.ts';
import { hashToken } from '../../../shared/domain/subscription/confirmation.ts';
import { confirmationMessage } from '../../../shared/domain/message/confirmation-request.ts';
import { asWebhook, type Destination } from '../../../shared/domain/subscription/destination.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import {
  type Subscription,
  type PendingConfirmation,
  owesConfirmationRequest,
  isPresent,
} from '../../../shared/domain/subscription/subscription.ts';
import type { ChangeContext } from '../dependencies.ts';
import { publishToOne } from './test-subscription.ts';

/** The size of the SHA-256 hash that is stored instead of the token. */
const TOKEN_BYTES = 32;

/** The token for the link, and the state that the subscription stores until the subscriber confirms. */
export function newConfirmation({ randomBytes, clock }: ChangeContext): {
  token: string;
  unconfirmed: PendingConfirmation;
} {
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url');
  return { token, unconfirmed: { tokenHash: hashToken(token), at: clock.now(), owed: true } };
}

/** Whether new subscribers of this queue must confirm before they receive messages. */
export async function requiresConfirmation(context: ChangeContext, queue: string): Promise<boolean> {
  return (
    context.settings.subscriptionConfirmation ||
    queueMember('_confirm_subscriptions', (await context.registry.findQueue(queue))?.metadata) === true
  );
}

/** Whether a request can ask the receiver to confirm. One that fetches with credentials wants what it fetches. */
export function canConfirm(destination: Destination): boolean {
  return asWebhook(destination) !== undefined;
}

/**
 * Sends a subscriber its confirmation link if that is pending, and returns the changed subscription. Creates a new
 * token, because earlier ones are not stored. Logs a failure, after which the link stays pending until the next call.
 * @param publicUrl without a trailing slash
 */
export async function sendOwedConfirmation(
  context: ChangeContext,
  subscription: Subscription,
  publicUrl: string,
): Promise<Subscription> {
  if (!owesConfirmationRequest(subscription)) return subscription;
  try {
    return await sendConfirmation(context, subscription, publicUrl);
  } catch (thrown) {
    const { queue, id: subscriptionId } = subscription;
    const error = toError(thrown);
    context.journal.note({ fact: 'confirmation_not_sent', queue, subscriptionId, error });
    return subscription;
  }
}

async function sendConfirmation(
  context: ChangeContext,
  subscription: Subscription,
  publicUrl: string,
): Promise<Subscription> {
  const { queue, id } = subscription;
  const { token, unconfirmed } = newConfirmation(context);
  const waiting = await changeUnconfirmed(context, subscription, (current) =>
    owesConfirmationRequest(current)
      ? { ...unconfirmed, at: current.unconfirmed?.at ?? unconfirmed.at }
      : undefined,
  );
  // Another request has sent a link, or the subscription is deleted.
  if (waiting.unconfirmed?.tokenHash !== unconfirmed.tokenHash) return waiting;
  const confirmUrl = `${publicUrl}/v2/queues/${queue}/subscriptions/${id}/confirm?token=${token}`;
  const { tokenHash, at } = unconfirmed;
  await publishToOne(context, confirmationMessage(waiting, { tokenHash, confirmUrl }, at), id);
  return changeUnconfirmed(context, waiting, (current) =>
    current.unconfirmed?.tokenHash === tokenHash ? { tokenHash, at: current.unconfirmed.at } : undefined,
  );
}

/** The subscription with a changed confirmation state. `change` returns undefined to leave the state unchanged. */
async function changeUnconfirmed(
  { registry, clock }: ChangeContext,
  subscription: Subscription,
  change: (current: Subscription) => PendingConfirmation | undefined,
): Promise<Subscription> {
  const now = clock.now();
  const target = { queue: subscription.queue, subscriptionId: subscription.id, now };
  const result = await registry.changeSubscription(target, (current) => {
    const unconfirmed = isPresent(current, now) ? change(current) : undefined;
    return unconfirmed && { ...current, unconfirmed };
  });
  switch (result.kind) {
    case 'changed':
      return result.after;
    case 'left':
      return result.current;
    case 'missing':
    case 'conflict':
      return subscription;
  }
}
