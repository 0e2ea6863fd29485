import { Duration, Token } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { type IVpc, type SubnetSelection, SubnetType } from 'aws-cdk-lib/aws-ec2';
import {
  Capability,
  Cluster,
  type ContainerImage,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  type ICluster,
  LinuxParameters,
  LogDriver,
  OperatingSystemFamily,
} from 'aws-cdk-lib/aws-ecs';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type WorkerStep, workerSteps } from '../../shared/config/rules.ts';
import { SettingsError } from '../settings.ts';
import { acknowledgeWildcard } from './findings.ts';
import { acknowledge } from './newer-cdk.ts';
import type { Pipeline } from './pipeline.ts';
import { chooseRemovalPolicy } from './state/protection.ts';
import { workerVariables } from './workers.ts';

export interface WorkerServiceProps {
  /** Its setting `compute` must be `both` or `worker`. */
  readonly pipeline: Pipeline;
  /**
   * An image for arm64 whose entry point is `posthaste worker`, as of examples/worker/Containerfile:
   * `ContainerImage.fromAsset(folder, { file: 'Containerfile', platform: Platform.LINUX_ARM64 })`.
   */
  readonly image: ContainerImage;
  /** @default a cluster in `vpc` */
  readonly cluster?: ICluster;
  /** Instead of `cluster`. @default the VPC of `staticAddresses` */
  readonly vpc?: IVpc;
  /** Subnets that reach AWS and the subscribers. Tasks get no public address. @default private subnets with egress */
  readonly vpcSubnets?: SubnetSelection;
  /** What the workers do. @default all steps */
  readonly steps?: readonly WorkerStep[];
  /** More options of `posthaste worker`, such as `['--concurrency', '100']`. @default none */
  readonly options?: readonly string[];
  /** CPU units of a task, 1024 for one CPU. @default 512, with which a delivery costs least (docs/worker.md#fargate) */
  readonly cpu?: number;
  /** @default 1024, or twice `cpu` where Fargate has no less */
  readonly memoryLimitMiB?: number;
  /** The fewest tasks, at least 1. @default 1 */
  readonly minCount?: number;
  /** The most tasks. @default 4 */
  readonly maxCount?: number;
  /** From SIGTERM to the exit, 3 to 115 seconds. @default `attemptTimeout` and 10 seconds */
  readonly shutdownTime?: Duration;
}

const HEALTH_PORT = 8080;

/** Fargate's longest `stopTimeout`, and what it leaves a task after the worker's own limit. */
const MAX_STOP_SECONDS = 120;
const MARGIN_SECONDS = 5;

/** Beyond the attempts: the last records, deletions and log lines. */
const ENDING_SECONDS = 10;

/** The images have Node.js, and need not have curl. */
const HEALTH_CHECK = `fetch('http://127.0.0.1:${HEALTH_PORT}/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`;

/**
 * Runs workers on Fargate, and as many as the waiting messages need (docs/worker.md#fargate). Their role may do what
 * the functions of the same steps may do, and nothing else.
 * @throws SettingsError naming each invalid property
 */
export class WorkerService extends Construct {
  readonly service: FargateService;
  readonly cluster: ICluster;
  readonly taskRole: IRole;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: WorkerServiceProps) {
    super(scope, id);
    const completed = completedProps(props);
    const { vpc, vpcSubnets } = completed;
    const { settings } = props.pipeline.state;
    this.cluster = props.cluster ?? clusterIn(this, vpc);
    this.logGroup = new LogGroup(this, 'LogGroup', {
      retention: settings.logRetentionDays,
      removalPolicy: chooseRemovalPolicy(settings.local),
    });
    const taskDefinition = taskIn(this, completed, this.logGroup);
    this.taskRole = taskDefinition.taskRole;
    for (const step of completed.steps) props.pipeline[step].grantWork(this.taskRole);
    this.service = new FargateService(this, 'Service', {
      cluster: this.cluster,
      taskDefinition,
      vpcSubnets,
      assignPublicIp: false,
      circuitBreaker: { rollback: true },
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
    });
    this.service.node.addDependency(vpc.selectSubnets(vpcSubnets).internetConnectivityEstablished);
    scaleOnLateness(this.service, completed);
  }
}

