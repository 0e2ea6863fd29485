import { Duration, Stack } from 'aws-cdk-lib';
import { type IGrantable, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  ApplicationLogLevel,
  Architecture,
  EventSourceMapping,
  Function as LambdaFunction,
  LoggingFormat,
  type RecursiveLoop,
  Runtime,
  RuntimeFamily,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { LAMBDA_RECOGNIZE_LAYER_VERSION } from 'aws-cdk-lib/cx-api';
import { Construct } from 'constructs';
import { type ResourcesOf, variableRows } from '../../../shared/config/resources.ts';
import type { FunctionName, Variable } from '../../../shared/config/rules.ts';
import { functionCode } from '../../bundling.ts';
import { buildUserAgent, product } from '../../product.ts';
import { type DeploymentSettings, SettingsError } from '../../settings.ts';
import { acknowledgeWildcard, joinSchema } from '../findings.ts';
import { chooseRemovalPolicy } from '../state/protection.ts';
import type { RetrySchedules } from '../queues/retry-schedules.ts';
import type { PipelineQueues, SqsQueue, WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';
import type { OperatorEvents } from './operator-events.ts';

/** By name, which CDK knows in all versions. */
const NODE_24 = new Runtime('nodejs24.x', RuntimeFamily.NODEJS);

/** The largest batch without a batch window, which would delay messages (Lambda developer guide, SQS mappings). */
export const DEFAULT_BATCH_SIZE = 10;

/** The alias of each function. */
export const ALIAS = 'live';

/** What the functions of a pipeline use. */
export interface PipelineParts {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly queues: PipelineQueues;
  readonly schedules: RetrySchedules;
  readonly operatorEvents: OperatorEvents;
}

export interface NodeFunctionProps {
  readonly parts: PipelineParts;
  /** Folder under `functions/`. */
  readonly entry: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  /** Threads of libuv, which look up the names of AWS endpoints. @default 4, by libuv */
  readonly threads?: number;
  /** Variables of the rows that only this function has, or that depend on the portal. */
  readonly resources?: Partial<ResourcesOf<FunctionName>>;
  /** Reserved for the function, and the most that it can have. @default none: what is left of the account's */
  readonly reservedConcurrency?: number | undefined;
  /** @default Lambda stops a function that sends messages to itself after about 16 rounds */
  readonly recursiveLoop?: RecursiveLoop;
}

export interface ConsumeProps {
  readonly queue: WorkQueue;
  /** The most concurrent invocations for this queue, 2 to 1000. */
  readonly maxConcurrency: number;
  /** Messages in a batch; over 10 only with a window. @default 10 */
  readonly batchSize?: number;
  /** How long Lambda gathers messages for a batch. @default not at all */
  readonly window?: Duration;
}

/**
 * A function with a log group that expires and a role that may only write to this log group (Lambda's managed policy
 * would allow it to write all logs of the account). Grants add to the role.
 */
export class NodeFunction extends Construct {
  readonly name: string;
  readonly logGroupName: string;
  /** Its environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** What queues, the API and rules invoke: the version that is in service. */
  readonly alias: Alias;
  protected readonly role: Role;
  /** All of its versions: for metrics. */
  readonly lambda: LambdaFunction;
  readonly #compute: DeploymentSettings['compute'];
  readonly #grants: ((grantee: IGrantable) => unknown)[] = [];

  constructor(scope: Construct, id: string, props: NodeFunctionProps) {
    super(scope, id);
    // Part of a version's id. Lambda refuses a second version of the same code, so apps without the flag must get this id, too.
    this.node.setContext(LAMBDA_RECOGNIZE_LAYER_VERSION, true);
    const { settings } = props.parts;
    this.#compute = settings.compute;
    const logGroup = new LogGroup(this, 'LogGroup', {
      retention: settings.logRetentionDays,
      removalPolicy: chooseRemovalPolicy(settings.local),
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(this.role);
    this.variables = withinSizeLimit(this, props.entry, {
      ...(props.threads === undefined ? {} : { UV_THREADPOOL_SIZE: String(props.threads) }),
      ...buildEnvironment(props.entry, {
        ...settings,
        ...collectResources(Stack.of(this), props.parts),
        ...props.resources,
      }),
    });
    this.lambda = new LambdaFunction(this, 'Function', {
      description: props.description,
      code: functionCode(props.entry),
      handler: 'index.handler',
      runtime: NODE_24,
      architecture: Architecture.ARM_64,
      memorySize: settings.memoryMegabytes[props.entry],
      timeout: props.timeout,
      role: this.role,
      logGroup,
      // Without the lines START, END and REPORT of every invocation; those of failed ones stay. The function applies `logLevel`.
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
      applicationLogLevelV2: ApplicationLogLevel.TRACE,
      reservedConcurrentExecutions: props.reservedConcurrency,
      recursiveLoop: props.recursiveLoop,
      tracing: settings.tracing ? Tracing.ACTIVE : undefined,
      environment: this.variables,
    });
    if (settings.tracing)
      acknowledgeWildcard(this.role, '*', 'X-Ray does not support resource ARNs for traces.');
    // CloudFormation deletes the previous version after the update has ended, so that a failed one can go back to it.
    this.alias = new Alias(this, 'Live', { aliasName: ALIAS, version: this.lambda.currentVersion });
    this.name = this.lambda.functionName;
    this.logGroupName = logGroup.logGroupName;
  }

  /** Allows a worker with this identity to do what the function does (docs/worker.md#permissions). */
  grantWork(grantee: IGrantable): void {
    for (const grant of this.#grants) grant(grantee);
  }

  /** Grants it to the function, and to workers in its place. */
  protected grant(grant: (grantee: IGrantable) => unknown): void {
    this.#grants.push(grant);
    grant(this.role);
  }

  /**
   * Makes a deployment update the receiver first, which must understand the messages of this function. The alias waits
   * until that of the receiver has moved completely.
   */
  updateAfter(receiver: NodeFunction): void {
    this.lambda.node.addDependency(receiver.lambda);
    this.alias.node.addDependency(receiver.alias);
  }

  /**
   * Feeds the function from a queue in batches with partial failures, unless workers do its work. The mapping limits the
   * concurrency instead of a reservation, because accounts with a small quota cannot reserve any.
   */
  protected consume(
    id: string,
    { queue, maxConcurrency, batchSize = DEFAULT_BATCH_SIZE, window }: ConsumeProps,
  ): void {
    this.grant((grantee) => queue.grantConsume(grantee));
    if (this.#compute === 'worker') return;
    new EventSourceMapping(this, id, {
      target: this.alias,
      eventSourceArn: queue.arn,
      batchSize,
      maxConcurrency,
      maxBatchingWindow: window,
      reportBatchItemFailures: true,
    });
  }
}

/** Batch size and window of the ingress and delivery queues. Retries are never gathered: they are due to the second. */
export function buildBatching({ messagesPerBatch, batchWindowSeconds }: DeploymentSettings) {
  return {
    batchSize: messagesPerBatch,
    ...(batchWindowSeconds === 0 ? {} : { window: Duration.seconds(batchWindowSeconds) }),
  };
}

const rows: Readonly<Record<string, Variable>> = variableRows;

type OfPortal = 'portalRoleArn' | 'apiArn' | 'apiUrl';

/** Of all functions: each gets those whose rows name it. */
function collectResources(stack: Stack, parts: PipelineParts): Omit<ResourcesOf<FunctionName>, OfPortal> {
  const { settings, state, queues, schedules, operatorEvents } = parts;
  return {
    version: product.version,
    subscriptionsTable: state.subscriptions.name,
    deliveriesTable: state.deliveries.name,
    payloadBucket: state.payloads.name,
    secretsKeyArn: state.secretsKey.arn,
    ingressQueueUrl: queues.ingress.url,
    ingressDeadLetterUrl: queues.ingressDeadLetters.url,
    deliveryQueueUrl: queues.delivery.url,
    deliveryDeadLetterUrl: queues.deliveryDeadLetters.url,
    retryQueueUrl: queues.retry.url,
    undeliverableQueueUrl: queues.undeliverable.url,
    operationQueueUrl: queues.operation.url,
    operationDeadLetterUrl: queues.operationDeadLetters.url,
    operatorEventBus: operatorEvents.busName,
    scheduleGroup: schedules.groupName,
    schedulerRoleArn: schedules.roleArn,
    schedulerDeadLetterArn: schedules.deadLetters.arn,
    userAgent: buildUserAgent(product, settings.userAgentContact),
    queueUrls: stack.toJsonString(
      Object.fromEntries(Object.entries(countedQueues(parts)).map(([name, { url }]) => [name, url])),
    ),
    // Each with the account that must own its bucket.
    payloadSources: stack.toJsonString(
      settings.payloadSources.map(({ bucket, prefix, owner = stack.account }) => ({ bucket, prefix, owner })),
    ),
  };
}

/** All SQS queues of the deployment, by the names that the health route uses. */
export function countedQueues({ queues, schedules }: PipelineParts): Record<string, SqsQueue> {
  const { operationDeadLetters, ...others } = queues;
  return { ...others, schedulerDeadLetters: schedules.deadLetters, operationDeadLetters };
}

/** The variables of the rows that name this function. Omits those without a value. */
function buildEnvironment(
  name: FunctionName,
  values: Readonly<Record<string, unknown>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(rows)
      .filter(([key, { functions }]) => functions.includes(name) && values[key] !== undefined)
      .map(([key, { variable }]) => [variable, toText(values[key])]),
  );
}

/** Lambda's limit for the names and values of all variables of a function ("Lambda quotas", developer guide). */
const MAX_BYTES = 4096;

/** An upper bound for the URL, ARN or name that CloudFormation inserts for a reference. */
const REFERENCE_BYTES = 140;

/**
 * Returns the variables.
 * @throws SettingsError if they are so large that Lambda would refuse them during the deployment
 */
function withinSizeLimit(
  scope: Construct,
  name: FunctionName,
  variables: Record<string, string>,
): Record<string, string> {
  const sizes = Object.entries(variables).map(([variable, value]): [string, number] => [
    variable,
    variable.length + countBytes(Stack.of(scope).resolve(value)),
  ]);
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (total <= MAX_BYTES) return variables;
  const largest = sizes.toSorted(([, one], [, other]) => other - one).slice(0, 3);
  throw new SettingsError([
    `the settings are too large for the environment of the function ${name}: ${total} bytes of at most ${MAX_BYTES}. The largest are ${largest
      .map(([variable, bytes]) => `${variable} ${bytes}`)
      .join(', ')}`,
  ]);
}

function countBytes(resolved: unknown): number {
  if (typeof resolved === 'string') return Buffer.byteLength(resolved);
  const join = joinSchema.safeParse(resolved);
  if (!join.success) return REFERENCE_BYTES;
  const [separator, parts] = join.data['Fn::Join'];
  return parts.reduce<number>((sum, part) => sum + countBytes(part), separator.length * parts.length);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
