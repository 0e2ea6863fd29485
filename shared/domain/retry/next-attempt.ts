import type { Attempt } from '../delivery/attempt.ts';
import type { DeliveryKey, NextAttempt } from '../delivery/delivery.ts';
import type { Jitter } from '../vocabulary.ts';
import type { RetryPolicy } from './policy.ts';
import { type Retry, retrySchedule } from './schedule.ts';
import { planWakeUp } from './wake-up-plan.ts';
import { createHash } from 'node:crypto';

type AfterFailure = {
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

/** What follows a failed attempt (docs/policy.md#four-phases): the next one and when, or undefined because the policy has run out. */
export function nextAfterFailure(after: AfterFailure): NextAttempt | undefined {
  const next = followingAttempt(after);
  if (next === undefined) return undefined;
  const endedAt = endOf(after.failed);
  if (next.dueAt === endedAt && after.canContinue) return { ...next, by: 'same_invocation' };
  return { ...next, by: planWakeUp(next.dueAt, endedAt, after.thresholdSeconds).by };
}

/** An attempt that is to come. `dueAt`: milliseconds since the epoch. */
export type PlannedAttempt = Omit<NextAttempt, 'by'>;

/** What a policy says of the attempt after one that failed, whatever is to bring it about; undefined: there is none. */
export function followingAttempt(
  after: Pick<AfterFailure, 'key' | 'policy' | 'madeInRound' | 'hintMs'> & {
    failed: Pick<Attempt, 'number' | 'startedAt' | 'durationMs'>;
  },
): PlannedAttempt | undefined {
  const retry = retrySchedule(after.policy)[after.madeInRound - 1];
  if (retry === undefined) return undefined;
  const number = after.failed.number + 1;
  const delayMs = Math.max(policyDelayMs(retry, after, number), after.hintMs);
  return { number, phase: retry.phase, dueAt: endOf(after.failed) + Math.ceil(delayMs) };
}

function endOf({ startedAt, durationMs }: Pick<Attempt, 'startedAt' | 'durationMs'>): number {
  return startedAt + durationMs;
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
 * The delay in seconds once chance has its part: anywhere from 0 (full) or from half of it (equal) up to the delay
 * itself. The same seed gives the same delay, so that a computation repeated after a crash does not move a due time.
 */
export function jitteredDelay(delaySeconds: number, jitter: Jitter, seed: string): number {
  switch (jitter) {
    case 'none':
      return delaySeconds;
    case 'full':
      return delaySeconds * chance(seed);
    case 'equal':
      return delaySeconds * (0.5 + chance(seed) / 2);
  }
}

const CHANCE_BYTES = 6;

/** Uniform in [0, 1) over 2^48 values. */
function chance(seed: string): number {
  return createHash('sha256').update(seed).digest().readUIntBE(0, CHANCE_BYTES) / 2 ** (8 * CHANCE_BYTES);
}
