import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS, OVERDUE_AFTER_SECONDS } from '../domain/delivery/lease.ts';
import { completePolicySchema } from '../domain/retry/policy.ts';
import { parseDefaultRetryPolicy } from '../domain/retry/policy-schema.ts';
import { parsePortRange } from '../domain/subscription/subscriber-url.ts';
import { RETAINED_MESSAGES } from '../domain/vocabulary.ts';
import {
  everyFunction,
  ingressRoutes,
  tokenScopes,
  flag,
  listOf,
  listOfEach,
  matching,
  numberBetween,
  oneOf,
  type Setting,
  type Variable,
  valueOf,
  wholeNumber,
} from './rules.ts';

const jsonObject = z.preprocess(valueOf, z.record(z.string(), z.unknown(), 'must be a JSON object'));

const partialPolicy = jsonObject
  .transform((given, context) => {
    const parsed = parseDefaultRetryPolicy(given);
    if (parsed.ok) return parsed.policy;
    for (const { field, message } of parsed.fields) {
      context.issues.push({ code: 'custom', path: [field], message, input: given });
    }
    return z.NEVER;
  })
  .describe('a [retry policy](policy.md), JSON; what it leaves out comes from the default');

/** A single port may be a number. */
function portsOf(given: unknown): unknown {
  return [listOf(given)].flat().map((port: unknown) => (typeof port === 'number' ? String(port) : port));
}

const ports = z
  .preprocess(
    portsOf,
    z
      .array(matching((text) => parsePortRange(text) !== undefined, 'a port, or a range such as 8000-9000'))
      .max(20, 'must be at most 20 ports and ranges'),
  )
  .describe('up to 20 ports and ranges with commas between, such as `443,8000-9000`');

const PUBLIC_URL =
  'an http or https URL of at most 200 characters without a query, a fragment or a slash at its end';

