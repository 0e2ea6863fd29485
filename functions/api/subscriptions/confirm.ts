import { isTokenOf } from '../../../shared/domain/subscription/confirmation.ts';
import type { SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { type ConfirmationContext, newConfirmation } from './ask-confirmation.ts';
import { type ChangeContext, changePresent, type ChangeResult } from './change.ts';

/** Confirms a subscription if the token is the one from its link. Each token works once. */
export async function confirm(context: ChangeContext, key: SubscriptionKey, token: string): Promise<boolean> {
  const confirmedAt = context.clock.now();
  const result = await changePresent(context, key, ({ unconfirmed, ...subscription }) =>
    unconfirmed !== undefined && isTokenOf(unconfirmed, token) ? { ...subscription, confirmedAt } : undefined,
  );
  return result.kind === 'changed';
}

/**
 * Confirms a subscription manually, or revokes its confirmation, after which it receives nothing. Idempotent.
 */
export function setConfirmed(
  context: ChangeContext & ConfirmationContext,
  key: SubscriptionKey,
  confirmed: boolean,
): Promise<ChangeResult> {
  const now = context.clock.now();
  const { tokenHash, at } = newConfirmation(context).unconfirmed;
  return changePresent(context, key, ({ unconfirmed, ...subscription }) => {
    if (confirmed) return unconfirmed && { ...subscription, confirmedAt: now };
    return unconfirmed === undefined ? { ...subscription, unconfirmed: { tokenHash, at } } : undefined;
  });
}
