import * as z from 'zod';
import { isQueueName, QUEUE_NAME_RULE } from '../domain/message/message.ts';

/** The Lambda functions, by their folders. */
export const everyFunction = ['dispatch', 'deliver', 'reconcile', 'operate', 'api'] as const;

export type FunctionName = (typeof everyFunction)[number];

/**
 * One setting of an operator. `rule` checks the value that the operator gives; its description completes the sentence
 * "must be …" of an error and is the value's column in docs/settings.md.
 */
export type Setting = {
  readonly rule: z.ZodType;
  /** In the form that the rule reads. @default none: the setting may be left out */
  readonly default?: unknown;
  /** What docs/settings.md shows as the default, where the default itself says too little. */
  readonly unset?: string;
  /** The most characters of its JSON: a function's whole environment is at most 4 KB (AWS Lambda quotas). */
  readonly longest?: number;
  /** For docs/settings.md, in Markdown. */
  readonly description: string;
};

/** What a function gets in its environment. */
export type Variable = {
  readonly variable: string;
  /** Which functions get it. */
  readonly functions: readonly FunctionName[];
  readonly rule: z.ZodType;
  /** How a function reads it, where infra completes what the operator gives. @default the rule */
  readonly read?: z.ZodType;
};

/** `-c key=value` and the environment hold text, cdk.json holds values: both mean the same. What is not JSON stays text. */
export function valueOf(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** JSON, or texts with commas between. */
export function listOf(given: unknown): unknown {
  const value = valueOf(given);
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
}

export function wholeNumber(unit: string, from: number, to: number) {
  const text = `a whole number of ${unit} from ${from} to ${to}`;
  const error = `must be ${text}`;
  return z.preprocess(valueOf, z.int(error).min(from, error).max(to, error)).describe(text);
}

export function numberBetween(from: number, to: number) {
  const text = `a number from ${from} to ${to}`;
  const error = `must be ${text}`;
  return z.preprocess(valueOf, z.number(error).min(from, error).max(to, error)).describe(text);
}

export function oneOf<const T extends string>(...words: readonly T[]) {
  return z
    .enum(words, `must be one of ${words.join(', ')}`)
    .describe(words.map((word) => `\`${word}\``).join(', '));
}

export function flag() {
  return z.preprocess(valueOf, z.boolean('must be true or false')).describe('`true` or `false`');
}

/** A text of this form; `text` says which. */
export function matching(form: RegExp | ((given: string) => boolean), text: string) {
  const error = `must be ${text}`;
  const fits = typeof form === 'function' ? form : (given: string) => form.test(given);
  return z.string(error).refine(fits, error).describe(text);
}

/** Some of these, in a JSON list or with commas between. */
export function listOfEach<T extends z.ZodType>(item: T, text: string, { most = 100, least = 0 } = {}) {
  const error = `must be ${text}`;
  return z.preprocess(listOf, z.array(item, error).min(least, error).max(most, error)).describe(text);
}

const SCOPES = 'a JSON object of scopes: {"read", "publish", "manage", "credentials"}';

const scope = matching(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'a scope (RFC 6749 §3.3)');

export const tokenScopes = z
  .preprocess(
    valueOf,
    z.strictObject({ read: scope, publish: scope, manage: scope, credentials: scope }, `must be ${SCOPES}`),
  )
  .describe(SCOPES);

const ROUTES = 'a JSON object of queue names, or of lists of them for topics';

const queueName = matching(isQueueName, `a queue name (${QUEUE_NAME_RULE})`);

export const ingressRoutes = z
  .preprocess(
    valueOf,
    z
      .record(z.string(), z.union([queueName, z.array(queueName).min(1)]), `must be ${ROUTES}`)
      .refine(
        (routes) => Object.entries(routes).every(([key, to]) => typeof to === 'string' || isTopicArn(key)),
        'must have a list of queues only for the ARN of an SNS topic',
      ),
  )
  .describe(ROUTES);

function isTopicArn(key: string): boolean {
  return /^arn:[a-z-]+:sns:/.test(key);
}