type CompletedProps = Omit<Required<WorkerServiceProps>, 'cluster' | 'shutdownTime'> & {
  readonly shutdownSeconds: number;
};

/** @throws SettingsError naming each invalid property */
function completedProps({
  steps = workerSteps,
  options = [],
  cpu = 512,
  memoryLimitMiB = Math.max(1024, 2 * cpu),
  minCount = 1,
  maxCount = 4,
  vpcSubnets = { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
  ...props
}: WorkerServiceProps): CompletedProps {
  const { pipeline, image } = props;
  const completed = {
    ...{ pipeline, image, steps, options, cpu, memoryLimitMiB, minCount, maxCount, vpcSubnets },
    vpc: chooseVpc(props),
    shutdownSeconds: computeShutdownSeconds(props),
  };
  refuseInvalid(completed);
  return completed;
}

function computeShutdownSeconds({ pipeline, shutdownTime }: WorkerServiceProps): number {
  return shutdownTime?.toSeconds() ?? pipeline.state.settings.attemptTimeoutSeconds + ENDING_SECONDS;
}

function chooseVpc({ pipeline, cluster, vpc }: WorkerServiceProps): IVpc {
  if (cluster !== undefined && vpc !== undefined)
    throw new SettingsError(['vpc cannot be combined with cluster, which has one']);
  const chosen = cluster?.vpc ?? vpc ?? pipeline.state.staticAddresses?.vpc;
  if (chosen === undefined)
    throw new SettingsError(['cluster or vpc is required, except with staticAddresses']);
  return chosen;
}

function refuseInvalid({ pipeline, vpc, vpcSubnets, ...props }: CompletedProps): void {
  const { steps, minCount, maxCount, shutdownSeconds } = props;
  refuseTokens({ minCount, maxCount, shutdownTime: shutdownSeconds });
  const { settings, staticAddresses } = pipeline.state;
  const longest = MAX_STOP_SECONDS - MARGIN_SECONDS;
  const rules: [isKept: boolean, problem: string][] = [
    [settings.compute !== 'lambda', 'compute (lambda) must be both or worker for a WorkerService'],
    [
      vpc === (staticAddresses?.vpc ?? vpc) || !steps.includes('deliver'),
      'cluster or vpc must be in state.staticAddresses.vpc: requests would come from other addresses',
    ],
    [
      !vpc.selectSubnets(vpcSubnets).hasPublic,
      'vpcSubnets must be private: tasks get no public address, so from public ones they reach nothing',
    ],
    [
      steps.length > 0 && steps.every((step) => workerSteps.includes(step)),
      `steps must be one or more of ${workerSteps.join(', ')}`,
    ],
    [minCount >= 1, `minCount (${minCount}) must be at least 1`],
    [maxCount >= minCount, `maxCount (${maxCount}) must be at least minCount (${minCount})`],
    [
      shutdownSeconds >= 3 && shutdownSeconds <= longest,
      `shutdownTime (${shutdownSeconds} s) must be from 3 to ${longest} seconds`,
    ],
  ];
  const problems = rules.filter(([isKept]) => !isKept).map(([, problem]) => problem);
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Otherwise they would be compared as the numbers in which CDK hides tokens. */
function refuseTokens(values: Readonly<Record<string, number>>): void {
  const problems = Object.entries(values)
    .filter(([, value]) => Token.isUnresolved(value))
    .map(([name]) => `${name} must be known at synthesis, but is a token of CDK`);
  if (problems.length > 0) throw new SettingsError(problems);
}

function taskIn(scope: Construct, props: CompletedProps, logGroup: LogGroup): FargateTaskDefinition {
  const { pipeline, image, steps, options, cpu, memoryLimitMiB, shutdownSeconds } = props;
  const task = new FargateTaskDefinition(scope, 'Task', {
    cpu,
    memoryLimitMiB,
    runtimePlatform: {
      cpuArchitecture: CpuArchitecture.ARM64,
      operatingSystemFamily: OperatingSystemFamily.LINUX,
    },
  });
  const linuxParameters = new LinuxParameters(scope, 'Linux');
  linuxParameters.dropCapabilities(Capability.ALL);
  task.addContainer('Worker', {
    image,
    // The later one counts where the image has the same option.
    command: [
      ...['--steps', steps.join(',')],
      ...['--shutdown-seconds', String(shutdownSeconds)],
      ...['--health-host', '127.0.0.1', '--health-port', String(HEALTH_PORT)],
      ...['--ceiling', String(LONGEST_PAUSE_SECONDS)],
      ...options,
    ],
    environment: workerVariables(pipeline, pipeline),
    logging: LogDriver.awsLogs({ logGroup, streamPrefix: 'worker' }),
    healthCheck: { command: ['CMD', 'node', '-e', HEALTH_CHECK], startPeriod: Duration.seconds(30) },
    stopTimeout: Duration.seconds(shutdownSeconds + MARGIN_SECONDS),
    readonlyRootFilesystem: true,
    linuxParameters,
  });
  acknowledgeTask(task);
  return task;
}

function clusterIn(scope: Construct, vpc: IVpc): Cluster {
  const cluster = new Cluster(scope, 'Cluster', { vpc });
  acknowledge(cluster, {
    id: 'AwsSolutions-ECS4',
    reason:
      'Workers write metrics of their work, and the queues show what waits. Container Insights costs extra.',
  });
  return cluster;
}

function acknowledgeTask(task: FargateTaskDefinition): void {
  acknowledge(task, {
    id: 'AwsSolutions-ECS2',
    reason: 'The variables are names, addresses and settings, as those of the functions. None is secret.',
  });
  acknowledgeWildcard(
    task.obtainExecutionRole(),
    '*',
    'Amazon ECR does not support resource ARNs for its authorization token.',
  );
}

/** Workers of the service poll at least so often when idle, so that the age of a message speaks of load, not of pauses. */
const LONGEST_PAUSE_SECONDS = 5;

/** One more task from 30 s of lateness on, two more from 2 minutes on, one less below the longest pause. */
function scaleOnLateness(
  service: FargateService,
  { pipeline, steps, minCount, maxCount }: CompletedProps,
): void {
  const scaling = service.autoScaleTaskCount({ minCapacity: minCount, maxCapacity: maxCount });
  const metric = buildLateness(pipeline, steps);
  if (metric === undefined) return;
  scaling.scaleOnMetric('Lateness', {
    metric,
    scalingSteps: [
      { upper: LONGEST_PAUSE_SECONDS, change: -1 },
      { lower: 30, change: 1 },
      { lower: 120, change: 2 },
    ],
    evaluationPeriods: 2,
    cooldown: Duration.minutes(2),
  });
}

/**
 * Seconds by which the oldest waiting message of these steps is late. Undefined for steps that do not speak of load.
 * A queue where nothing waits is on time: its oldest message is in work, or was delayed until now. Retries are planned
 * to wait in their queue for up to `schedulerThreshold`.
 */
function buildLateness(
  { queues, state }: Pipeline,
  steps: readonly WorkerStep[],
): MathExpression | undefined {
  const late = [
    ...(steps.includes('dispatch') ? [{ name: 'Ingress', queue: queues.ingress, planned: 0 }] : []),
    ...(steps.includes('deliver')
      ? [
          { name: 'Delivery', queue: queues.delivery, planned: 0 },
          { name: 'Retry', queue: queues.retry, planned: state.settings.schedulerThreshold },
        ]
      : []),
  ].map(({ name, queue, planned }) => ({
    // SQS writes no data for a queue that is unused for six hours.
    expression: `IF(FILL(waiting${name}, 0) > 0, FILL(age${name}, 0) - ${planned}, 0)`,
    metrics: {
      [`waiting${name}`]: queue.metricWaiting(),
      [`age${name}`]: queue.metricAgeOfOldest(),
    },
  }));
  if (late.length === 0) return undefined;
  return new MathExpression({
    label: 'Oldest waiting message, seconds late',
    expression: `MAX([${late.map(({ expression }) => expression).join(', ')}])`,
    usingMetrics: Object.fromEntries(late.flatMap(({ metrics }) => Object.entries(metrics))),
    period: Duration.minutes(1),
  });
}
