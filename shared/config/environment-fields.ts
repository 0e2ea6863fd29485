import * as z from 'zod';
import { BACKOFF_FUNCTIONS, JITTERS, RETAINED_MESSAGES } from '../domain/vocabulary.ts';

const text = z.string('is missing').min(1, 'is empty');

const url = text.pipe(z.url('is not a URL'));

function wholeNumber(min: number, max: number) {
  return text
    .regex(/^[0-9]+$/, 'is not a whole number')
    .transform(Number)
    .pipe(z.int().min(min, `is under ${min}`).max(max, `is over ${max}`));
}

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
  retry_backoff_function: z.enum(BACKOFF_FUNCTIONS),
  ignore_subscription_override: z.boolean(),
  backoff_retries: z.int().min(0),
  backoff_exponent: z.number().gt(1),
  jitter: z.enum(JITTERS),
  retry_on_status: z.array(z.int().min(300).max(499)),
});

/** Every variable there is, and how it is read. A function takes those that it needs. */
export const known = {
  deployment: text,
  serviceDomain: text,
  region: text,
  accessKeyId: text,
  secretAccessKey: text,
  version: text,
  logLevel: text.pipe(z.enum(['debug', 'info', 'warn', 'error'], 'is neither debug, info, warn nor error')),
  logSuccessSampling: text
    .transform(Number)
    .pipe(z.number('is not a number').min(0, 'is under 0').max(1, 'is over 1')),
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
  retainMessages: text.pipe(z.enum(RETAINED_MESSAGES, 'is neither failed nor all')),
  firstAttemptsPerJob: wholeNumber(1, 25),
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
  allowedPorts: json.pipe(
    z.array(z.string().regex(/^[0-9]{1,5}(?:-[0-9]{1,5})?$/, 'is neither a port nor a range of ports')),
  ),
  userAgent: text,
  ingressRoutes: json.pipe(z.record(z.string(), z.string().min(1))),
  payloadSources: json.pipe(
    z.array(
      z.object({
        bucket: z.string().min(1),
        prefix: z.string(),
        owner: z.string().regex(/^[0-9]{12}$/, 'is not an account'),
      }),
    ),
  ),
};
