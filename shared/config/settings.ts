import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS, OVERDUE_AFTER_SECONDS } from '../domain/retry/attempt-duration.ts';
import { RETENTION_DAYS } from '../domain/retention.ts';
import { PORTAL_MAX_ENDPOINTS } from '../domain/portal/limits.ts';
import { MAX_PER_SECOND, MIN_PER_SECOND } from '../domain/subscription/rate-limit.ts';
import { EVENT_VALIDATIONS, RETAINED_MESSAGES } from '../domain/subscription/vocabulary.ts';
import {
  everyFunction,
  completedPolicy,
  ingressRoutes,
  tokenScopes,
  flag,
  hosts,
  listOfEach,
  matching,
  numberBetween,
  oneOf,
  optional,
  optionalFlag,
  origins,
  policyOrPreset,
  ports,
  publicUrl,
  type Setting,
  storingFunctions,
  type Variable,
  wholeNumber,
} from './rules.ts';

/**
 * Settings that functions read. A new one is a row here and its reader; docs/settings.md is generated. Settings for
 * the deployment only are in infra/deployment-settings.ts.
 */
export const functionSettings = {
  deployment: {
    rule: matching(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'a letter, then up to 63 letters, digits and hyphens'),
    default: 'Posthaste',
    description: 'Prefix of the stack names, and name of this deployment in logs and metrics.',
    variable: 'DEPLOYMENT',
    functions: everyFunction,
  },
  attemptTimeoutSeconds: {
    rule: wholeNumber('seconds', ATTEMPT_TIMEOUT_SECONDS.least, ATTEMPT_TIMEOUT_SECONDS.most),
    default: ATTEMPT_TIMEOUT_SECONDS.default,
    description: 'Maximum duration of one attempt. [A queue](api.md#queues) or a subscription can have less.',
    variable: 'ATTEMPT_TIMEOUT_SECONDS',
    functions: ['deliver', 'api'],
  },
  schedulerThreshold: {
    rule: wholeNumber('seconds', 0, 900),
    default: 90,
    description:
      'Delays of this length or longer use EventBridge Scheduler, shorter ones SQS. Below 65 s, retries may be late.',
    variable: 'SCHEDULER_THRESHOLD_SECONDS',
    functions: ['deliver'],
  },
  subscriptionCacheSeconds: {
    rule: wholeNumber('seconds', 0, 300),
    default: 5,
    description: 'Maximum age of the cached list of subscriptions that first attempts use.',
    variable: 'SUBSCRIPTION_CACHE_SECONDS',
    functions: ['dispatch', 'deliver', 'api'],
  },
  defaultRetryPolicy: {
    rule: policyOrPreset,
    default: {},
    unset: 'as in [retry-policy.md](retry-policy.md)',
    description: 'Retry policy for subscriptions and queues without one; also completes partial policies.',
    variable: 'DEFAULT_RETRY_POLICY',
    functions: ['deliver', 'api'],
    read: completedPolicy,
  },
  // How deliver treats subscribers that throttle or are down (docs/retry-policy.md#back-pressure).
  retryAfterCapSeconds: {
    rule: wholeNumber('seconds', 0, 86_400),
    default: 3600,
    description: "Maximum delay that a subscriber's `Retry-After` can impose on a retry.",
    variable: 'RETRY_AFTER_CAP_SECONDS',
    functions: ['dispatch', 'deliver', 'operate', 'api', 'secrets'],
  },
  adaptToThrottling: {
    rule: optionalFlag,
    unset: 'as `backPressure`',
    description:
      'Whether all requests of a subscriber that throttles are [slowed down](retry-policy.md#back-pressure) to what it takes. A queue or subscription can set it for itself.',
    variable: 'ADAPT_TO_THROTTLING',
    functions: ['deliver', 'api'],
  },
  holdWhileDown: {
    rule: optionalFlag,
    unset: 'as `backPressure`',
    description:
      'Whether a subscriber that is down gets [one probe at a time](retry-policy.md#back-pressure), while its deliveries wait. A queue or subscription can set it for itself.',
    variable: 'HOLD_WHILE_DOWN',
    functions: ['deliver', 'api'],
  },
  backPressure: {
    rule: flag,
    default: false,
    description:
      'Former name of both `adaptToThrottling` and `holdWhileDown`: `true` turns on those that are not set.',
    variable: 'BACK_PRESSURE',
    functions: ['deliver', 'api'],
  },
  circuitRequests: formerCircuitSetting('CIRCUIT_REQUESTS', wholeNumber('deliveries', 1, 1_000), 10),
  circuitFailurePercent: formerCircuitSetting('CIRCUIT_FAILURE_PERCENT', wholeNumber('percent', 1, 100), 70),
  circuitWindowSeconds: formerCircuitSetting('CIRCUIT_WINDOW_SECONDS', wholeNumber('seconds', 1, 300), 30),
  retryThrottled: {
    rule: flag,
    default: false,
    description:
      'Whether `retry_on_status` of every policy includes 429. The option `retry_throttled` of a subscription overrides it.',
    variable: 'RETRY_THROTTLED',
    functions: ['deliver', 'api'],
  },
  retentionDays: {
    rule: wholeNumber('days', RETENTION_DAYS.least, RETENTION_DAYS.most),
    default: 30,
    description: 'How long records are kept after their last event.',
    variable: 'RETENTION_DAYS',
    functions: storingFunctions,
  },
  archiveDays: {
    rule: wholeNumber('days', 0, RETENTION_DAYS.least - 1),
    default: 7,
    description:
      'How long a deleted queue or subscription can be [restored](api.md#restore), with its secrets and ids. 0: not at all.',
    variable: 'ARCHIVE_DAYS',
    functions: ['deliver', 'api'],
  },
  retainMessages: {
    rule: oneOf(...RETAINED_MESSAGES),
    default: 'failed',
    description:
      'Messages whose data is kept: those with a failed attempt or to a queue without a subscription, or all.',
    variable: 'RETAIN_MESSAGES',
    functions: ['dispatch'],
  },
  eventValidation: {
    rule: oneOf(...EVENT_VALIDATIONS),
    default: 'off',
    description:
      'Whether messages are checked against the [catalogue of event types](event-types.md#check-messages): not at all, with a note on each that does not fit, or with a dead letter. `_event_validation` of a queue overrides it.',
    variable: 'EVENT_VALIDATION',
    functions: ['dispatch', 'api'],
  },
  queueStatistics: {
    rule: flag,
    default: true,
    description:
      'Whether the functions count per queue and minute, for charts: [one write unit](cost-and-performance.md#cost) for each queue in an invocation, less when busy.',
    variable: 'QUEUE_STATISTICS',
    functions: ['dispatch', 'deliver', 'operate', 'api', 'secrets'],
  },
  attemptEvents: {
    rule: flag,
    default: false,
    description:
      'Whether each failed or rejected attempt sends an [operator event](operations.md#operator-events): $1 a million.',
    variable: 'ATTEMPT_EVENTS',
    functions: ['deliver', 'api'],
  },
  firstAttemptsPerJob: {
    rule: wholeNumber('subscriptions', 1, 25),
    default: 10,
    description:
      'Approximate number of subscriptions of a message that are attempted and recorded together. With 1, each is attempted separately, which [costs more](cost-and-performance.md#cost) and [isolates subscribers](concepts.md#isolation).',
    variable: 'FIRST_ATTEMPTS_PER_JOB',
    functions: ['dispatch'],
  },
  overdueAfterSeconds: {
    rule: wholeNumber('seconds', 5, 900),
    default: OVERDUE_AFTER_SECONDS,
    description: 'How long a retry must be overdue before `reconcile` wakes it.',
    variable: 'OVERDUE_AFTER_SECONDS',
    functions: ['reconcile', 'api'],
  },
  disableFailingAfterDays: {
    rule: numberBetween(0, 365),
    default: 5,
    description:
      'Days without a success after which a subscription is disabled as `failing`; fractions are allowed, 0 means never. Also requires 30 counted failures, the last ten at intervals of a twentieth of this time.',
    variable: 'DISABLE_FAILING_AFTER_DAYS',
    functions: ['deliver'],
  },
  allowedAddresses: {
    rule: listOfEach(
      z.union([z.cidrv4(), z.cidrv6()], 'must be a CIDR range, such as 10.0.0.0/8 or fd00::/8'),
      'comma-separated CIDR ranges, such as 10.0.0.0/8,fd00::/8',
    ),
    default: [],
    unset: 'none',
    longest: 500,
    description: 'Non-public addresses that subscribers may have.',
    variable: 'ALLOWED_ADDRESSES',
    functions: ['deliver', 'api'],
  },
  allowedPorts: {
    rule: ports,
    default: [],
    unset: 'any',
    description: 'Ports [that subscribers may use](security.md#address-guard).',
    variable: 'ALLOWED_PORTS',
    functions: ['deliver', 'api'],
  },
  subscriptionConfirmation: {
    rule: flag,
    default: false,
    description:
      'Every new subscriber must [confirm](api.md#confirmation) before it receives messages. A single queue can require this with `_confirm_subscriptions` in its metadata.',
    variable: 'SUBSCRIPTION_CONFIRMATION',
    functions: ['api'],
  },
  maxSubscriptionsPerQueue: {
    rule: wholeNumber('subscriptions', 1, 1_000_000),
    default: 100_000,
    description:
      'Maximum number of subscriptions of a queue (409 beyond), because dispatch reads all of them for each message. [A queue](api.md#queues) can have less. Deleted ones count for up to four hours, expired ones (`ttl`) until DynamoDB removes them, within days.',
    variable: 'MAX_SUBSCRIPTIONS_PER_QUEUE',
    functions: ['api'],
  },
  maxSubscriptionMegabytesPerQueue: {
    rule: wholeNumber('megabytes', 1, 250),
    default: 64,
    description: "Maximum total size of a queue's subscriptions (409 beyond).",
    variable: 'MAX_SUBSCRIPTION_MEGABYTES_PER_QUEUE',
    functions: ['api'],
  },
  publicApiUrl: {
    rule: optional(publicUrl),
    unset: "the API's default domain",
    description:
      'Base URL of the API in confirmation links, such as a custom domain with its base path. `{host}` and `{apiId}` are replaced by those of the subscribe request.',
    variable: 'PUBLIC_API_URL',
    functions: ['api'],
  },
  jwtScopes: {
    rule: optional(tokenScopes),
    unset: 'none: each token may do everything',
    longest: 500,
    description:
      'With `jwt`: the scopes that a token needs to read, to publish, to manage, and to [export credentials](api.md#with-tokens).',
    variable: 'JWT_SCOPES',
    functions: ['api', 'secrets'],
  },
  jwtQueuesClaim: {
    rule: optional(
      matching(/^[\w:./-]{1,100}$/, 'the name of a claim: up to 100 letters, digits and _ : . / -'),
    ),
    unset: 'none: each token is for all queues',
    description:
      'With `jwt`: the claim that [names the queues](api.md#with-tokens) a token gives access to, `*` for all.',
    variable: 'JWT_QUEUES_CLAIM',
    functions: ['api', 'secrets'],
  },
  portalTitle: {
    rule: optional(matching(/^[^\p{Cc}\p{Cf}]{1,60}$/u, 'text of 1 to 60 characters')),
    unset: 'Webhooks',
    description: 'With `portal`: the heading of its pages.',
    variable: 'PORTAL_TITLE',
    functions: ['api'],
  },
  portalAccent: {
    rule: optional(matching(/^#[0-9a-fA-F]{6}$/, 'a colour, such as #0a6cff')),
    unset: "the console's",
    description: 'With `portal`: the colour of its buttons and links.',
    variable: 'PORTAL_ACCENT',
    functions: ['api'],
  },
  portalFrameAncestors: {
    rule: optional(origins),
    unset: 'none',
    longest: 1000,
    description: 'With `portal`: sites that may show its pages [in a frame](portal.md#embed-it).',
    variable: 'PORTAL_FRAME_ANCESTORS',
    functions: ['portal'],
  },
  portalMaxEndpoints: {
    rule: optional(wholeNumber('endpoints', 1, 1_000)),
    unset: String(PORTAL_MAX_ENDPOINTS),
    description: 'With `portal`: the most endpoints of a queue (409 beyond) that a customer can add to.',
    variable: 'PORTAL_MAX_ENDPOINTS',
    functions: ['api'],
  },
  portalHosts: {
    rule: optional(hosts),
    unset: 'any',
    longest: 300,
    description: 'With `portal`: the hosts of endpoints of customers.',
    variable: 'PORTAL_HOSTS',
    functions: ['api'],
  },
  portalMaxPerSecond: {
    rule: optional(numberBetween(MIN_PER_SECOND, MAX_PER_SECOND)),
    unset: 'none',
    description:
      'With `portal`: the highest rate limit of endpoints of customers, and that of endpoints for which they choose none.',
    variable: 'PORTAL_MAX_PER_SECOND',
    functions: ['api'],
  },
  ingressRoutes: {
    rule: ingressRoutes,
    default: {},
    unset: 'none',
    longest: 1500,
    description:
      '[Queue for events](ingress.md#ingressroutes) that do not name one, by source, detail-type or topic. With a list for a topic ARN, its messages may only go to these queues.',
    variable: 'INGRESS_ROUTES',
    functions: ['dispatch'],
  },
  logLevel: {
    rule: oneOf('debug', 'info', 'warn', 'error'),
    default: 'info',
    description:
      'Minimum [log level](operations.md#the-log). Metrics and the audit trail do not depend on it.',
    variable: 'LOG_LEVEL',
    functions: everyFunction,
  },
  logSuccessSampling: {
    rule: numberBetween(0, 1),
    default: 1,
    description:
      'Share of messages logged if their first attempts succeed. Chosen by message id, so that a message is logged from acceptance to delivery or not at all. Failures are always logged.',
    variable: 'LOG_SUCCESS_SAMPLING',
    functions: everyFunction,
  },
  tracing: {
    rule: flag,
    default: false,
    description:
      'X-Ray traces, from the ingress queue to the last attempt, and `traceparent` for subscribers ([what they show and cost](operations.md#traces)).',
    variable: 'TRACING',
    functions: ['dispatch'],
  },
} satisfies Record<string, Setting & Variable>;

/** A setting that stays, so that what was configured for earlier versions can still be deployed. */
function formerCircuitSetting<Rule extends z.ZodType>(variable: string, rule: Rule, value: number) {
  const description = 'Without effect. Earlier versions opened circuits by it.';
  return { rule, default: value, description, variable, functions: ['deliver' as const] };
}
