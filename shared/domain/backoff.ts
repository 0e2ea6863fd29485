import type { BackoffFunction } from './retry-policy.ts';

/** From `minimum` to `maximum` seconds, 0 < minimum ≤ maximum, in `retries` steps; `exponent` > 1 is capped_exponential's. */
export type Backoff = {
  function: BackoffFunction;
  minimum: number;
  maximum: number;
  retries: number;
  exponent: number;
};

/**
 * The delays of the backoff phase in seconds (design §3). They start at `minimum` and end at `maximum` exactly,
 * capped_exponential at most there, and never decrease: whatever rounding does to a power, a delay stays between the one
 * before it and `maximum`.
 */
export const backoffDelays = (backoff: Backoff): number[] => {
  const delays: number[] = [];
  for (let n = 1; n <= backoff.retries; n += 1) {
    const floor = delays.at(-1) ?? backoff.minimum;
    // The series divide by retries − 1, and a single retry waits the minimum by definition.
    const delay = n === 1 ? backoff.minimum : delayBefore(n, backoff);
    delays.push(Math.min(backoff.maximum, Math.max(floor, delay)));
  }
  return delays;
};

const delayBefore = (n: number, backoff: Backoff): number => {
  const { minimum, maximum, retries, exponent } = backoff;
  switch (backoff.function) {
    case 'linear':
      return between(backoff, n - 1, retries - 1);
    case 'arithmetic':
      // n(n−1)/2 · d with d = 2(MAX − MIN)/(NUM(NUM−1)): the 2 cancels out.
      return between(backoff, n * (n - 1), retries * (retries - 1));
    case 'geometric':
    case 'exponential':
      // p · k^n with p = MIN/k is MIN · k^(n−1): one series under both names. A power would only come near the end.
      return n === retries ? maximum : whole(minimum * (maximum / minimum) ** ((n - 1) / (retries - 1)));
    case 'capped_exponential':
      return minimum * exponent ** (n - 1);
  }
};

/** MIN + (MAX − MIN) · done/all. Between integers the division is the only step that rounds, so whole results are exact. */
const between = ({ minimum, maximum }: Backoff, done: number, all: number): number =>
  done === all ? maximum : (minimum * (all - done) + maximum * done) / all;

/** Takes back what a root loses, so that 1, 10, 100 is not 1, 9.999999999999998, 100. */
const whole = (delay: number): number => {
  const nearest = Math.round(delay);
  return Math.abs(delay - nearest) <= nearest * 1e-12 ? nearest : delay;
};
