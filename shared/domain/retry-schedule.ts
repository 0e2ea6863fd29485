import type { Phase } from './attempt.ts';
import { backoffDelays } from './backoff.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** One retry of a round, numbered from 1: it starts `delaySeconds` after the failed attempt before it ended. */
export type Retry = { retry: number; phase: Exclude<Phase, 'initial' | 'manual'>; delaySeconds: number };

/** Every retry of a round, phase by phase (design §3). Exact seconds: neither rounded nor jittered. */
export const retrySchedule = (policy: RetryPolicy): Retry[] => {
  const inPhase = (phase: Retry['phase'], delays: readonly number[]): Omit<Retry, 'retry'>[] =>
    delays.map((delaySeconds) => ({ phase, delaySeconds }));
  return [
    ...inPhase('immediate', repeated(0, policy.retries_with_no_delay)),
    ...inPhase('pre_backoff', repeated(policy.minimum_delay, policy.minimum_delay_retries)),
    ...inPhase('backoff', backoffOf(policy)),
    ...inPhase('post_backoff', repeated(policy.maximum_delay, policy.maximum_delay_retries)),
  ].map((retry, index) => ({ retry: index + 1, ...retry }));
};

const repeated = (delaySeconds: number, times: number): number[] =>
  Array.from({ length: times }, () => delaySeconds);

const backoffOf = (policy: RetryPolicy): number[] =>
  backoffDelays({
    function: policy.retry_backoff_function,
    minimum: policy.minimum_delay,
    maximum: policy.maximum_delay,
    retries: policy.backoff_retries,
    exponent: policy.backoff_exponent,
  });

/** All delays of a round together, in seconds; the attempts themselves come on top. */
export const totalSeconds = (policy: RetryPolicy): number =>
  retrySchedule(policy).reduce((total, { delaySeconds }) => total + delaySeconds, 0);
