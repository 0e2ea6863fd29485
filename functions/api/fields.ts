import * as z from 'zod';
import { DAY_MS } from '../../shared/domain/duration.ts';
import { isJsonObject } from '../../shared/domain/json.ts';
import { MAX_TYPE_LENGTH } from '../../shared/domain/message/message.ts';
import { MAX_PER_SECOND, MIN_PER_SECOND } from '../../shared/domain/subscription/rate-limit.ts';
import { CONFIRMATION_TYPE } from '../../shared/domain/subscription/confirmation.ts';
import { WHOLE_POLICY, parseRetryPolicy } from '../../shared/domain/retry/policy-schema.ts';
import type { PartialRetryPolicy, RetryPolicy } from '../../shared/domain/retry/policy.ts';
import { invalidFields, refusedFields } from './errors.ts';
import type { FieldError } from '../../shared/domain/errors.ts';

/** A flag in a query, false by default. Upper case is accepted, because python-zaqarclient sends `True`. */
export const flag = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false'], 'must be true or false'))
  .default('false')
  .transform((text) => text === 'true')
  .meta({ override: { type: 'boolean', default: false } });

/** More is assumed to be a typing error, and the resulting time must be a valid date. */
export const TEN_YEARS_SECONDS = 315_360_000;

const RATE_RULE = `must be a number of requests a second from ${MIN_PER_SECOND} to ${MAX_PER_SECOND}`;

export const perSecondField = z
  .number(RATE_RULE)
  .min(MIN_PER_SECOND, RATE_RULE)
  .max(MAX_PER_SECOND, RATE_RULE);

export function seconds(minimum: number, maximum: number) {
  const rule = `must be an integer number of seconds from ${minimum} to ${maximum}`;
  return z.int(rule).min(minimum, rule).max(maximum, rule);
}

/** Excludes control characters and non-characters, which SQS or an HTTP header cannot carry. */
const PRINTABLE = /^[^\u0000-\u001f\u007f-\u009f\ufffe\uffff]*$/u;

const LONE_SURROGATE = /\p{Cs}/u;

export function printable(maxLength: number) {
  const rule = `must be text of 1 to ${maxLength} characters without control characters`;
  return z
    .string(rule)
    .min(1, rule)
    .max(maxLength, rule)
    .regex(PRINTABLE, rule)
    .refine((text) => !LONE_SURROGATE.test(text), rule);
}

export const messageType = printable(MAX_TYPE_LENGTH);

/** The type of a published message. Excludes the type that confirmation requests have. */
export const publishedType = messageType.refine(
  (type) => type !== CONFIRMATION_TYPE,
  'is reserved for confirmation requests',
);

/**
 * Parses the retry policy in the field `at`, and validates it together with the defaults that complete it.
 * @throws RefusedRequest `invalid_retry_policy`; names `at` where the fields contradict each other.
 */
export function retryPolicyAt(at: string, input: unknown, defaults: RetryPolicy): PartialRetryPolicy {
  const result = parseRetryPolicy(input, defaults);
  if (result.ok) return result.policy;
  const fields = result.fields.map(({ field, message }) => ({
    field: field === WHOLE_POLICY ? at : `${at}.${field}`,
    message,
  }));
  throw refusedFields('invalid_retry_policy', fields);
}

/** Refuses the member `__proto__`, which zod's record would drop silently. */
export function withoutProto<Schema extends z.ZodType>(record: Schema) {
  return z
    .unknown()
    .refine((value) => !isJsonObject(value) || !Object.hasOwn(value, '__proto__'), 'must not hold __proto__')
    .pipe(record);
}

/** A listing reads every hour of a window, including hours without messages. */
const MAX_DAYS = 400;

const TIME_RULE = 'must be an RFC 3339 time, such as 2026-11-21T12:00:00Z';

/** An offset can move a time out of the years that RFC 3339 writes, and a default window begins before its end. */
const [EARLIEST, LATEST] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/** RFC 3339 with any offset, parsed to milliseconds since the epoch. */
export const timeField = z
  .string(TIME_RULE)
  .toUpperCase()
  .pipe(z.iso.datetime({ offset: true, error: TIME_RULE, abort: true }))
  .transform((text) => Date.parse(text))
  .pipe(z.number().min(EARLIEST, TIME_RULE).max(LATEST, TIME_RULE))
  .meta({ override: { format: 'date-time' } });

/** A window of acceptance times: includes `since`, excludes `until`. */
export const windowFields = {
  since: timeField
    .describe('Start of the window of acceptance times, inclusive. By default 24 hours before `until`.')
    .exactOptional(),
  until: timeField
    .describe('End of the window of acceptance times, exclusive. By default now.')
    .exactOptional(),
};

type AskedWindow = { since?: number; until?: number };

/** Fields with a window that may not end before it begins. */
export function windowed<Fields extends z.ZodType<AskedWindow>>(fields: Fields): Fields {
  const isOrdered = ({ since = -Infinity, until = Infinity }: AskedWindow): boolean => since < until;
  return fields.check(z.refine(isOrdered, { path: ['until'], error: 'must be after since' }));
}

/**
 * Completes a window. The default is the last 24 hours.
 * @throws RefusedRequest naming `since`, if the window ends before it begins or is too long
 */
export function completeWindow(asked: AskedWindow, now: number): { since: number; until: number } {
  const until = asked.until ?? now;
  const since = asked.since ?? until - DAY_MS;
  if (since >= until) throw invalidFields([{ field: 'since', message: 'must be in the past' }]);
  if (until - since > MAX_DAYS * DAY_MS) {
    throw invalidFields([{ field: 'since', message: `must be at most ${MAX_DAYS} days before until` }]);
  }
  return { since, until };
}

/** Why SQS would refuse this data, which is JSON source text; empty if it would not. */
export function bodyFault(data: string | undefined, field: string): FieldError[] {
  if (data === undefined) return [{ field, message: 'is required' }];
  // SQS refuses these two characters, but accepts their escapes.
  if (/[\uFFFE\uFFFF]/.test(data))
    return [{ field, message: 'must escape U+FFFE and U+FFFF as \\ufffe and \\uffff' }];
  return [];
}
