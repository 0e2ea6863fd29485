import { webhookRequest, type WebhookRequest } from '../domain/delivery/webhook-request.ts';
import type { Message } from '../domain/message/message.ts';
import type { Payload } from '../domain/message/payload.ts';
import type { Auth } from '../domain/subscription/auth.ts';
import { findAuth } from '../domain/subscription/destination.ts';
import { type SigningSecret } from '../domain/subscription/signing-secret.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { SecretOpener } from '../ports/subscriptions.ts';
import { secretsInForce } from '../domain/subscription/secret-rotation.ts';

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

/** What a request is signed and authenticated with. `auth`: undefined if it does not authenticate. */
export type OpenedCredentials = { secrets: readonly OpenedSecret[]; auth: Auth | undefined };

/** @throws UnopenedSecretError: no request is sent unsigned or without its credentials */
export async function openedCredentials(
  opener: SecretOpener,
  subscription: Subscription,
  now: number,
): Promise<OpenedCredentials> {
  const [secrets, auth] = await Promise.all([
    openedSecrets(opener, subscription, now),
    openedAuth(opener, subscription),
  ]);
  return { secrets, auth };
}

/**
 * How requests authenticate at a subscriber; undefined: they do not.
 * @throws UnopenedSecretError
 */
export async function openedAuth(
  opener: SecretOpener,
  { id, queue, destination }: Pick<Subscription, 'id' | 'queue' | 'destination'>,
): Promise<Auth | undefined> {
  const auth = findAuth(destination);
  return auth === undefined ? undefined : opener.openAuth({ queue, subscriptionId: id }, auth.sealed);
}
