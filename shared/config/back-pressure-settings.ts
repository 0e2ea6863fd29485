import { flag, optionalFlag, type Setting, type Variable, wholeNumber } from './rules.ts';

/** How deliver treats subscribers that throttle or are down (docs/retry-policy.md#back-pressure). */
export const backPressureSettings = {
  retryAfterCapSeconds: {
    rule: wholeNumber('seconds', 0, 86_400),
    default: 3600,
    description: "Maximum delay that a subscriber's `Retry-After` can impose on a retry.",
    variable: 'RETRY_AFTER_CAP_SECONDS',
    functions: ['dispatch', 'deliver', 'operate', 'api', 'secrets'],
  },
  adaptToThrottling: {
    rule: optionalFlag(),
    unset: 'as `backPressure`',
    description:
      'Whether all requests of a subscriber that throttles are [slowed down](retry-policy.md#back-pressure) to what it takes. A queue or subscription can set it for itself.',
    variable: 'ADAPT_TO_THROTTLING',
    functions: ['deliver', 'api'],
  },
  holdWhileDown: {
    rule: optionalFlag(),
    unset: 'as `backPressure`',
    description:
      'Whether a subscriber that is down gets [one probe at a time](retry-policy.md#back-pressure), while its deliveries wait. A queue or subscription can set it for itself.',
    variable: 'HOLD_WHILE_DOWN',
    functions: ['deliver', 'api'],
  },
  backPressure: {
    rule: flag(),
    default: false,
    description:
      'Former name of both `adaptToThrottling` and `holdWhileDown`: `true` turns on those that are not set.',
    variable: 'BACK_PRESSURE',
    functions: ['deliver', 'api'],
  },
  circuitRequests: {
    rule: wholeNumber('deliveries', 1, 1_000),
    default: 10,
    description: 'Without effect. Earlier versions opened circuits by it.',
    variable: 'CIRCUIT_REQUESTS',
    functions: ['deliver'],
  },
  circuitFailurePercent: {
    rule: wholeNumber('percent', 1, 100),
    default: 70,
    description: 'Without effect. Earlier versions opened circuits by it.',
    variable: 'CIRCUIT_FAILURE_PERCENT',
    functions: ['deliver'],
  },
  circuitWindowSeconds: {
    rule: wholeNumber('seconds', 1, 300),
    default: 30,
    description: 'Without effect. Earlier versions opened circuits by it.',
    variable: 'CIRCUIT_WINDOW_SECONDS',
    functions: ['deliver'],
  },
  retryThrottled: {
    rule: flag(),
    default: false,
    description:
      'Whether `retry_on_status` of every policy includes 429. The option `retry_throttled` of a subscription overrides it.',
    variable: 'RETRY_THROTTLED',
    functions: ['deliver', 'api'],
  },
} satisfies Record<string, Setting & Variable>;
