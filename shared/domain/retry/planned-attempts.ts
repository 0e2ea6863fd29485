import { type Delivery, isOpen, startOf } from '../delivery/delivery.ts';
import { followingAttempt, type PlannedAttempt } from './next-attempt.ts';
import type { PolicySource } from '../vocabulary.ts';
import type { RetryPolicy } from './policy.ts';

/**
 * What the rest of a delivery's round would be, the attempt that is due or under way first, if each attempt failed at the
 * very moment that it was due. Jitter is seeded, so these are the times that would come about; a request that takes its
 * time moves what follows by as much. Empty for a delivery that is over.
 */
export function plannedAttempts(
  delivery: Pick<Delivery, 'key' | 'status' | 'round' | 'attempts' | 'next' | 'slot' | 'updatedAt'>,
  policy: RetryPolicy,
): PlannedAttempt[] {
  if (!isOpen(delivery.status)) return [];
  const made = delivery.attempts.filter(({ round }) => round === delivery.round).length;
  const planned: PlannedAttempt[] = [];
  let attempt: PlannedAttempt | undefined = firstOf(delivery);
  while (attempt !== undefined) {
    planned.push(attempt);
    attempt = followingAttempt({
      key: delivery.key,
      policy,
      failed: { number: attempt.number, startedAt: attempt.dueAt, durationMs: 0 },
      madeInRound: made + planned.length,
      hintMs: 0,
    });
  }
  return planned;
}

/** A first attempt has no due time on record, but begins when its record does. */
function firstOf({
  attempts,
  next,
  slot,
  updatedAt,
}: Pick<Delivery, 'attempts' | 'next' | 'slot' | 'updatedAt'>): PlannedAttempt {
  return next === undefined
    ? { number: attempts.length + 1, phase: 'initial', dueAt: updatedAt }
    : { number: next.number, phase: next.phase, dueAt: startOf({ slot }, next) };
}

/** A delivery, what it follows and what is to come. */
export type DeliveryDetail = {
  delivery: Delivery;
  policy: RetryPolicy;
  /** `delivery`: kept on it at its round's first failure; else where the one comes from that would be kept now. */
  policySource: PolicySource | 'delivery';
  planned: readonly PlannedAttempt[];
};
