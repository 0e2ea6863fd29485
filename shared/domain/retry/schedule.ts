import { createHash } from 'node:crypto';
import type { RetryPolicy } from './policy.ts';
import type { Jitter, Phase } from './vocabulary.ts';

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

/** One retry of a round, numbered from 1; starts `delaySeconds` after the previous attempt ended. */
export type Retry = { retry: number; phase: Exclude<Phase, 'initial' | 'manual'>; delaySeconds: number };

/** All retries of a round, phase by phase (docs/retry-policy.md#delays). Exact seconds: neither rounded nor jittered. */
export function retrySchedule(policy: RetryPolicy): Retry[] {
  const inPhase = (phase: Retry['phase'], delays: readonly number[]): Omit<Retry, 'retry'>[] =>
    delays.map((delaySeconds) => ({ phase, delaySeconds }));
  return [
    ...inPhase('immediate', repeated(0, policy.retries_with_no_delay)),
    ...inPhase('pre_backoff', repeated(policy.minimum_delay, policy.minimum_delay_retries)),
    ...inPhase('backoff', backoffDelays(policy)),
    ...inPhase('post_backoff', repeated(policy.maximum_delay, policy.maximum_delay_retries)),
  ].map((retry, index) => ({ retry: index + 1, ...retry }));
}

function repeated(delaySeconds: number, times: number): number[] {
  return Array.from({ length: times }, () => delaySeconds);
}

/** Sum of the delays of a round in seconds, without the attempts' durations. */
export function totalSeconds(policy: RetryPolicy): number {
  return retrySchedule(policy).reduce((total, { delaySeconds }) => total + delaySeconds, 0);
}

/** The share of a delay that a retry waits on average (`jitteredDelay`). */
const MEAN_SHARES: Record<Jitter, number> = { none: 1, full: 0.5, equal: 0.75 };

/** The mean of `totalSeconds` with the policy's jitter. */
export function meanSeconds(policy: RetryPolicy): number {
  return totalSeconds(policy) * MEAN_SHARES[policy.jitter];
}

/**
 * Delays of the backoff phase in seconds (docs/retry-policy.md#backoff-the-five-functions). They start at `minimum_delay`,
 * never decrease and end at exactly `maximum_delay` (capped_exponential may end below it), despite rounding.
 */
export function backoffDelays(policy: RetryPolicy): number[] {
  const { minimum_delay: minimum, maximum_delay: maximum, backoff_retries: retries } = policy;
  const delays: number[] = [];
  for (let n = 1; n <= retries; n += 1) {
    const floor = delays.at(-1) ?? minimum;
    // The series divide by retries − 1; a single retry waits the minimum by definition.
    const delay = n === 1 ? minimum : delayOfRetry(n, policy);
    delays.push(Math.min(maximum, Math.max(floor, delay)));
  }
  return delays;
}

function delayOfRetry(n: number, policy: RetryPolicy): number {
  const { minimum_delay: minimum, maximum_delay: maximum, backoff_retries: retries } = policy;
  switch (policy.retry_backoff_function) {
    case 'linear':
      return interpolated(policy, n - 1, retries - 1);
    case 'arithmetic':
      // n(n−1)/2 · d with d = 2(MAX − MIN)/(NUM(NUM−1)): the 2 cancels out.
      return interpolated(policy, n * (n - 1), retries * (retries - 1));
    case 'geometric':
    case 'exponential':
      // p · k^n with p = MIN/k is MIN · k^(n−1): the same series under both names. The last delay is set, because a
      // power only approximates it.
      return n === retries
        ? maximum
        : withoutRootError(minimum * (maximum / minimum) ** ((n - 1) / (retries - 1)));
    case 'capped_exponential':
      return minimum * policy.backoff_exponent ** (n - 1);
  }
}

/** MIN + (MAX − MIN) · done/all. With integers only the division rounds, so whole results are exact. */
function interpolated(
  { minimum_delay: minimum, maximum_delay: maximum }: RetryPolicy,
  done: number,
  all: number,
): number {
  return done === all ? maximum : (minimum * (all - done) + maximum * done) / all;
}

/** Removes the rounding error of a root: 1, 10, 100 instead of 1, 9.999999999999998, 100. */
function withoutRootError(delay: number): number {
  const nearest = Math.round(delay);
  return Math.abs(delay - nearest) <= nearest * 1e-12 ? nearest : delay;
}
