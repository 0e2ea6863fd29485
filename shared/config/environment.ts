import * as z from 'zod';
import { known } from './environment-fields.ts';
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

/** What infra sets, and what Lambda sets itself; the emulator does not. */
const names = { ...variables, runtimeApi: 'AWS_LAMBDA_RUNTIME_API' };

const runtimeApi = z
  .string()
  .refine((host) => URL.canParse(`http://${host}`), 'is no host')
  .optional();

const everyFunction = {
  deployment: known.deployment,
  version: known.version,
  logLevel: known.logLevel,
  logSuccessSampling: known.logSuccessSampling,
};

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
  firstAttemptsPerJob: known.firstAttemptsPerJob,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
  ingressRoutes: known.ingressRoutes,
  payloadSources: known.payloadSources,
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
  userAgent: known.userAgent,
  schedulerThresholdSeconds: known.schedulerThresholdSeconds,
  subscriptionCacheSeconds: known.subscriptionCacheSeconds,
  retentionDays: known.retentionDays,
  retryAfterCapSeconds: known.retryAfterCapSeconds,
  allowedAddresses: known.allowedAddresses,
  allowedPorts: known.allowedPorts,
  runtimeApi,
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
  allowedPorts: known.allowedPorts,
  runtimeApi,
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
  const given = Object.fromEntries(Object.entries(names).map(([key, name]) => [key, source[name]]));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new EnvironmentError(parsed.error.issues.map(problemOf));
};

const problemOf = ({ path, message }: z.core.$ZodIssue): string => {
  const [key, ...inner] = path.map(String);
  const name = Object.entries(names).find(([field]) => field === key)?.[1] ?? 'environment';
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
