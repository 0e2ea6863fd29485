import { type Attempt, endOfAttempt } from '../delivery/attempt.ts';
import type { DeliveryKey, NextAttempt } from '../delivery/delivery.ts';
import type { Jitter } from '../vocabulary.ts';
import type { RetryPolicy } from './policy.ts';
import { type Retry, retrySchedule } from './schedule.ts';
import { planWakeUp } from './wake-up-plan.ts';
import { createHash } from 'node:crypto';

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

/**
 * The jittered delay in seconds: from 0 (full) or half (equal) up to `delaySeconds`. The same seed gives the same
 * delay, so that a computation repeated after a crash keeps its due time.
 */
export function jitteredDelay(delaySeconds: number, jitter: Jitter, seed: string): number {
  switch (jitter) {
    case 'none':
      return delaySeconds;
    case 'full':
      return delaySeconds * pseudoRandom(seed);
    case 'equal':
      return delaySeconds * (0.5 + pseudoRandom(seed) / 2);
  }
}

const RANDOM_BYTES = 6;

/** Uniform in [0, 1) over 2^48 values. */
function pseudoRandom(seed: string): number {
  return createHash('sha256').update(seed).digest().readUIntBE(0, RANDOM_BYTES) / 2 ** (8 * RANDOM_BYTES);
}
