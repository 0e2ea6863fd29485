import type { Attempt } from './attempt.ts';
import type { DeliveryKey, NextAttempt } from './delivery.ts';
import type { RetryPolicy } from './retry-policy.ts';
import { jitteredDelay, retrySchedule, type Retry } from './retry-schedule.ts';
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
  const retry = retrySchedule(after.policy)[after.madeInRound - 1];
  if (retry === undefined) return undefined;
  const endedAt = after.failed.startedAt + after.failed.durationMs;
  const delayMs = Math.max(policyDelayMs(retry, after), after.hintMs);
  const next = { number: after.failed.number + 1, phase: retry.phase, dueAt: endedAt + Math.ceil(delayMs) };
  if (delayMs === 0 && after.canContinue) return { ...next, by: 'same_invocation' };
  return { ...next, by: planWakeUp(next.dueAt, endedAt, after.thresholdSeconds).by };
};

const policyDelayMs = (retry: Retry, after: AfterFailure): number => {
  const { queue, messageId, subscriptionId } = after.key;
  const seed = JSON.stringify([queue, messageId, subscriptionId, after.failed.number + 1]);
  return jitteredDelay(retry.delaySeconds, after.policy.jitter, seed) * 1000;
};
