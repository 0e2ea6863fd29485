export type BackoffFunction = 'linear' | 'arithmetic' | 'geometric' | 'exponential' | 'capped_exponential';
export type Jitter = 'none' | 'full' | 'equal';

/** A retry policy with every key present (design §3). Delays are seconds. */
export type RetryPolicy = {
  retries_with_no_delay: number;
  minimum_delay_retries: number;
  minimum_delay: number;
  maximum_delay: number;
  maximum_delay_retries: number;
  retry_backoff_function: BackoffFunction;
  ignore_subscription_override: boolean;
  backoff_retries: number;
  backoff_exponent: number;
  jitter: Jitter;
  retry_on_status: number[];
};

/** A policy as a user gave it: validated, not yet completed from the defaults. */
export type PartialRetryPolicy = Partial<RetryPolicy>;
