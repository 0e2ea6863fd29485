import { webhookRequest, type WebhookRequest } from '../domain/delivery/webhook-request.ts';
import type { Message } from '../domain/message/message.ts';
import type { Payload } from '../domain/message/payload.ts';
import { secretsInForce } from '../domain/subscription/secret-rotation.ts';
import type { SigningSecret } from '../domain/subscription/signing-secret.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { SecretOpener } from '../ports/subscriptions.ts';

/** A secret, and when it stops signing (milliseconds since the epoch; undefined: never). */
export type OpenedSecret = { secret: SigningSecret; expiresAt?: number };

/**
 * The decrypted secrets of a subscription that are in force. Empty for a subscription created before signatures
 * existed.
 * @throws UnopenedSecretError if any secret cannot be decrypted: a subscriber may know only that one
 */
export function openedSecrets(
  opener: SecretOpener,
  { id, queue, secrets = [] }: Subscription,
  now: number,
): Promise<readonly OpenedSecret[]> {
  return Promise.all(
    secretsInForce(secrets, now).map(async ({ sealed, expiresAt }) => ({
      secret: await opener.open({ queue, subscriptionId: id }, sealed),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    })),
  );
}

/** The request of an attempt, signed by the secrets that are in force when it starts; the same for push and pull. */
export function signedRequest(
  message: Message,
  payload: Payload,
  subscription: Subscription,
  {
    secrets,
    startedAt,
    userAgent,
  }: { secrets: readonly OpenedSecret[]; startedAt: number; userAgent: string },
): WebhookRequest {
  const inForce = secretsInForce(secrets, startedAt).map(({ secret }) => secret);
  return webhookRequest(message, payload, subscription, { startedAt, userAgent, secrets: inForce });
}
