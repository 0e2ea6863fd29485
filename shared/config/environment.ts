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
const names = {
  ...variables,
  runtimeApi: 'AWS_LAMBDA_RUNTIME_API',
  region: 'AWS_REGION',
  accessKeyId: 'AWS_ACCESS_KEY_ID',
  secretAccessKey: 'AWS_SECRET_ACCESS_KEY',
  sessionToken: 'AWS_SESSION_TOKEN',
  traceId: '_X_AMZN_TRACE_ID',
  // "Service-specific endpoints", AWS SDKs and tools reference guide.
  endpoint: 'AWS_ENDPOINT_URL',
  dynamodb: 'AWS_ENDPOINT_URL_DYNAMODB',
  sqs: 'AWS_ENDPOINT_URL_SQS',
  kms: 'AWS_ENDPOINT_URL_KMS',
  fips: 'AWS_USE_FIPS_ENDPOINT',
  dualStack: 'AWS_USE_DUALSTACK_ENDPOINT',
};

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

const endpoint = z.union([z.literal('').transform(() => undefined), z.url('is not a URL')]).optional();

/** Endpoints of another kind than the region's usual ones have rules by service and region, which are the SDK's. */
const usualOnly = z
  .string()
  .refine(
    (flag) => flag !== 'true',
    'is not supported: name the endpoints instead (AWS_ENDPOINT_URL_DYNAMODB, _SQS, _KMS)',
  )
  .optional();

const awsSchema = z.object({
  fips: usualOnly,
  dualStack: usualOnly,
  serviceDomain: known.serviceDomain,
  region: known.region,
  accessKeyId: known.accessKeyId,
  secretAccessKey: known.secretAccessKey,
  sessionToken: z.string().optional(),
  endpoint,
  dynamodb: endpoint,
  sqs: endpoint,
  kms: endpoint,
});

type Source = Readonly<Record<string, string | undefined>>;

function read<T>(schema: z.ZodType<T>, source: Source): T {
  const given = Object.fromEntries(Object.entries(names).map(([key, name]) => [key, source[name]]));
  // Read once: zod would take longer to compile a reader than the reading takes.
  const parsed = schema.safeParse(given, { jitless: true });
  if (parsed.success) return parsed.data;
  throw new EnvironmentError(parsed.error.issues.map(problemOf));
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  const [key, ...inner] = path.map(String);
  const name = Object.entries(names).find(([field]) => field === key)?.[1] ?? 'environment';
  return `${[name, ...inner].join('.')} ${message}`;
}

/**
 * Where AWS's services are and who asks them. Lambda gives a function its credentials by the environment, for all its life
 * ("Defined runtime environment variables", Lambda developer guide).
 * @throws EnvironmentError
 */
export function awsEnvironment(source: Source = process.env) {
  const { region, serviceDomain, ...given } = read(awsSchema, source);
  const endpointOf = (service: 'dynamodb' | 'sqs' | 'kms'): string =>
    given[service] ?? given.endpoint ?? `https://${service}.${region}.${serviceDomain}`;
  const { accessKeyId, secretAccessKey, sessionToken } = given;
  return {
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) },
    endpoint: { dynamodb: endpointOf('dynamodb'), sqs: endpointOf('sqs'), kms: endpointOf('kms') },
    /** X-Ray's, of the invocation under way: Lambda changes it. */
    traceId: () => source[names.traceId],
  };
}

/** What dispatch needs. @throws EnvironmentError */
export function dispatchEnvironment(source: Source = process.env) {
  return read(dispatchSchema, source);
}

/** What deliver needs. @throws EnvironmentError */
export function deliverEnvironment(source: Source = process.env) {
  return read(deliverSchema, source);
}

/** What reconcile needs. @throws EnvironmentError */
export function reconcileEnvironment(source: Source = process.env) {
  return read(reconcileSchema, source);
}

/** What operate needs. @throws EnvironmentError */
export function operateEnvironment(source: Source = process.env) {
  return read(operateSchema, source);
}

/** What the API needs. @throws EnvironmentError */
export function apiEnvironment(source: Source = process.env) {
  return read(apiSchema, source);
}
