import * as z from 'zod';
import { variables } from './variables.ts';

/** A function's environment is not what its code needs. Names variables and rules, never values. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`The environment is incomplete or wrong: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

const text = z.string('is missing').min(1, 'is empty');

const url = text.pipe(z.url('is not a URL'));

const wholeNumber = (min: number, max: number) =>
  text
    .regex(/^[0-9]+$/, 'is not a whole number')
    .transform(Number)
    .pipe(z.int().min(min, `is under ${min}`).max(max, `is over ${max}`));

/** Several days in seconds; nothing that we count in seconds is longer. */
const MOST_SECONDS = 7 * 24 * 60 * 60;

const json = text.transform((source, context): unknown => {
  try {
    return JSON.parse(source);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

/** Complete: what is missing in a subscriber's policy is filled from here, so nothing may be missing here. */
const retryPolicy = z.strictObject({
  retries_with_no_delay: z.int().min(0),
  minimum_delay_retries: z.int().min(0),
  minimum_delay: z.int().min(1),
  maximum_delay: z.int().min(1),
  maximum_delay_retries: z.int().min(0),
  retry_backoff_function: z.enum(['linear', 'arithmetic', 'geometric', 'exponential', 'capped_exponential']),
  ignore_subscription_override: z.boolean(),
  backoff_retries: z.int().min(0),
  backoff_exponent: z.number().gt(1),
  jitter: z.enum(['none', 'full', 'equal']),
  retry_on_status: z.array(z.int().min(300).max(499)),
});

const known = {
  deployment: text,
  version: text,
  subscriptionsTable: text,
  deliveriesTable: text,
  payloadBucket: text,
  secretsKeyArn: text,
  ingressQueueUrl: url,
  ingressDeadLetterUrl: url,
  deliveryQueueUrl: url,
  retryQueueUrl: url,
  retryQueueArn: text,
  deliveryDeadLetterUrl: url,
  undeliverableQueueUrl: url,
  operatorEventBus: text,
  operationQueueUrl: url,
  operationDeadLetterUrl: url,
  scheduleGroup: text,
  schedulerRoleArn: text,
  schedulerDeadLetterArn: text,
  defaultRetryPolicy: json.pipe(retryPolicy),
  attemptTimeoutSeconds: wholeNumber(1, 30),
  schedulerThresholdSeconds: wholeNumber(0, 900),
  subscriptionCacheSeconds: wholeNumber(0, MOST_SECONDS),
  retentionDays: wholeNumber(15, 36_500),
  retainMessages: text.pipe(z.enum(['failed', 'all'], 'is neither failed nor all')),
  retryAfterCapSeconds: wholeNumber(0, MOST_SECONDS),
  disableFailingAfterDays: text
    .transform(Number)
    .pipe(z.number('is not a number').min(0, 'is under 0').max(365, 'is over 365')),
  overdueAfterSeconds: wholeNumber(0, MOST_SECONDS),
  queueUrls: json.pipe(z.record(z.string(), z.url('is not a URL'))),
  subscriptionConfirmation: text
    .pipe(z.enum(['true', 'false'], 'is neither true nor false'))
    .transform((flag) => flag === 'true'),
  /** With `{host}` and `{apiId}` in it, so no URL yet. */
  publicApiUrl: text.optional(),
  allowedAddresses: json.pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], 'is not a CIDR range'))),
  ingressRoutes: json.pipe(z.record(z.string(), z.string().min(1))),
};

const everyFunction = { deployment: known.deployment, version: known.version };

const dispatchSchema = z.object({
  ...everyFunction,
  subscriptionsTable: known.subscriptionsTable,
  deliveriesTable: known.deliveriesTable,
  payloadBucket: known.payloadBucket,
  ingressDeadLetterUrl: known.ingressDeadLetterUrl,
  deliveryQueueUrl: known.deliveryQueueUrl,
  subscriptionCacheSeconds: known.subscriptionCacheSeconds,
  retentionDays: known.retentionDays,
  retainMessages: known.retainMessages,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
  ingressRoutes: known.ingressRoutes,
});

