import { authOf } from '../domain/subscription/destination.ts';
import type { Auth } from '../domain/subscription/auth.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { SecretOpener } from '../ports/subscriptions.ts';
import { openedSecrets, type OpenedSecret } from './sign-request.ts';

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
  const auth = authOf(destination);
  return auth === undefined ? undefined : opener.openAuth({ queue, subscriptionId: id }, auth.sealed);
}
