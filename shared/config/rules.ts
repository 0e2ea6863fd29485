import * as z from 'zod';
import { isQueueName, QUEUE_NAME_RULE } from '../domain/message/message.ts';
import { completePolicySchema } from '../domain/retry/policy.ts';
import { WHOLE_POLICY, parseDefaultRetryPolicy } from '../domain/retry/policy-schema.ts';
import { parsePortRange } from '../domain/subscription/subscriber-url.ts';

/** The functions whose work `posthaste worker` can do too. */
export const workerSteps = ['dispatch', 'deliver', 'reconcile', 'operate'] as const;

export type WorkerStep = (typeof workerSteps)[number];

/** The most messages of each queue that a worker has in flight, by default. */
export const WORKER_CONCURRENCY = 40;

/** The Lambda functions with tables, named like their folders. */
export const storingFunctions = [...workerSteps, 'api', 'secrets'] as const;

/** All Lambda functions. `portal` is only deployed with the setting of that name. */
export const everyFunction = [...storingFunctions, 'portal'] as const;

export type FunctionName = (typeof everyFunction)[number];

/** Megabytes with which a function has a whole processor, and in proportion less (Lambda developer guide, "Memory"). */
export const WHOLE_PROCESSOR_MEGABYTES = 1_769;

/** Megabytes of memory of each function (docs/cost-and-performance.md#memory), unless `memoryMegabytes` has others. */
export const MEMORY_MEGABYTES = {
  // A batch has up to 6 MB of messages (Lambda's payload quota), each parsed and copied into jobs.
  dispatch: 512,
  // Sized for CPU: ten concurrent TLS handshakes and bodies need more CPU than memory.
  deliver: 512,
  // Reads keys and sends wake-ups, page by page.
  reconcile: 256,
  // A page of records, and up to ten messages of 1 MiB that are stored again.
  operate: 512,
  // One processor: a page takes some 200 calls, and the processor most of that time (docs/operations.md#limits-of-the-api).
  api: WHOLE_PROCESSOR_MEGABYTES,
  secrets: WHOLE_PROCESSOR_MEGABYTES,
  // Signs and passes requests on.
  portal: 512,
} as const satisfies Record<FunctionName, number>;

/**
 * One setting. `rule` validates the operator's value; its description completes the error "must be …" and is the
 * value column of docs/settings.md.
 */
export type Setting = {
  readonly rule: z.ZodType;
  /** In the form that the rule parses. @default none: the setting is optional */
  readonly default?: unknown;
  /** Default as shown in docs/settings.md, if the value alone is unclear. */
  readonly unset?: string;
  /** Maximum length as JSON: the environment of a function is limited to 4 KB (AWS Lambda quotas). */
  readonly longest?: number;
  /** Markdown, for docs/settings.md. */
  readonly description: string;
};

/** An environment variable. */
export type Variable = {
  readonly variable: string;
  /** The functions that get it. */
  readonly functions: readonly FunctionName[];
  readonly rule: z.ZodType;
  /** Parser for functions, if infra completes the operator's value. @default the rule */
  readonly read?: z.ZodType;
};

/**
 * Parses text as JSON, because `-c key=value` and the environment contain text where cdk.json contains values. Text
 * that is not JSON stays text.
 */