const deliverSchema = z.object({
  ...everyFunction,
  subscriptionsTable: known.subscriptionsTable,
  deliveriesTable: known.deliveriesTable,
  payloadBucket: known.payloadBucket,
  secretsKeyArn: known.secretsKeyArn,
  deliveryQueueUrl: known.deliveryQueueUrl,
  retryQueueUrl: known.retryQueueUrl,
  retryQueueArn: known.retryQueueArn,
  deliveryDeadLetterUrl: known.deliveryDeadLetterUrl,
  undeliverableQueueUrl: known.undeliverableQueueUrl,
  operatorEventBus: known.operatorEventBus,
  disableFailingAfterDays: known.disableFailingAfterDays,
  scheduleGroup: known.scheduleGroup,
  schedulerRoleArn: known.schedulerRoleArn,
  schedulerDeadLetterArn: known.schedulerDeadLetterArn,
  defaultRetryPolicy: known.defaultRetryPolicy,
  attemptTimeoutSeconds: known.attemptTimeoutSeconds,
  schedulerThresholdSeconds: known.schedulerThresholdSeconds,
  subscriptionCacheSeconds: known.subscriptionCacheSeconds,
  retentionDays: known.retentionDays,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
  allowedAddresses: known.allowedAddresses,
});

const reconcileSchema = z.object({
  ...everyFunction,
  deliveriesTable: known.deliveriesTable,
  retryQueueUrl: known.retryQueueUrl,
  retentionDays: known.retentionDays,
  overdueAfterSeconds: known.overdueAfterSeconds,
});

const operateSchema = z.object({
  ...everyFunction,
  subscriptionsTable: known.subscriptionsTable,
  deliveriesTable: known.deliveriesTable,
  payloadBucket: known.payloadBucket,
  retryQueueUrl: known.retryQueueUrl,
  scheduleGroup: known.scheduleGroup,
  operationQueueUrl: known.operationQueueUrl,
  operationDeadLetterUrl: known.operationDeadLetterUrl,
  retentionDays: known.retentionDays,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
});

const apiSchema = z.object({
  ...everyFunction,
  subscriptionsTable: known.subscriptionsTable,
  deliveriesTable: known.deliveriesTable,
  secretsKeyArn: known.secretsKeyArn,
  payloadBucket: known.payloadBucket,
  ingressQueueUrl: known.ingressQueueUrl,
  defaultRetryPolicy: known.defaultRetryPolicy,
  allowedAddresses: known.allowedAddresses,
  operationQueueUrl: known.operationQueueUrl,
  retentionDays: known.retentionDays,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
  deliveryQueueUrl: known.deliveryQueueUrl,
  overdueAfterSeconds: known.overdueAfterSeconds,
  queueUrls: known.queueUrls,
  retryQueueUrl: known.retryQueueUrl,
  scheduleGroup: known.scheduleGroup,
  subscriptionConfirmation: known.subscriptionConfirmation,
  publicApiUrl: known.publicApiUrl,
  operatorEventBus: known.operatorEventBus,
});

type Source = Readonly<Record<string, string | undefined>>;

const read = <T>(schema: z.ZodType<T>, source: Source): T => {
  const given = Object.fromEntries(Object.entries(variables).map(([key, name]) => [key, source[name]]));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new EnvironmentError(parsed.error.issues.map(problemOf));
};

const problemOf = ({ path, message }: z.core.$ZodIssue): string => {
  const [key, ...inner] = path.map(String);
  const name = Object.entries(variables).find(([variable]) => variable === key)?.[1] ?? 'environment';
  return `${[name, ...inner].join('.')} ${message}`;
};

/** What dispatch needs. @throws EnvironmentError */
export const dispatchEnvironment = (source: Source = process.env) => read(dispatchSchema, source);

/** What deliver needs. @throws EnvironmentError */
export const deliverEnvironment = (source: Source = process.env) => read(deliverSchema, source);

/** What reconcile needs. @throws EnvironmentError */
export const reconcileEnvironment = (source: Source = process.env) => read(reconcileSchema, source);

/** What operate needs. @throws EnvironmentError */
export const operateEnvironment = (source: Source = process.env) => read(operateSchema, source);

/** What the API needs. @throws EnvironmentError */
export const apiEnvironment = (source: Source = process.env) => read(apiSchema, source);
