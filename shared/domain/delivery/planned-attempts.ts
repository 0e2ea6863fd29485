import { attemptsInRound } from './attempt.ts';
import { type Delivery, startOf } from './delivery.ts';
import { isOpenStatus } from './vocabulary.ts';
import { followingAttempt, type PlannedAttempt } from './next-attempt.ts';
import type { PolicySource } from '../retry/vocabulary.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/**
 * The remaining attempts of a delivery's round, including the one due or in flight, if each failed at its due time.
 * Seeded jitter makes these times exact; request durations shift them. Empty for an ended delivery.
 */
export function plannedAttempts(
  delivery: Pick<Delivery, 'key' | 'status' | 'round' | 'attempts' | 'next' | 'slot' | 'updatedAt'>,
  policy: RetryPolicy,
): PlannedAttempt[] {
  if (!isOpenStatus(delivery.status)) return [];
  const made = attemptsInRound(delivery);
  const planned: PlannedAttempt[] = [];
  let attempt: PlannedAttempt | undefined = firstOf(delivery);
  while (attempt !== undefined) {
    planned.push(attempt);
    attempt = followingAttempt({
      key: delivery.key,
      policy,
      failed: { number: attempt.number, startedAt: attempt.dueAt, durationMs: 0 },
      attemptsInRound: made + planned.length,
      retryAfterMs: 0,
    });
  }
  return planned;
}

/** A first attempt has no recorded due time; it starts when its record is written. */
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

/** A delivery with its policy and its planned attempts. */
export type DeliveryDetail = {
  delivery: Delivery;
  policy: RetryPolicy;
  /**
   * `delivery`: stored with it at the round's first failure. Otherwise the source of the policy that would be
   * stored now.
   */
  policySource: PolicySource | 'delivery';
  planned: readonly PlannedAttempt[];
};