export function parseValue(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** A list from JSON or comma-separated text. Its only item may look like JSON: an audience can be a number. */
function parseList(given: unknown): unknown {
  const value = parseValue(given);
  if (typeof given !== 'string' || Array.isArray(value)) return value;
  const text = typeof value === 'string' ? value : given;
  return text.split(',').map((part) => part.trim());
}

export function wholeNumber(unit: string, from: number, to: number) {
  const text = `a whole number of ${unit} from ${from} to ${to}`;
  const error = `must be ${text}`;
  return z.preprocess(parseValue, z.int(error).check(z.gte(from, error), z.lte(to, error))).describe(text);
}

export function numberBetween(from: number, to: number) {
  const text = `a number from ${from} to ${to}`;
  const error = `must be ${text}`;
  return z.preprocess(parseValue, z.number(error).check(z.gte(from, error), z.lte(to, error))).describe(text);
}

export function oneOf<const T extends string>(...words: readonly T[]) {
  return z
    .enum(words, `must be one of ${words.join(', ')}`)
    .describe(words.map((word) => `\`${word}\``).join(', '));
}

const BOOLEAN = z.boolean('must be true or false');
const BOOLEAN_TEXT = '`true` or `false`';

export const flag = z.preprocess(parseValue, BOOLEAN).describe(BOOLEAN_TEXT);

export const optionalFlag = z.preprocess(parseValue, BOOLEAN.optional()).describe(BOOLEAN_TEXT);

/** A rule that lets a value be missing, with the same description. */
export function optional<Rule extends z.ZodType>(rule: Rule) {
  return rule.optional().describe(rule.description ?? '');
}

/** A rule for text that matches a pattern or a predicate; `text` completes "must be …". */
export function matching(form: RegExp | ((given: string) => boolean), text: string) {
  const error = `must be ${text}`;
  const fits = typeof form === 'function' ? form : (given: string) => form.test(given);
  return z.string(error).refine(fits, error).describe(text);
}

/** A rule for a list of items, as JSON or comma-separated. */
export function listOfEach<T extends z.ZodType>(item: T, text: string, { most = 100, least = 0 } = {}) {
  const error = `must be ${text}`;
  return z.preprocess(parseList, z.array(item, error).min(least, error).max(most, error)).describe(text);
}

/** A policy that infra has completed, as functions read it. */
export const completedPolicy = z
  .preprocess(parseValue, z.record(z.string(), z.unknown(), 'must be a JSON object'))
  .pipe(completePolicySchema);

export const policyOrPreset = z
  .preprocess(parseValue, z.unknown())
  .transform((given, context) => {
    const parsed = parseDefaultRetryPolicy(given);
    if (parsed.ok) return parsed.policy;
    for (const { field, message } of parsed.fields) {
      const path = field === WHOLE_POLICY ? [] : [field];
      context.issues.push({ code: 'custom', path, message, input: given });
    }
    return z.NEVER;
  })
  .describe('a [retry policy](retry-policy.md), JSON, or a [preset](retry-policy.md#presets)');

/** A single port may be a number. */
function parsePorts(given: unknown): unknown {
  return [parseList(given)].flat().map((port: unknown) => (typeof port === 'number' ? String(port) : port));
}

export const ports = z
  .preprocess(
    parsePorts,
    z
      .array(matching((text) => parsePortRange(text) !== undefined, 'a port, or a range such as 8000-9000'))
      .max(20, 'must be at most 20 ports and ranges'),
  )
  .describe('up to 20 comma-separated ports and ranges, such as `443,8000-9000`');

export const publicUrl = matching(
  isPublicUrl,
  'an http or https URL of at most 200 characters without a query, a fragment or a slash at its end',
);

function isPublicUrl(text: string): boolean {
  const filled = text.replaceAll('{host}', 'host').replaceAll('{apiId}', 'id');
  return text.length <= 200 && /^https?:\/\/[^\s?#{}]*[^\s?#{}/]$/.test(filled) && URL.canParse(filled);
}

const TOKEN_SCOPES = 'a JSON object of scopes: {"read", "publish", "manage", "credentials"}';

const scope = matching(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'a scope (RFC 6749 §3.3)');

export const tokenScopes = z
  .preprocess(
    parseValue,
    z.strictObject(
      { read: scope, publish: scope, manage: scope, credentials: scope },
      `must be ${TOKEN_SCOPES}`,
    ),
  )
  .describe(TOKEN_SCOPES);

/** Part of a header, so nothing that ends a directive. */
const ORIGIN = /^https?:\/\/(?:\*\.)?[A-Za-z0-9.-]+(?::\d{1,5})?$/;

export const origins = listOfEach(
  matching(ORIGIN, 'an origin'),
  'comma-separated origins, such as https://app.example.com',
  { most: 20 },
);

export const hosts = listOfEach(
  matching(/^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/, 'a host name'),
  'comma-separated host names, such as hooks.example.com, or *.example.com for all below it',
  { least: 1 },
);

const ROUTES = 'a JSON object of queue names, or of lists of queue names for topics';

const queueName = matching(isQueueName, `a queue name (${QUEUE_NAME_RULE})`);

export const ingressRoutes = z
  .preprocess(
    parseValue,
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
