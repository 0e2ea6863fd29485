import type { Attempt } from './attempt.ts';
import type { DeliveryKey, NextAttempt } from './delivery.ts';
import { jitteredDelay } from './jitter.ts';
import type { RetryPolicy } from './retry-policy.ts';
import { retrySchedule, type Retry } from './retry-schedule.ts';
import { planWakeUp } from './wake-up-plan.ts';

export type AfterFailure = {
  key: DeliveryKey;
  policy: RetryPolicy;
  /** The attempt that failed; its round's attempts so far are `madeInRound`, itself among them. */
  failed: Attempt;
  madeInRound: number;
  /** What the subscriber asked for by Retry-After, capped, in milliseconds; 0 if nothing. */
  hintMs: number;
  thresholdSeconds: number;
  /** Whether this invocation may make an immediate retry itself. */
  canContinue: boolean;
};

/** What follows a failed attempt (design §3): the next one and when, or undefined because the policy has run out. */
export const nextAfterFailure = (after: AfterFailure): NextAttempt | undefined => {
  const next = followingAttempt(after);
  if (next === undefined) return undefined;
  const endedAt = endOf(after.failed);
  if (next.dueAt === endedAt && after.canContinue) return { ...next, by: 'same_invocation' };
  return { ...next, by: planWakeUp(next.dueAt, endedAt, after.thresholdSeconds).by };
};

/** An attempt that is to come. `dueAt`: milliseconds since the epoch. */
export type PlannedAttempt = Omit<NextAttempt, 'by'>;

/** What a policy says of the attempt after one that failed, whatever is to bring it about; undefined: there is none. */
export const followingAttempt = (
  after: Pick<AfterFailure, 'key' | 'policy' | 'madeInRound' | 'hintMs'> & {
    failed: Pick<Attempt, 'number' | 'startedAt' | 'durationMs'>;
  },
): PlannedAttempt | undefined => {
  const retry = retrySchedule(after.policy)[after.madeInRound - 1];
  if (retry === undefined) return undefined;
  const number = after.failed.number + 1;
  const delayMs = Math.max(policyDelayMs(retry, after, number), after.hintMs);
  return { number, phase: retry.phase, dueAt: endOf(after.failed) + Math.ceil(delayMs) };
};

const endOf = ({ startedAt, durationMs }: Pick<Attempt, 'startedAt' | 'durationMs'>): number =>
  startedAt + durationMs;

const policyDelayMs = (
  retry: Retry,
  { key, policy }: Pick<AfterFailure, 'key' | 'policy'>,
  number: number,
): number => {
  const { queue, messageId, subscriptionId } = key;
  const seed = JSON.stringify([queue, messageId, subscriptionId, number]);
  return jitteredDelay(retry.delaySeconds, policy.jitter, seed) * 1000;
};
