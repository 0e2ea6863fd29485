import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { z } from 'zod';
import { isQueueName, QUEUE_NAME_RULE } from '../shared/domain/message.ts';
import { parseDefaultRetryPolicy } from '../shared/domain/retry-policy-schema.ts';

/** Where a subscriber on the operator's own machine lives; allowed in `local` only. */
const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const;

/** The periods that CloudWatch Logs knows, except forever: logs of ours are always forgotten. */
const LOG_RETENTION_DAYS = Object.values(RetentionDays).filter(
  (days) => typeof days === 'number' && days !== RetentionDays.INFINITE,
);

/** A function's whole environment is at most 4 KB (AWS Lambda quotas), so the two settings of free length are bounded. */
const LONGEST_ROUTES = 1500;
const LONGEST_ADDRESSES = 500;

/** `-c key=value` brings text, cdk.json brings values: both mean the same. What is no JSON is left for the schema to refuse. */
const valueOf = (given: unknown): unknown => {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
};

const listOf = (given: unknown): unknown => {
  const value = valueOf(given);
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
};

const wholeNumber = (unit: string, from: number, to: number) => {
  const rule = `must be a whole number of ${unit} from ${from} to ${to}`;
  return z.preprocess(valueOf, z.number(rule).int(rule).min(from, rule).max(to, rule));
};

