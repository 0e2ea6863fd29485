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
import { z } from 'zod';
import { type ResourcesOf, variableRows } from '../../../shared/config/resources.ts';
import type { FunctionName, Variable } from '../../../shared/config/rules.ts';
import { functionCode } from '../../function-code.ts';
import { product } from '../../product.ts';
import { type DeploymentSettings, SettingsError } from '../../settings.ts';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';
import { removalOf } from '../state/protection.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';

/** SQS gives a function at most 10 messages at once without a batch window, which would delay them (Lambda, SQS mappings). */
const BATCH = 10;

/** The resources that a function gets in its environment, apart from those that every function gets. */
export type Resources<F extends FunctionName> = Omit<ResourcesOf<F>, 'version'>;

export interface NodeFunctionProps<F extends FunctionName> {
  readonly settings: DeploymentSettings;
  /** Folder under `functions/`. */
  readonly entry: F;
  readonly description: string;
  readonly memoryMegabytes: number;
  readonly timeout: Duration;
  readonly resources: Resources<F>;
  /** Threads of libuv, in which names of AWS endpoints are looked up. @default libuv's own: 4 */
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
export class NodeFunction<F extends FunctionName = FunctionName> extends Construct {
  readonly name: string;
  readonly logGroupName: string;
  protected readonly role: Role;
  protected readonly function: LambdaFunction;

  constructor(scope: Construct, id: string, props: NodeFunctionProps<F>) {
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
      environment: checkedSize(this, props.entry, {
        ...(props.threads === undefined ? {} : { UV_THREADPOOL_SIZE: String(props.threads) }),
        ...environmentOf(props.entry, { ...settings, version: product.version, ...props.resources }),
      }),
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

const rows: Readonly<Record<string, Variable>> = variableRows;

/** The variables of the rows that name this function, those left out that have no value. */
function environmentOf(
  name: FunctionName,
  values: Readonly<Record<string, unknown>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(rows)
      .filter(([key, { functions }]) => functions.includes(name) && values[key] !== undefined)
      .map(([key, { variable }]) => [variable, textOf(values[key])]),
  );
}

/** What Lambda allows for all variables of a function together, names and values ("Lambda quotas", developer guide). */
const MOST_BYTES = 4096;

/** More than the URL, ARN or name that CloudFormation puts in the place of a reference. */
const REFERENCE_BYTES = 140;

/** The variables as they are. @throws SettingsError where Lambda would refuse them in the middle of a deployment */
function checkedSize(
  scope: Construct,
  name: FunctionName,
  variables: Record<string, string>,
): Record<string, string> {
  const sizes = Object.entries(variables).map(([variable, value]): [string, number] => [
    variable,
    variable.length + bytesOf(Stack.of(scope).resolve(value)),
  ]);
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (total <= MOST_BYTES) return variables;
  const largest = sizes.toSorted(([, one], [, other]) => other - one).slice(0, 3);
  throw new SettingsError([
    `together are too long for the environment of the function ${name}: ${total} bytes of ${MOST_BYTES}, of which ${largest
      .map(([variable, bytes]) => `${variable} ${bytes}`)
      .join(', ')}`,
  ]);
}

function bytesOf(resolved: unknown): number {
  if (typeof resolved === 'string') return Buffer.byteLength(resolved);
  const join = joined.safeParse(resolved);
  if (!join.success) return REFERENCE_BYTES;
  const [separator, parts] = join.data['Fn::Join'];
  return parts.reduce<number>((sum, part) => sum + bytesOf(part), separator.length * parts.length);
}

const joined = z.object({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) });

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
