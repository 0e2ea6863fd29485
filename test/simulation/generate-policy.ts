import { BACKOFF_FUNCTIONS } from '../../shared/domain/vocabulary.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Chance } from '../support/chance.ts';

/** Seconds of [minimum_delay, maximum_delay]: mostly by SQS, some by Scheduler, a few over days. */
const delays = (chance: Chance): [number, number] => {
  const dice = chance.next();
  if (dice < 0.5) return range(chance, 1, 20, 60);
  if (dice < 0.92) return range(chance, 5, 200, 1_500);
  return range(chance, 60, 4_000, 100_000);
};

const range = (chance: Chance, least: number, middle: number, most: number): [number, number] => {
  const minimum = chance.int(least, middle);
  return [minimum, chance.int(minimum, most)];
};

/** A complete policy of few retries, at most a dozen, so that a scenario is short. */
export const generatePolicy = (chance: Chance): RetryPolicy => {
  const [minimum_delay, maximum_delay] = delays(chance);
  return {
    retries_with_no_delay: chance.int(0, 2),
    minimum_delay_retries: chance.int(0, 2),
    minimum_delay,
    maximum_delay,
    maximum_delay_retries: chance.int(0, 2),
    retry_backoff_function: chance.pick(BACKOFF_FUNCTIONS),
    ignore_subscription_override: chance.happens(0.1),
    backoff_retries: chance.int(0, 4),
    backoff_exponent: chance.pick([1.5, 2, 3]),
    jitter: chance.pick(['none', 'none', 'none', 'full', 'equal'] as const),
    retry_on_status: chance.pick([[], [], [404, 429], [301, 408, 425, 429]]),
  };
};

/** As a user gives it: everything, a part of it, or nothing but the fact that there is one. */
export const generatePartialPolicy = (chance: Chance): PartialRetryPolicy => {
  const policy = generatePolicy(chance);
  const dice = chance.next();
  if (dice < 0.6) return policy;
  if (dice < 0.7) return {};
  const { minimum_delay, maximum_delay, retries_with_no_delay, backoff_retries } = policy;
  return dice < 0.85 ? { minimum_delay, maximum_delay } : { retries_with_no_delay, backoff_retries };
};
