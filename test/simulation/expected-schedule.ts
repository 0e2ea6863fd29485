import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';

/**
 * The delay in seconds before each retry, without jitter. Written from docs/retry-policy.md, independently of the code
 * under test.
 */
const expectedDelays = (policy: RetryPolicy): number[] => {
  const { minimum_delay: MIN, maximum_delay: MAX, backoff_retries: NUM } = policy;
  const delays: number[] = [];
  for (let i = 0; i < policy.retries_with_no_delay; i += 1) delays.push(0);
  for (let i = 0; i < policy.minimum_delay_retries; i += 1) delays.push(MIN);
  for (let n = 1; n <= NUM; n += 1) delays.push(NUM === 1 ? MIN : backoffDelay(policy, n));
  for (let i = 0; i < policy.maximum_delay_retries; i += 1) delays.push(MAX);
  return delays;
};

const backoffDelay = (policy: RetryPolicy, n: number): number => {
  const { minimum_delay: MIN, maximum_delay: MAX, backoff_retries: NUM } = policy;
  switch (policy.retry_backoff_function) {
    case 'linear':
      return MIN + ((MAX - MIN) / (NUM - 1)) * (n - 1);
    case 'arithmetic':
      return MIN + ((n * (n - 1)) / 2) * ((2 * (MAX - MIN)) / (NUM * (NUM - 1)));
    case 'geometric':
    case 'exponential':
      return MIN * Math.exp((Math.log(MAX / MIN) * (n - 1)) / (NUM - 1));
    case 'capped_exponential':
      return Math.min(MAX, MIN * policy.backoff_exponent ** (n - 1));
  }
};

export const retriesOf = (policy: RetryPolicy): number =>
  policy.retries_with_no_delay +
  policy.minimum_delay_retries +
  policy.backoff_retries +
  policy.maximum_delay_retries;

/** The bounds of a delay in milliseconds, including jitter. */
export const expectedDelayMs = (
  policy: RetryPolicy,
  retry: number,
): { least: number; most: number } | undefined => {
  const seconds = expectedDelays(policy)[retry - 1];
  if (seconds === undefined) return undefined;
  const least = { none: 1, equal: 0.5, full: 0 }[policy.jitter];
  return { least: seconds * 1000 * least, most: seconds * 1000 };
};

/** The delay requested by Retry-After, in milliseconds. Simulated receivers send whole seconds or nonsense. */
export const hintMs = (retryAfter: string | undefined, capMs: number): number =>
  retryAfter !== undefined && /^[0-9]+$/.test(retryAfter) ? Math.min(capMs, Number(retryAfter) * 1000) : 0;
