import { Duration, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  EventSourceMapping,
  Function as LambdaFunction,
  type IFunction,
  type RecursiveLoop,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { variables } from '../../../shared/config/variables.ts';
import { functionCode } from '../../function-code.ts';
import { product } from '../../product.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';
import { removalOf } from '../state/protection.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';

/** SQS gives a function at most 10 messages at once without a batch window, which would delay them (Lambda, SQS mappings). */
const BATCH = 10;

/** The variables of `shared/config/variables.ts` that a function gets, by their names in there. */
export type FunctionVariables = Partial<Record<keyof typeof variables, string>>;

export interface NodeFunctionProps {
  readonly settings: DeploymentSettings;
  /** Folder under `functions/`. */
  readonly entry: string;
  readonly description: string;
  readonly memoryMegabytes: number;
  readonly timeout: Duration;
  readonly environment: FunctionVariables;
  /** Threads of libuv, in which the system's resolver looks up names. @default libuv's own: 4 */
  readonly threads?: number;
  /** @default Lambda's own: a function that feeds itself is stopped after some 16 rounds */
  readonly recursiveLoop?: RecursiveLoop;
}

export interface ConsumeProps {
  readonly queue: WorkQueue;
  /** Most concurrent invocations by this queue, 2 to 1000. */
  readonly maxConcurrency: number;
  /** Messages at once; over 10 only with a window. @default 10 */
  readonly batchSize?: number;
  /** How long messages are gathered for a batch. @default not at all */
  readonly window?: Duration;
}

/**
 * One function with what belongs to it: its log group, which forgets, and a role that may write there and nothing else
 * (Lambda's managed policy would allow it to write every log of the account). Grants add to that role.
 */
export class NodeFunction extends Construct {
  readonly name: string;
  readonly logGroupName: string;
  protected readonly role: Role;
  protected readonly function: LambdaFunction;

  constructor(scope: Construct, id: string, props: NodeFunctionProps) {
    super(scope, id);
    const { settings } = props;
    const logGroup = new LogGroup(this, 'LogGroup', {
      retention: settings.logRetentionDays,
      removalPolicy: removalOf(settings.local),
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(this.role);
    this.function = new LambdaFunction(this, 'Function', {
      description: props.description,
      code: functionCode(props.entry),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.memoryMegabytes,
      timeout: props.timeout,
      role: this.role,
      logGroup,
      ...(props.recursiveLoop === undefined ? {} : { recursiveLoop: props.recursiveLoop }),
      ...(settings.tracing ? { tracing: Tracing.ACTIVE } : {}),
      environment: {
        ...(props.threads === undefined ? {} : { UV_THREADPOOL_SIZE: String(props.threads) }),
        ...named({
          ...everywhere(settings),
          serviceDomain: Stack.of(this).urlSuffix,
          ...props.environment,
        }),
      },
    });
    if (settings.tracing)
      acknowledgeWildcard(this.role, '*', "X-Ray has no resources to name: traces are the account's.");
    this.name = this.function.functionName;
    this.logGroupName = logGroup.logGroupName;
  }

  get lambda(): IFunction {
    return this.function;
  }

  /** Has a deployment update another function first, which has to understand what this one sends it. */
  updateAfter(receiver: NodeFunction): void {
    this.function.node.addDependency(receiver.function);
  }

  /**
   * Feeds the function from a queue: several messages at once, each answered for by itself. Concurrency is bounded by
   * the mapping, so that nothing is reserved: accounts with a small quota refuse reservations.
   */
  protected consume(id: string, { queue, maxConcurrency, batchSize = BATCH, window }: ConsumeProps): void {
    queue.grantConsume(this.role);
    new EventSourceMapping(this, id, {
      target: this.function,
      eventSourceArn: queue.arn,
      batchSize,
      maxConcurrency,
      ...(window === undefined ? {} : { maxBatchingWindow: window }),
      reportBatchItemFailures: true,
    });
  }
}

/** How much of what is to be accepted or attempted first is taken at once. Retries are not gathered: they are due by the second. */
export function batchesOf({ messagesPerBatch, batchWindowSeconds }: DeploymentSettings) {
  return {
    batchSize: messagesPerBatch,
    ...(batchWindowSeconds === 0 ? {} : { window: Duration.seconds(batchWindowSeconds) }),
  };
}

function everywhere({ deployment, logLevel, logSuccessSampling }: DeploymentSettings): FunctionVariables {
  return {
    deployment,
    version: product.version,
    logLevel,
    logSuccessSampling: String(logSuccessSampling),
  };
}

function named(values: FunctionVariables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([key, name]) => {
      const value = new Map(Object.entries(values)).get(key);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