const oneOf = <const T extends string>(...words: readonly T[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

const concurrency = () => wholeNumber('concurrent invocations', 2, 1000);

const CIDR_RULE = 'must be a list of CIDR ranges, such as 10.0.0.0/8,fd00::/8';
const ROUTES_RULE = `must be a JSON object whose values are queue names (${QUEUE_NAME_RULE})`;
const LOG_RETENTION_RULE = `must be one of ${LOG_RETENTION_DAYS.join(', ')}`;
const DAYS_RULE = 'must be a number of days from 0 to 365';
const AUDIENCE_RULE = 'must be a list of audiences';
const DEPLOYMENT_RULE = 'must start with a letter and hold at most 64 letters, digits and hyphens';

const PUBLIC_URL_RULE =
  'must be an http or https URL of at most 200 characters without a query, a fragment or a slash at its end';

const isPublicUrl = (text: string): boolean => {
  const filled = text.replaceAll('{host}', 'host').replaceAll('{apiId}', 'id');
  return text.length <= 200 && /^https?:\/\/[^\s?#{}]*[^\s?#{}/]$/.test(filled) && URL.canParse(filled);
};

const schema = z.strictObject({
  /** Prefix of the stacks' names, and this deployment's name in logs and metrics. Default `Posthaste`. */
  deployment: z
    .string(DEPLOYMENT_RULE)
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, DEPLOYMENT_RULE)
    .default('Posthaste'),
  /**
   * For a laptop: everything can be deleted (no deletion protection, no point-in-time recovery), subscribers on loopback
   * are allowed, and `apiAuthorization` may be `none`. Nothing else differs. Default false.
   */
  local: z.preprocess(valueOf, z.boolean('must be true or false')).default(false),
  /** Seconds that one attempt may take in all, 1 to 30. Default 15. */
  attemptTimeoutSeconds: wholeNumber('seconds', 1, 30).default(15),
  /** Delays in seconds from this on go by EventBridge Scheduler, shorter ones by SQS, 0 to 900. Default 90. */
  schedulerThreshold: wholeNumber('seconds', 0, 900).default(90),
  /** How old, in seconds, a list of subscriptions may be for a first attempt, 0 to 300. Default 5. */
  subscriptionCacheSeconds: wholeNumber('seconds', 0, 300).default(5),
  /** Days that a record outlives its last event; 15 at least, longer than SQS can keep a message. Default 30. */
  retentionDays: wholeNumber('days', 15, 3650).default(30),
  /** Which messages' bodies are kept: those with a `failed` attempt, or `all`. Default `failed`. */
  retainMessages: oneOf('failed', 'all').default('failed'),
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
  /** Most concurrent invocations of dispatch, 2 to 1000. Default 50. */
  dispatchConcurrency: concurrency().default(50),
  /** Most concurrent invocations of deliver for first attempts, 2 to 1000; each makes up to 10 at once. Default 100. */
  deliverConcurrency: concurrency().default(100),
  /** Most concurrent invocations of deliver for retries, 2 to 1000. Default 50. */
  retryConcurrency: concurrency().default(50),
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
  /**
   * Requests a second that the API takes, twice as many at once: 1 to 10000 (the account's quota in API Gateway). Default 100,
   * which takes some ten of the account's concurrent functions, so that no caller of it can starve the deliveries.
   */
  apiRateLimit: wholeNumber('requests a second', 1, 10_000).default(100),
  /** How callers of the API prove who they are; `none` only in `local`. Default `iam`. */
  apiAuthorization: oneOf('iam', 'jwt', 'none').default('iam'),
  /** Issuer of the tokens, an https URL; with `apiAuthorization` `jwt`. */
  jwtIssuer: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
  /** Audiences accepted; with `apiAuthorization` `jwt`. */
  jwtAudience: z
    .preprocess(
      listOf,
      z.array(z.string(AUDIENCE_RULE).min(1, AUDIENCE_RULE), AUDIENCE_RULE).min(1, AUDIENCE_RULE),
    )
    .optional(),
  /**
   * Whether a new subscriber is asked to confirm, and gets nothing else before it has. A queue can ask for it by itself
   * with `_confirm_subscriptions` in its metadata. Default false.
   */
  subscriptionConfirmation: z.preprocess(valueOf, z.boolean('must be true or false')).default(false),
  /**
   * Where subscribers reach the API to confirm, if not at its own domain: a URL, in which `{host}` stands for the Host
   * header and `{apiId}` for the API of the request that subscribes. Default the API's own domain.
   */
  publicApiUrl: z.string(PUBLIC_URL_RULE).refine(isPublicUrl, PUBLIC_URL_RULE).optional(),
  /** Queue of an event that names none, by its source, detail-type or topic. JSON. Default none. */
  ingressRoutes: z
    .preprocess(
      valueOf,
      z
        .record(z.string(), z.string(ROUTES_RULE).refine(isQueueName, { error: ROUTES_RULE }), ROUTES_RULE)
        .refine((routes) => JSON.stringify(routes).length <= LONGEST_ROUTES, {
          error: `must be at most ${LONGEST_ROUTES} characters as JSON`,
        }),
    )
    .default({}),
  /** Days that logs are kept, one of CloudWatch's periods. Default 30. */
  logRetentionDays: z
    .preprocess(valueOf, z.enum(RetentionDays, LOG_RETENTION_RULE).exclude(['INFINITE'], LOG_RETENTION_RULE))
    .default(RetentionDays.ONE_MONTH),
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
  overdueAfterSeconds: wholeNumber('seconds', 5, 900).default(30),
});

type Parsed = z.output<typeof schema>;

/** How callers of the API prove who they are. */
export type ApiAuthorization =
  { kind: 'iam' } | { kind: 'jwt'; issuer: string; audience: readonly string[] } | { kind: 'none' };

/** What an operator can set about a deployment. Given by CDK context: `-c key=value`, or `context` in cdk.json. */
export type DeploymentSettings = Readonly<Omit<Parsed, 'apiAuthorization' | 'jwtIssuer' | 'jwtAudience'>> & {
  readonly apiAuthorization: ApiAuthorization;
};

/** Settings that cannot be deployed; each problem starts with the context key. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`These settings cannot be deployed:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * Validates and completes settings.
 * @throws SettingsError naming every key that is wrong, and what it may be.
 */
export const parseSettings = (given: Readonly<Record<string, unknown>>): DeploymentSettings => {
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw new SettingsError(parsed.error.issues.flatMap(problemsOf));
  const settings = parsed.data;
  const apiAuthorization = authorizationOf(settings);
  const allowedAddresses = settings.local
    ? [...settings.allowedAddresses, ...LOOPBACK]
    : settings.allowedAddresses;
  return { ...settings, allowedAddresses, apiAuthorization };
};

/**
 * Settings from all of an app's context. CDK's own keys hold a colon, a hyphen or an at sign, ours letters only: so a
 * misspelt setting is told from them, and refused.
 * @throws SettingsError
 */
export const settingsFromContext = (context: unknown): DeploymentSettings => {
  const entries = Object.entries(z.record(z.string(), z.unknown()).parse(context));
  return parseSettings(Object.fromEntries(entries.filter(([key]) => /^[A-Za-z0-9_]+$/.test(key))));
};

const problemsOf = (issue: z.core.$ZodIssue): string[] => {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(schema.shape).join(', ');
    return issue.keys.map((key) => `${key} is no setting. There are: ${known}`);
  }
  const [key, ...rest] = issue.path.map(String);
  return [`${[key, ...rest].join('.')} ${issue.message}`];
};

const authorizationOf = ({ apiAuthorization, local, jwtIssuer, jwtAudience }: Parsed): ApiAuthorization => {
  if (apiAuthorization === 'jwt') return { kind: 'jwt', ...tokensOf({ jwtIssuer, jwtAudience }) };
  const unused = Object.entries({ jwtIssuer, jwtAudience }).filter(([, value]) => value !== undefined);
  const problems = unused.map(([key]) => `${key} is of use only with apiAuthorization=jwt`);
  if (apiAuthorization === 'none' && !local)
    problems.push('apiAuthorization may be none only with local=true');
  if (problems.length > 0) throw new SettingsError(problems);
  return { kind: apiAuthorization };
};

const tokensOf = ({ jwtIssuer, jwtAudience }: Pick<Parsed, 'jwtIssuer' | 'jwtAudience'>) => {
  if (jwtIssuer !== undefined && jwtAudience !== undefined)
    return { issuer: jwtIssuer, audience: jwtAudience };
  const missing = Object.entries({ jwtIssuer, jwtAudience }).filter(([, value]) => value === undefined);
  throw new SettingsError(missing.map(([key]) => `${key} is needed with apiAuthorization=jwt`));
};
