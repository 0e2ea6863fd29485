import { z } from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS, OVERDUE_AFTER_SECONDS } from '../../shared/domain/delivery/lease.ts';
import { RETAINED_MESSAGES } from '../../shared/domain/vocabulary.ts';
import { parseDefaultRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import { parsePortRange } from '../../shared/domain/subscription/subscriber-url.ts';
import { listOf, oneOf, valueOf, wholeNumber } from './rules.ts';

/** A function's whole environment is at most 4 KB (AWS Lambda quotas), so a setting of free length is bounded. */
const LONGEST_ADDRESSES = 500;

const CIDR_RULE = 'must be a list of CIDR ranges, such as 10.0.0.0/8,fd00::/8';
/** For the same reason. */
const MOST_PORT_RANGES = 20;

const PORT_RULE = 'is neither a port, such as 443, nor a range of ports, such as 8000-9000';
const DAYS_RULE = 'must be a number of days from 0 to 365';

/** A single port is read as a number. */
function portsOf(given: unknown): unknown {
  const value = listOf(given);
  return [value].flat().map((port: unknown) => (typeof port === 'number' ? String(port) : port));
}

/** How deliveries are attempted, retried and kept. */
export const deliverySettings = {
  /** Seconds that one attempt may take in all, 1 to 30. Default 15. */
  attemptTimeoutSeconds: wholeNumber(
    'seconds',
    ATTEMPT_TIMEOUT_SECONDS.least,
    ATTEMPT_TIMEOUT_SECONDS.most,
  ).default(ATTEMPT_TIMEOUT_SECONDS.default),
  /** Delays in seconds from this on go by EventBridge Scheduler, shorter ones by SQS, 0 to 900. Default 90. */
  schedulerThreshold: wholeNumber('seconds', 0, 900).default(90),
  /** How old, in seconds, a list of subscriptions may be for a first attempt, 0 to 300. Default 5. */
  subscriptionCacheSeconds: wholeNumber('seconds', 0, 300).default(5),
  /** Days that a record outlives its last event; 15 at least, longer than SQS can keep a message. Default 30. */
  retentionDays: wholeNumber('days', 15, 3650).default(30),
  /** Which messages' bodies are kept: those with a `failed` attempt, or `all`. Default `failed`. */
  retainMessages: oneOf(...RETAINED_MESSAGES).default('failed'),
  /**
   * How many subscriptions of a message one job is for, about, 1 to 25: their first attempts are made side by side, under one
   * claim, and those that succeed are on record together. 1: each delivery by itself. Default 10.
   */
  firstAttemptsPerJob: wholeNumber('subscriptions', 1, 25).default(10),
  /** The retry policy where neither queue nor subscription has one; it also completes partial ones. JSON. */
  defaultRetryPolicy: z
    .preprocess(valueOf, z.record(z.string(), z.unknown(), 'must be a JSON object'))
    .prefault({})
    .transform((given, context) => {
      const parsed = parseDefaultRetryPolicy(given);
      if (parsed.ok) return parsed.policy;
      for (const { field, message } of parsed.fields) {
        context.issues.push({ code: 'custom', path: [field], message, input: given });
      }
      return z.NEVER;
    }),
  /** How much later than the policy says a subscriber's Retry-After may move an attempt, in seconds, to a day. Default 3600. */
  retryAfterCapSeconds: wholeNumber('seconds', 0, 86_400).default(3600),
  /**
   * Days without a success, and with 30 failures counted (ten of them a twentieth of this apart), after which a
   * subscription is disabled as `failing`: 0 to 365, also a part of a day. 0: never. Default 5.
   */
  disableFailingAfterDays: z
    .preprocess(valueOf, z.number(DAYS_RULE).min(0, DAYS_RULE).max(365, DAYS_RULE))
    .default(5),
  /** How long past due, in seconds, a retry is before reconcile wakes it, 5 to 900. Default 30. */
  overdueAfterSeconds: wholeNumber('seconds', 5, 900).default(OVERDUE_AFTER_SECONDS),
  /** CIDR ranges that subscribers may be at though they are not public. Default none. */
  allowedAddresses: z
    .preprocess(
      listOf,
      z
        .array(z.union([z.cidrv4(), z.cidrv6()], 'is no CIDR range'), CIDR_RULE)
        .refine((ranges) => JSON.stringify(ranges).length <= LONGEST_ADDRESSES, {
          error: `must be at most ${LONGEST_ADDRESSES} characters in all`,
        }),
    )
    .default([]),
  /** Ports that subscribers may be at, and ranges of them, such as 443,8000-9000. Default any. */
  allowedPorts: z
    .preprocess(
      portsOf,
      z
        .array(z.string(PORT_RULE).refine((text) => parsePortRange(text) !== undefined, PORT_RULE))
        .max(MOST_PORT_RANGES, `must be at most ${MOST_PORT_RANGES} ports and ranges`),
    )
    .default([]),
};
