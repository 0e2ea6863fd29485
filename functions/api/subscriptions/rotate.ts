import { isDeepStrictEqual } from 'node:util';
import { MAX_SECRETS, rotateSecrets } from '../../../shared/domain/subscription/secret-rotation.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { ChangeContext } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { changePresent } from './change.ts';

type Rotation<Held> = {
  /** As refusals name it. */
  what: 'secret' | 'token';
  /** As stored. Never equal to an earlier one. */
  made: Held;
  graceMs: number;
  /** The current one first. */
  heldBy: (subscription: Subscription) => readonly Held[];
  give: (held: readonly Held[], current: Subscription) => Subscription;
};

/**
 * Gives a subscription a new secret or token. The previous one stays valid until its grace period ends, which is returned.
 * @throws RefusedRequest
 */
export async function rotate<Held extends { expiresAt?: number }>(
  context: ChangeContext,
  found: Subscription,
  { what, made, graceMs, heldBy, give }: Rotation<Held>,
): Promise<{ previousExpiresAt?: string }> {
  const rotation = rotateSecrets(heldBy(found), made, { now: context.clock.now(), graceMs });
  if (rotation.kind === 'too_many')
    throw new RefusedRequest(
      'conflict',
      `${MAX_SECRETS} ${what}s are valid; the next one expires at ${timeText(rotation.until)}. With graceSeconds 0 the previous ${what}s expire at once`,
    );
  const { queue, id: subscriptionId } = found;
  const changed = await changePresent(context, { queue, subscriptionId }, (current) =>
    isDeepStrictEqual(heldBy(current)[0], heldBy(found)[0]) ? give(rotation.secrets, current) : undefined,
  );
  if (changed.kind === 'missing') throw notFound('such subscription');
  // The caller of the other rotation already has what that one gave, so it stays.
  if (changed.kind !== 'changed')
    throw new RefusedRequest('conflict', `another request gave it a ${what} at the same time`);
  const { previousExpiresAt: end } = rotation;
  return end === undefined ? {} : { previousExpiresAt: timeText(end) };
}
