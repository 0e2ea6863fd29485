import { fileURLToPath } from 'node:url';
import type { Duration } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  EventSourceMapping,
  type IFunction,
  type RecursiveLoop,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import packageJson from '../../package.json' with { type: 'json' };
import { variables } from '../../shared/config/variables.ts';
import type { DeploymentSettings } from '../settings.ts';
import { removalOf } from './protection.ts';
import type { WorkQueue } from './sqs-queue.ts';

const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * Packages that are CommonJS inside call `require`, which an ES module has not. The long name cannot meet one of the
 * minified bundle's own.
 */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

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
  /** @default Lambda's own: a function that feeds itself is stopped after some 16 rounds */
  readonly recursiveLoop?: RecursiveLoop;
}

export interface ConsumeProps {
  readonly queue: WorkQueue;
  /** Most concurrent invocations by this queue, 2 to 1000. */
  readonly maxConcurrency: number;
  /** Messages at once, 1 to 10. @default 10 */
  readonly batchSize?: number;
}

/**
 * One function with what belongs to it: its log group, which forgets, and a role that may write there and nothing else
 * (Lambda's managed policy would allow it to write every log of the account). Grants add to that role.
 */
export class NodeFunction extends Construct {
  readonly name: string;
  protected readonly role: Role;
  protected readonly function: NodejsFunction;

  constructor(scope: Construct, id: string, props: NodeFunctionProps) {
    super(scope, id);
    const { settings } = props;
    const logGroup = new LogGroup(this, 'LogGroup', {
      retention: settings.logRetentionDays,
      removalPolicy: removalOf(settings.local),
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(this.role);
    this.function = new NodejsFunction(this, 'Function', {
      description: props.description,
      entry: project(`functions/${props.entry}/handler.ts`),
      projectRoot: project(''),
      depsLockFilePath: project('package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.memoryMegabytes,
      timeout: props.timeout,
      role: this.role,
      logGroup,
      ...(props.recursiveLoop === undefined ? {} : { recursiveLoop: props.recursiveLoop }),
      // It is about the SDK's version 2.
      awsSdkConnectionReuse: false,
      environment: {
        NODE_OPTIONS: '--enable-source-maps',
        ...named({ deployment: settings.deployment, version: packageJson.version, ...props.environment }),
      },
      bundling: {
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
        banner: REQUIRE,
        bundleAwsSDK: true,
        minify: true,
        // Names of classes are names of errors in the logs.
        keepNames: true,
        sourceMap: true,
        sourcesContent: false,
      },
    });
    this.name = this.function.functionName;
  }

  get lambda(): IFunction {
    return this.function;
  }

  /**
   * Feeds the function from a queue: up to 10 messages at once, each answered for by itself. Concurrency is bounded by
   * the mapping, so that nothing is reserved: accounts with a small quota refuse reservations.
   */
  protected consume(id: string, { queue, maxConcurrency, batchSize = BATCH }: ConsumeProps): void {
    queue.grantConsume(this.role);
    new EventSourceMapping(this, id, {
      target: this.function,
      eventSourceArn: queue.arn,
      batchSize,
      maxConcurrency,
      reportBatchItemFailures: true,
    });
  }
}

const named = (values: FunctionVariables): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([key, name]) => {
      const value = new Map(Object.entries(values)).get(key);
      return value === undefined ? [] : [[name, value]];
    }),
  );
