import { flag, type Setting, type Variable, wholeNumber } from './rules.ts';

/** How deliver treats subscribers that throttle or are down (docs/retry-policy.md#back-pressure). */
export const backPressureSettings = {
  retryAfterCapSeconds: {
    rule: wholeNumber('seconds', 0, 86_400),
    default: 3600,
    description: "Maximum delay that a subscriber's `Retry-After` can impose on a retry.",
    variable: 'RETRY_AFTER_CAP_SECONDS',
    functions: ['dispatch', 'deliver', 'operate', 'api'],
  },
  adaptToThrottling: {
    rule: flag(),
    default: false,
    description:
      'Whether all requests of a subscriber that throttles are [slowed down](retry-policy.md#back-pressure) to what it takes. A queue or subscription can set it for itself.',
    variable: 'ADAPT_TO_THROTTLING',
    functions: ['deliver'],
  },
  holdWhileDown: {
    rule: flag(),
    default: false,
    description:
      'Whether a subscriber that is down gets [one probe at a time](retry-policy.md#back-pressure), while its deliveries wait. A queue or subscription can set it for itself.',
    variable: 'HOLD_WHILE_DOWN',
    functions: ['deliver'],
  },
  backPressure: {
    rule: flag(),
    default: false,
    description: 'Former name of both `adaptToThrottling` and `holdWhileDown`: `true` turns them on.',
    variable: 'BACK_PRESSURE',
    functions: ['deliver'],
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
      'Whether a 429 is retried where the retry policy does not list it. The option `retry_throttled` of a subscription overrides it.',
    variable: 'RETRY_THROTTLED',
    functions: ['deliver'],
  },
} satisfies Record<string, Setting & Variable>;