function isPublicUrl(text: string): boolean {
  const filled = text.replaceAll('{host}', 'host').replaceAll('{apiId}', 'id');
  return text.length <= 200 && /^https?:\/\/[^\s?#{}]*[^\s?#{}/]$/.test(filled) && URL.canParse(filled);
}

/**
 * The settings that functions get. A new one is a row here and its reader; docs/settings.md is generated. Settings that only
 * the deployment takes are in infra/deployment-settings.ts.
 */
export const functionSettings = {
  deployment: {
    rule: matching(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'a letter, then up to 63 letters, digits and hyphens'),
    default: 'Posthaste',
    description: 'Prefix of the names of the stacks, and name of this deployment in logs and metrics.',
    variable: 'DEPLOYMENT',
    functions: everyFunction,
  },
  attemptTimeoutSeconds: {
    rule: wholeNumber('seconds', ATTEMPT_TIMEOUT_SECONDS.least, ATTEMPT_TIMEOUT_SECONDS.most),
    default: ATTEMPT_TIMEOUT_SECONDS.default,
    description: 'How long one attempt may take in all.',
    variable: 'ATTEMPT_TIMEOUT_SECONDS',
    functions: ['deliver'],
  },
  schedulerThreshold: {
    rule: wholeNumber('seconds', 0, 900),
    default: 90,
    description:
      'Delays from this on go by EventBridge Scheduler, shorter ones by SQS. Under 65 a retry may come late.',
    variable: 'SCHEDULER_THRESHOLD_SECONDS',
    functions: ['deliver'],
  },
  subscriptionCacheSeconds: {
    rule: wholeNumber('seconds', 0, 300),
    default: 5,
    description: 'How old a list of subscriptions may be at a first attempt.',
    variable: 'SUBSCRIPTION_CACHE_SECONDS',
    functions: ['dispatch', 'deliver'],
  },
  defaultRetryPolicy: {
    rule: partialPolicy,
    default: {},
    unset: 'as in [policy.md](policy.md)',
    description:
      'The retry policy where neither queue nor subscription has one; it also completes partial ones.',
    variable: 'DEFAULT_RETRY_POLICY',
    functions: ['deliver', 'api'],
    read: jsonObject.pipe(completePolicySchema),
  },
  retryAfterCapSeconds: {
    rule: wholeNumber('seconds', 0, 86_400),
    default: 3600,
    description: "How much later than the policy says a subscriber's `Retry-After` may move an attempt.",
    variable: 'RETRY_AFTER_CAP_SECONDS',
    functions: ['dispatch', 'deliver', 'operate', 'api'],
  },
  retentionDays: {
    // SQS keeps a message for 14 days at most, and a record has to outlive it.
    rule: wholeNumber('days', 15, 3650),
    default: 30,
    description: 'How long a record outlives its last event.',
    variable: 'RETENTION_DAYS',
    functions: everyFunction,
  },
  retainMessages: {
    rule: oneOf(...RETAINED_MESSAGES),
    default: 'failed',
    description: 'Whose data is kept: that of messages that failed somewhere, or of all.',
    variable: 'RETAIN_MESSAGES',
    functions: ['dispatch'],
  },
  firstAttemptsPerJob: {
    rule: wholeNumber('subscriptions', 1, 25),
    default: 10,
    description:
      'About how many subscriptions of a message are attempted together and recorded together. With 1 each is attempted by itself, which [costs more](performance.md#cost-of-a-million-deliveries) and [isolates subscribers](guarantees.md#who-is-isolated-from-whom).',
    variable: 'FIRST_ATTEMPTS_PER_JOB',
    functions: ['dispatch'],
  },
  overdueAfterSeconds: {
    rule: wholeNumber('seconds', 5, 900),
    default: OVERDUE_AFTER_SECONDS,
    description: 'How long past due a retry is before `reconcile` wakes it.',
    variable: 'OVERDUE_AFTER_SECONDS',
    functions: ['reconcile', 'api'],
  },
  disableFailingAfterDays: {
    rule: numberBetween(0, 365),
    default: 5,
    description:
      'Days without a success, with 30 failures counted (ten of them a twentieth of this apart), after which a subscription is disabled as `failing`; also parts of a day. 0 means never.',
    variable: 'DISABLE_FAILING_AFTER_DAYS',
    functions: ['deliver'],
  },
  allowedAddresses: {
    rule: listOfEach(
      z.union([z.cidrv4(), z.cidrv6()], 'must be a CIDR range, such as 10.0.0.0/8 or fd00::/8'),
      'CIDR ranges with commas between, such as 10.0.0.0/8,fd00::/8',
    ),
    default: [],
    unset: 'none',
    longest: 500,
    description: 'Where subscribers may be though it is not public.',
    variable: 'ALLOWED_ADDRESSES',
    functions: ['deliver', 'api'],
  },
  allowedPorts: {
    rule: ports,
    default: [],
    unset: 'any',
    description: 'Ports [that subscribers may be at](design.md#9-security).',
    variable: 'ALLOWED_PORTS',
    functions: ['deliver', 'api'],
  },
  subscriptionConfirmation: {
    rule: flag(),
    default: false,
    description:
      'Every new subscriber is [asked to confirm](api.md#confirmation) before it gets anything. A queue can ask for it by itself, with `_confirm_subscriptions` in its metadata.',
    variable: 'SUBSCRIPTION_CONFIRMATION',
    functions: ['api'],
  },
  maxSubscriptionsPerQueue: {
    rule: wholeNumber('subscriptions', 1, 1_000_000),
    default: 100_000,
    description:
      'How many subscriptions a queue takes (409 beyond): each message of the queue has dispatch read them all. Deleted ones count for up to 45 minutes, those that ended by `ttl` until DynamoDB removes them, within days.',
    variable: 'MAX_SUBSCRIPTIONS_PER_QUEUE',
    functions: ['api'],
  },
  maxSubscriptionMegabytesPerQueue: {
    rule: wholeNumber('megabytes', 1, 250),
    default: 64,
    description: 'How much they may be in all (409 beyond).',
    variable: 'MAX_SUBSCRIPTION_MEGABYTES_PER_QUEUE',
    functions: ['api'],
  },
  publicApiUrl: {
    rule: matching(isPublicUrl, PUBLIC_URL).optional().describe(PUBLIC_URL),
    unset: "the API's own domain",
    description:
      'Where subscribers reach the API to confirm: a custom domain with its base path. `{host}` and `{apiId}` stand for those of the request that subscribes.',
    variable: 'PUBLIC_API_URL',
    functions: ['api'],
  },
  jwtScopes: {
    rule: tokenScopes.optional(),
    unset: 'none: each token may do everything',
    longest: 500,
    description:
      'With `jwt`: the scope that a token needs to look, to publish, to change things, and to [export credentials](api.md#with-tokens).',
    variable: 'JWT_SCOPES',
    functions: ['api'],
  },
  jwtQueuesClaim: {
    rule: matching(/^[\w:./-]{1,100}$/, 'the name of a claim').optional(),
    unset: 'none: each token is for all queues',
    description:
      'With `jwt`: the claim that [names the queues](api.md#with-tokens) which the holder of a token may touch, `*` for all.',
    variable: 'JWT_QUEUES_CLAIM',
    functions: ['api'],
  },
  ingressRoutes: {
    rule: ingressRoutes,
    default: {},
    unset: 'none',
    longest: 1500,
    description:
      '[Queue of an event](ingress.md#ingressroutes) that names none, by its source, detail-type or topic. A list for the ARN of a topic: its messages go to these queues and no others.',
    variable: 'INGRESS_ROUTES',
    functions: ['dispatch'],
  },
  logLevel: {
    rule: oneOf('debug', 'info', 'warn', 'error'),
    default: 'info',
    description:
      'The least that is [logged](operations.md#the-log). Metrics and the audit trail do not depend on it.',
    variable: 'LOG_LEVEL',
    functions: everyFunction,
  },
  logSuccessSampling: {
    rule: numberBetween(0, 1),
    default: 1,
    description:
      'Which share of the messages that get through at the first try is logged, chosen by id, so that a message is logged from its acceptance to its delivery or not at all. Failures always are.',
    variable: 'LOG_SUCCESS_SAMPLING',
    functions: everyFunction,
  },
} satisfies Record<string, Setting & Variable>;
