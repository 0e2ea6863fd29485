import { CONFIRM_SUBSCRIPTIONS, confirmationMessage, tokenHashOf } from '../domain/confirmation.ts';
import type { Subscription, Unconfirmed } from '../domain/subscription.ts';
import type { SubscriptionRegistry } from '../ports/subscription-registry.ts';
import { publishToOne, type PublishToOneContext } from './publish-to-one.ts';

export type ConfirmationContext = PublishToOneContext & {
  registry: Pick<SubscriptionRegistry, 'findQueue'>;
  /** Of the deployment: every new subscriber is asked, whatever its queue says. */
  settings: { subscriptionConfirmation: boolean };
  /** As many bytes as asked for, which nobody can guess. */
  randomBytes: (bytes: number) => Uint8Array;
};

/** As many bits as the hash that is kept of it. */
const TOKEN_BYTES = 32;

/** A question to a subscriber: the token for its link, and what the subscription keeps. */
export type Question = { token: string; unconfirmed: Unconfirmed };

export const newQuestion = ({ randomBytes, clock }: ConfirmationContext): Question => {
  const token = Buffer.from(randomBytes(TOKEN_BYTES)).toString('base64url');
  return { token, unconfirmed: { tokenHash: tokenHashOf(token), at: clock.now() } };
};

/** Whether subscribers of a queue are asked before they get anything. */
export const asksSubscribersOf = async (context: ConfirmationContext, queue: string): Promise<boolean> =>
  context.settings.subscriptionConfirmation ||
  (await context.registry.findQueue(queue))?.metadata[CONFIRM_SUBSCRIPTIONS] === true;

/**
 * Sends a subscriber the link by which it confirms. `publicUrl` is where it reaches the API, without a slash at its end.
 * @throws when it could not be sent. The subscription waits all the same; a change of its subscriber asks again.
 */
export const askConfirmation = async (
  context: ConfirmationContext,
  subscription: Subscription,
  { token, unconfirmed }: Question,
  publicUrl: string,
): Promise<void> => {
  const { queue, id } = subscription;
  const confirmUrl = `${publicUrl}/v2/queues/${queue}/subscriptions/${id}/confirm?token=${token}`;
  const { tokenHash, at } = unconfirmed;
  await publishToOne(context, confirmationMessage(subscription, { tokenHash, confirmUrl }, at), id);
};
