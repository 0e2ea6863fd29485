import * as z from 'zod';
import type { FieldError } from '../errors.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  isPresetName,
  type PartialRetryPolicy,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
  unknownPreset,
} from './policy.ts';
import { totalSeconds } from './schedule.ts';
import { BACKOFF_FUNCTIONS, JITTERS, POLICY_PRESETS } from './vocabulary.ts';

const DAY_SECONDS = 86_400;

/**
 * Bounds a schedule: a delivery's record must outlive it, and a typo must not cause years of retries
 * (docs/retry-policy.md#limits).
 */
const MAXIMUM_DELAY_LIMIT_SECONDS = 7 * DAY_SECONDS;
const SCHEDULE_LIMIT_SECONDS = 15 * DAY_SECONDS;
const RETRIES_LIMIT = 100;

/**
 * Longest duration of a delivery, in milliseconds: the longest schedule, with each retry delayed by the Retry-After
 * cap.
 */
export function longestScheduleMs(retryAfterCapMs: number): number {
  return SCHEDULE_LIMIT_SECONDS * 1000 + RETRIES_LIMIT * retryAfterCapMs;
}

/** Field name for errors about the whole policy. */
export const WHOLE_POLICY = '_retry_policy';

const COUNTS = [
  'retries_with_no_delay',
  'minimum_delay_retries',
  'backoff_retries',
  'maximum_delay_retries',
] as const;

const SCHEDULE_FIELDS = [
  ...COUNTS,
  'minimum_delay',
  'maximum_delay',
  'retry_backoff_function',
  'backoff_exponent',
] as const;

/**
 * Errors that depend on several fields of a policy. `wrong`: fields already reported; checks that need their values
 * are skipped, because they would use defaults that the user did not choose.
 */
function limitErrors(
  given: PartialRetryPolicy,
  defaults: RetryPolicy,
  wrong: ReadonlySet<string>,
): FieldError[] {
  const policy = { ...defaults, ...given };
  const order = wrong.has('minimum_delay') || wrong.has('maximum_delay') ? [] : orderErrors(policy, given);
  const count = countErrors(policy, wrong);
  const schedulable =
    order.length === 0 && count.length === 0 && !SCHEDULE_FIELDS.some((field) => wrong.has(field));
  return [...order, ...count, ...(schedulable ? lengthErrors(policy) : [])];
}

function orderErrors(policy: RetryPolicy, given: PartialRetryPolicy): FieldError[] {
  const { minimum_delay, maximum_delay } = policy;
  if (maximum_delay >= minimum_delay) return [];
  const named = (field: 'minimum_delay' | 'maximum_delay'): string =>
    given[field] === undefined ? `${policy[field]} by default` : `${policy[field]}`;
  const message = `must not be below minimum_delay: it is ${named('maximum_delay')}, minimum_delay is ${named('minimum_delay')}`;
  return [{ field: 'maximum_delay', message }];
}

function countErrors(policy: RetryPolicy, wrong: ReadonlySet<string>): FieldError[] {
  const counts = COUNTS.filter((field) => !wrong.has(field)).map((field) => policy[field]);
  const retries = counts.reduce((sum, count) => sum + count, 0);
  if (retries <= RETRIES_LIMIT) return [];
  const message = `must not exceed ${RETRIES_LIMIT} retries in total: ${counts.join(' + ')} = ${retries}, including defaults`;
  return [{ field: WHOLE_POLICY, message }];
}

/** Rounding tolerance for a sum of up to 100 fractions, so that a schedule of exactly the limit is accepted. */
const ROUNDING_SECONDS = 1e-6;

function lengthErrors(policy: RetryPolicy): FieldError[] {
  const seconds = totalSeconds(policy);
  if (seconds <= SCHEDULE_LIMIT_SECONDS + ROUNDING_SECONDS) return [];
  const message = `must not exceed 15 days (${SCHEDULE_LIMIT_SECONDS} s) in total: it takes ${Math.ceil(seconds)} s, including defaults`;
  return [{ field: WHOLE_POLICY, message }];
}

/** Not `z.int`, which rejects unsafe integers: those are reported as exceeding the limits of the whole policy. */
function integer(rule: string, minimum: number) {
  return z.number(rule).refine(Number.isInteger, rule).min(minimum, rule).meta({ type: 'integer' });
}

function oneOf<const Word extends string>(words: readonly Word[]) {
  return z.enum(words, `must be one of ${words.join(', ')}`);
}

