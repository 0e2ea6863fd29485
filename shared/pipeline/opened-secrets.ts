import { release } from '../domain/delivery-result.ts';
import { secretsInForce } from '../domain/secret-rotation.ts';
import type { SigningSecret } from '../domain/signing-secret.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { SecretOpener } from '../ports/signing-secrets.ts';
import type { DeliverContext } from './deliver-context.ts';
import { momentOf } from './moment.ts';
import type { HeldDelivery } from './held-delivery.ts';

/** What a request may be signed with, and until when. */
export type OpenedSecret = { secret: SigningSecret; expiresAt?: number };

/**
 * The secrets of a subscription that are in force, opened. Empty for one from before there were signatures.
 * @throws UnopenedSecretError for any one of them: a receiver may know just that one.
 */
export const openedSecrets = (
  opener: SecretOpener,
  { id, queue, secrets = [] }: Subscription,
  now: number,
): Promise<readonly OpenedSecret[]> =>
  Promise.all(
    secretsInForce(secrets, now).map(async ({ sealed, ...end }) => ({
      secret: await opener.open({ queue, subscriptionId: id }, sealed),
      ...end,
    })),
  );

/**
 * What the request is signed with: none may be missing, and nothing goes out unsigned because KMS does not answer. The
 * lease is given back before such a fault goes on, since nothing was sent that could be lost.
 * @throws UnopenedSecretError: the message comes again.
 */
export const openedFor = async (
  context: DeliverContext,
  { delivery, received }: HeldDelivery,
  subscription: Subscription,
): Promise<readonly OpenedSecret[]> => {
  const { ports } = context;
  try {
    return await openedSecrets(ports.secretOpener, subscription, ports.clock.now());
  } catch (fault) {
    await ports.deliveries.write(release(delivery, received.owner, momentOf(context)));
    throw fault;
  }
};
