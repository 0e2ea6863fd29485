import * as z from 'zod';
import { everyFunction, type FunctionName, parseValue, storingFunctions, type Variable } from './rules.ts';
import { functionSettings } from './settings.ts';

const text = z.string().min(1);
const url = z.url('is not a URL');

/** Environment variables of functions apart from the settings: resource names and facts about the deployment. */
const resources = {
  version: { variable: 'POSTHASTE_VERSION', rule: text, functions: everyFunction },
  subscriptionsTable: {
    variable: 'SUBSCRIPTIONS_TABLE',
    rule: text,
    functions: storingFunctions,
  },
  deliveriesTable: { variable: 'DELIVERIES_TABLE', rule: text, functions: storingFunctions },
  payloadBucket: {
    variable: 'PAYLOAD_BUCKET',
    rule: text,
    functions: ['dispatch', 'deliver', 'operate', 'api', 'secrets'],
  },
  /** KMS key that seals signing secrets. */
  secretsKeyArn: { variable: 'SECRETS_KEY_ARN', rule: text, functions: ['deliver', 'api', 'secrets'] },
  ingressQueueUrl: { variable: 'INGRESS_QUEUE_URL', rule: url, functions: ['dispatch'] },
  ingressDeadLetterUrl: { variable: 'INGRESS_DEAD_LETTER_URL', rule: url, functions: ['dispatch'] },
  deliveryQueueUrl: { variable: 'DELIVERY_QUEUE_URL', rule: url, functions: ['dispatch', 'deliver'] },
  retryQueueUrl: { variable: 'RETRY_QUEUE_URL', rule: url, functions: ['deliver', 'reconcile', 'operate'] },
  deliveryDeadLetterUrl: { variable: 'DELIVERY_DEAD_LETTER_URL', rule: url, functions: ['deliver'] },
  undeliverableQueueUrl: { variable: 'UNDELIVERABLE_QUEUE_URL', rule: url, functions: ['deliver'] },
  operatorEventBus: { variable: 'OPERATOR_EVENT_BUS', rule: text, functions: ['deliver', 'operate', 'api'] },
  operationQueueUrl: { variable: 'OPERATION_QUEUE_URL', rule: url, functions: ['deliver', 'operate'] },
  operationDeadLetterUrl: { variable: 'OPERATION_DEAD_LETTER_URL', rule: url, functions: ['operate'] },
  scheduleGroup: { variable: 'SCHEDULE_GROUP', rule: text, functions: ['deliver', 'operate', 'api'] },
  schedulerRoleArn: { variable: 'SCHEDULER_ROLE_ARN', rule: text, functions: ['deliver'] },
  schedulerDeadLetterArn: { variable: 'SCHEDULER_DEAD_LETTER_ARN', rule: text, functions: ['deliver'] },
  /** User-Agent header of requests to subscribers. */
  userAgent: { variable: 'USER_AGENT', rule: text, functions: ['deliver', 'api', 'secrets'] },
  /** URLs of all SQS queues of the deployment, by their names in the API's health report. */
  queueUrls: {
    variable: 'QUEUE_URLS',
    rule: z.preprocess(
      parseValue,
      z.object({ ingress: url, delivery: url, retry: url, operation: url }).catchall(url),
    ),
    functions: ['api'],
  },
  /** The setting `payloadSources`, with the account that must own each bucket. */
  payloadSources: {
    variable: 'PAYLOAD_SOURCES',
    rule: z.preprocess(
      parseValue,
      z.array(
        z.object({
          bucket: z.string().min(1),
          prefix: z.string(),
          owner: z.string().regex(/^[0-9]{12}$/, 'is not an account'),
        }),
      ),
    ),
    functions: ['dispatch'],
  },
  /** The role of portal sessions. Absent without a portal. */
  portalRoleArn: { variable: 'PORTAL_ROLE_ARN', rule: text.optional(), functions: ['api', 'portal'] },
  /** Of the stage (`arn:aws:execute-api:us-east-1:123456789012:abc123/$default`). */
  apiArn: { variable: 'API_ARN', rule: text, functions: ['portal'] },
  /** On a local AWS, `{endpoint}` stands for its address. */
  apiUrl: { variable: 'API_URL', rule: text, functions: ['portal'] },
} satisfies Record<string, Variable>;

/** All variables that infra sets and functions read, in one table so that both agree. */
export const variableRows = { ...functionSettings, ...resources };

type Rows = typeof variableRows;

export const variables = listVariables(variableRows);

/** The resource variables of a function. */
export type ResourcesOf<F extends FunctionName> = {
  readonly [
    K in keyof typeof resources as F extends (typeof resources)[K]['functions'][number] ? K : never
  ]: string;
};

type Read<Row extends Variable> = Row extends { readonly read: infer R extends z.ZodType }
  ? z.output<R>
  : z.output<Row['rule']>;

/** The parsed environment of a function, by row keys. */
export type VariableValues<F extends FunctionName> = {
  [K in keyof Rows as F extends Rows[K]['functions'][number] ? K : never]: Read<Rows[K]>;
};

function listVariables<K extends string>(rows: Readonly<Record<K, Variable>>): Readonly<Record<K, string>>;
function listVariables(rows: Readonly<Record<string, Variable>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(rows).map(([key, { variable }]) => [key, variable]));
}