const retries = integer('must be an integer, 0 or more', 0);
const minimumDelay = integer('must be an integer number of seconds, 1 or more', 1);
const maximumDelayRule = `must be an integer number of seconds, 1 to ${MAXIMUM_DELAY_LIMIT_SECONDS} (7 days)`;
const maximumDelay = integer(maximumDelayRule, 1).max(MAXIMUM_DELAY_LIMIT_SECONDS, maximumDelayRule);
const exponentRule = 'must be a number greater than 1';
const statusRule = 'must be a list of integers, each 300 to 499';
const retriedStatus = integer(statusRule, 300)
  .max(499, statusRule)
  .refine(
    (status) => status !== 410,
    'must not contain 410: a subscriber that answers 410 Gone is disabled, not retried',
  )
  .meta({ type: 'integer', not: { const: 410 } });

/** Bounds of each field, and the error messages that callers see. */
const RULES = {
  retries_with_no_delay: retries.exactOptional(),
  minimum_delay_retries: retries.exactOptional(),
  minimum_delay: minimumDelay.exactOptional(),
  maximum_delay: maximumDelay.exactOptional(),
  maximum_delay_retries: retries.exactOptional(),
  retry_backoff_function: oneOf(BACKOFF_FUNCTIONS).exactOptional(),
  ignore_subscription_override: z.boolean('must be true or false').exactOptional(),
  backoff_retries: retries.exactOptional(),
  backoff_exponent: z.number(exponentRule).gt(1, exponentRule).exactOptional(),
  jitter: oneOf(JITTERS).exactOptional(),
  retry_on_status: z
    .array(retriedStatus, statusRule)
    .overwrite((statuses) => [...new Set(statuses)])
    .exactOptional(),
} satisfies Record<keyof RetryPolicy, z.ZodType>;

const POLICY_RULE = 'must be an object or the name of a preset';

/** A user's policy, checked field by field; `parseRetryPolicy` also checks it as a whole. */
export const retryPolicySchema = z.strictObject(RULES, POLICY_RULE);

/** For the OpenAPI document: what `parseRetryPolicy` accepts. */
export const policyOrPresetSchema = z.union([
  z.enum(POLICY_PRESETS).meta({ description: 'A preset, stored as the full policy.' }),
  retryPolicySchema,
]);

type Refused = { ok: false; fields: FieldError[] };

/**
 * Checks a user's policy, or expands the name of a preset. A policy is checked field by field, then as a whole after completing it from the defaults
 * (docs/retry-policy.md#which-policy-is-in-force). Reports each wrong field once, in field order; errors about the whole
 * policy come last, as `_retry_policy`.
 */
export function parseRetryPolicy(
  input: unknown,
  defaults: RetryPolicy = DEFAULT_RETRY_POLICY,
): { ok: true; policy: PartialRetryPolicy } | Refused {
  if (typeof input === 'string') return parsePreset(input);
  const parsed = retryPolicySchema.safeParse(input);
  const wrong = parsed.success ? [] : toFieldErrors(parsed.error);
  const names = new Set(wrong.map(({ field }) => field));
  const right = parsed.success ? parsed.data : parseValidFields(input, names);
  const fields = [...wrong, ...limitErrors(right, defaults, names)];
  return fields.length === 0 ? { ok: true, policy: right } : { ok: false, fields };
}

function parsePreset(name: string): { ok: true; policy: RetryPolicy } | Refused {
  if (isPresetName(name)) return { ok: true, policy: RETRY_POLICY_PRESETS[name] };
  return { ok: false, fields: [{ field: WHOLE_POLICY, message: `${POLICY_RULE}. ${unknownPreset(name)}` }] };
}

/** Parses the deployment's default policy; missing fields come from `DEFAULT_RETRY_POLICY`. */
export function parseDefaultRetryPolicy(input: unknown): { ok: true; policy: RetryPolicy } | Refused {
  const parsed = parseRetryPolicy(input);
  return parsed.ok
    ? { ok: true, policy: completeRetryPolicy(parsed.policy, DEFAULT_RETRY_POLICY).policy }
    : parsed;
}

function parseValidFields(input: unknown, wrong: ReadonlySet<string>): PartialRetryPolicy {
  if (typeof input !== 'object' || input === null) return {};
  const right = retryPolicySchema.safeParse(
    Object.fromEntries(Object.entries(input).filter(([field]) => !wrong.has(field))),
  );
  return right.success ? right.data : {};
}

function toFieldErrors(error: z.ZodError): FieldError[] {
  const messages = new Map<string, Set<string>>();
  for (const { field, message } of error.issues.flatMap(errorsOfIssue)) {
    messages.set(field, (messages.get(field) ?? new Set()).add(message));
  }
  return [...messages].map(([field, all]) => ({ field, message: [...all].join('; ') }));
}

function errorsOfIssue(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((field) => ({ field, message: 'is not a field of a retry policy' }));
  }
  const [field = WHOLE_POLICY] = issue.path;
  return [{ field: String(field), message: issue.message }];
}
