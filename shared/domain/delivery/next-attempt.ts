import { type Attempt, endOfAttempt } from './attempt.ts';
import type { DeliveryKey, NextAttempt } from './delivery.ts';
import { jitteredDelay, type Retry, retrySchedule } from '../retry/schedule.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import { planWakeUp } from './wake-up-plan.ts';

type AfterFailure = {
  key: DeliveryKey;
  policy: RetryPolicy;
  /** The failed attempt. `attemptsInRound` counts the attempts of its round, including this one. */
  failed: Attempt;
  attemptsInRound: number;
  /** Delay from the subscriber's Retry-After header, capped, in milliseconds; 0 if none. */
  retryAfterMs: number;
  thresholdSeconds: number;
  /** Whether this invocation may make an immediate retry. */
  canContinue: boolean;
};

/**
 * The attempt after a failure and its due time (docs/retry-policy.md#four-phases); undefined once the policy is
 * exhausted.
 */
export function nextAfterFailure(after: AfterFailure): NextAttempt | undefined {
  const next = followingAttempt(after);
  if (next === undefined) return undefined;
  const endedAt = endOfAttempt(after.failed);
  if (next.dueAt === endedAt && after.canContinue) return { ...next, by: 'same_invocation' };
  return { ...next, by: planWakeUp(next.dueAt, endedAt, after.thresholdSeconds).by };
}

/** A future attempt. `dueAt`: milliseconds since the epoch. */
export type PlannedAttempt = Omit<NextAttempt, 'by'>;

/** The attempt after a failure, without its mechanism; undefined once the policy is exhausted. */
export function followingAttempt(
  after: Pick<AfterFailure, 'key' | 'policy' | 'attemptsInRound' | 'retryAfterMs'> & {
    failed: Pick<Attempt, 'number' | 'startedAt' | 'durationMs'>;
  },
): PlannedAttempt | undefined {
  const retry = retrySchedule(after.policy)[after.attemptsInRound - 1];
  if (retry === undefined) return undefined;
  const number = after.failed.number + 1;
  const delayMs = Math.max(policyDelayMs(retry, after, number), after.retryAfterMs);
  return { number, phase: retry.phase, dueAt: endOfAttempt(after.failed) + Math.ceil(delayMs) };
}

function policyDelayMs(
  retry: Retry,
  { key, policy }: Pick<AfterFailure, 'key' | 'policy'>,
  number: number,
): number {
  const { queue, messageId, subscriptionId } = key;
  const seed = JSON.stringify([queue, messageId, subscriptionId, number]);
  return jitteredDelay(retry.delaySeconds, policy.jitter, seed) * 1000;
}
