import { POLICY_PRESETS, type PresetName } from './vocabulary.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './policy.ts';

/** Refusals that usually pass: timeout, too early, too many requests. */
const PASSING_REFUSALS = [408, 425, 429];

/**
 * Complete policies by name (docs/retry-policy.md#presets). A name is replaced by its policy when it is accepted, so
 * that a changed preset leaves stored policies as they are.
 */
export const RETRY_POLICY_PRESETS: Readonly<Record<PresetName, RetryPolicy>> = {
  /** Gives up after a minute: at once, then 2, 4, 8, 16 and 30 s. */
  quick: {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 2,
    maximum_delay: 30,
    maximum_delay_retries: 0,
    retry_backoff_function: 'capped_exponential',
    ignore_subscription_override: false,
    backoff_retries: 5,
    backoff_exponent: 2,
    jitter: 'none',
    retry_on_status: PASSING_REFUSALS,
  },
  default: DEFAULT_RETRY_POLICY,
  /**
   * The example schedule of the Standard Webhooks specification, "Deliverability and reliability": 5 s, 5 min, 30 min,
   * 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, with jitter. As near as four phases come: at once, 5 min, 56 min, 2.6 h, 5.2 h,
   * 8.6 h, 12.9 h, 18 h and 24 h, each shortened by up to half. The specification retries every status except 410;
   * this policy lists the common ones, because each delivery stores them.
   */
  'standard-webhooks': {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 300,
    maximum_delay: 86_400,
    maximum_delay_retries: 0,
    retry_backoff_function: 'arithmetic',
    ignore_subscription_override: false,
    backoff_retries: 8,
    backoff_exponent: 2,
    jitter: 'equal',
    retry_on_status: [400, 401, 403, 404, 405, 408, 409, 422, 423, 425, 429],
  },
  /**
   * Tries for three days, which is the mean with jitter: at once, 5 s doubling to 2 h 51 min, then every 4 h. An
   * endpoint that comes back is called within 4 h.
   */
  patient: {
    retries_with_no_delay: 1,
    minimum_delay_retries: 0,
    minimum_delay: 5,
    maximum_delay: 14_400,
    maximum_delay_retries: 23,
    retry_backoff_function: 'capped_exponential',
    ignore_subscription_override: false,
    backoff_retries: 12,
    backoff_exponent: 2,
    jitter: 'equal',
    retry_on_status: PASSING_REFUSALS,
  },
};

export function isPresetName(text: string): text is PresetName {
  return POLICY_PRESETS.some((name) => name === text);
}

/** A sentence for a name that is no preset. Quotes only what looks like a name: anything else may be secret. */
export function unknownPreset(text: string): string {
  const sentence = /^[A-Za-z][\w-]{0,31}$/.test(text) ? `There is no preset ${text}. ` : '';
  return `${sentence}Presets: ${POLICY_PRESETS.join(', ')}`;
}
