import {
  CONFIRM_SUBSCRIPTIONS,
  confirmationMessage,
  tokenHashOf,
} from '../../../shared/domain/subscription/confirmation.ts';
import {
  isQuestionOwed,
  isThere,
  type Subscription,
  type Unconfirmed,
} from '../../../shared/domain/subscription/subscription.ts';
import type { Journal } from '../../../shared/ports/journal.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { publishToOne, type PublishToOneContext } from './publish-to-one.ts';

export type NewConfirmationContext = Pick<PublishToOneContext, 'clock'> & {
  /** As many bytes as asked for, which nobody can guess. */
  randomBytes: (bytes: number) => Uint8Array;
};

export type ConfirmationContext = NewConfirmationContext & {
  registry: Pick<Registry, 'findQueue'>;
  /** Of the deployment: every new subscriber is asked, whatever its queue says. */
  settings: { subscriptionConfirmation: boolean };
};

export type SendConfirmationContext = NewConfirmationContext &
  PublishToOneContext & {
    registry: Pick<Registry, 'changeSubscription'>;
    journal: Journal;
  };

/** As many bits as the hash that is kept of it. */
const TOKEN_BYTES = 32;

/** A question to a subscriber: the token for its link, and what the subscription keeps until the question is sent. */
export type Confirmation = { token: string; unconfirmed: Unconfirmed };

export function newConfirmation({ randomBytes, clock }: NewConfirmationContext): Confirmation {
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url');
  return { token, unconfirmed: { tokenHash: tokenHashOf(token), at: clock.now(), owed: true } };
}

/** Whether subscribers of a queue are asked before they get anything. */
export async function requiresConfirmation(context: ConfirmationContext, queue: string): Promise<boolean> {
  return (
    context.settings.subscriptionConfirmation ||
    (await context.registry.findQueue(queue))?.metadata[CONFIRM_SUBSCRIPTIONS] === true
  );
}

/**
 * Sends a subscriber the link by which it confirms, if that is owed, with a token of its own: the one before is kept
 * nowhere, and may not have been sent. `publicUrl` is where it reaches the API, without a slash at its end. Answers with
 * the subscription as it is then. What fails is noted, and the question stays owed, for whoever asks next.
 */
export async function sendOwedConfirmation(
  context: SendConfirmationContext,
  subscription: Subscription,
  publicUrl: string,
): Promise<Subscription> {
  if (!isQuestionOwed(subscription)) return subscription;
  try {
    return await sendConfirmation(context, subscription, publicUrl);
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const { queue, id: subscriptionId } = subscription;
    context.journal.note({ fact: 'confirmation_owed', queue, subscriptionId, error });
    return subscription;
  }
}

async function sendConfirmation(
  context: SendConfirmationContext,
  subscription: Subscription,
  publicUrl: string,
): Promise<Subscription> {
  const { queue, id } = subscription;
  const { token, unconfirmed } = newConfirmation(context);
  const posed = await changeUnconfirmed(context, subscription, (current) =>
    isQuestionOwed(current) ? { ...unconfirmed, at: current.unconfirmed?.at ?? unconfirmed.at } : undefined,
  );
  // Somebody else has asked meanwhile, or there is nobody to ask any more.
  if (posed.unconfirmed?.tokenHash !== unconfirmed.tokenHash) return posed;
  const confirmUrl = `${publicUrl}/v2/queues/${queue}/subscriptions/${id}/confirm?token=${token}`;
  const { tokenHash, at } = unconfirmed;
  await publishToOne(context, confirmationMessage(posed, { tokenHash, confirmUrl }, at), id);
  return changeUnconfirmed(context, posed, (current) =>
    current.unconfirmed?.tokenHash === tokenHash ? { tokenHash, at: current.unconfirmed.at } : undefined,
  );
}

/** The subscription with what `change` makes of its waiting; undefined: as it is. */
async function changeUnconfirmed(
  { registry, clock }: SendConfirmationContext,
  subscription: Subscription,
  change: (current: Subscription) => Unconfirmed | undefined,
): Promise<Subscription> {
  const now = clock.now();
  const target = { queue: subscription.queue, subscriptionId: subscription.id, now };
  const result = await registry.changeSubscription(target, (current) => {
    const unconfirmed = isThere(current, now) ? change(current) : undefined;
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
