import { Duration } from 'aws-cdk-lib';
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
import { workerSteps, type WorkerStep } from '../../shared/config/rules.ts';
import { SettingsError } from '../settings.ts';
import { acknowledgeWildcard } from './findings.ts';
import { acknowledge } from './newer-cdk.ts';
import type { Pipeline } from './pipeline.ts';
import { removalOf } from './state/protection.ts';
import { LONGEST_PAUSE_SECONDS, scaleOnLateness } from './worker-scaling.ts';
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
  /** CPU units of a task, 1024 for one CPU. @default 512 */
  readonly cpu?: number;
  /** @default 1024 */
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
const MOST_STOP_SECONDS = 120;
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
    const { pipeline, steps = workerSteps, minCount = 1, maxCount = 4 } = props;
    const { settings, staticAddresses } = pipeline.state;
    const shutdownSeconds =
      props.shutdownTime?.toSeconds() ?? settings.attemptTimeoutSeconds + ENDING_SECONDS;
    const vpc = props.cluster?.vpc ?? props.vpc ?? staticAddresses?.vpc;
    const problems = problemsOf({ ...props, steps, minCount, maxCount, shutdownSeconds });
    if (vpc === undefined) problems.push('cluster or vpc is required, except with staticAddresses');
    if (vpc === undefined || problems.length > 0) throw new SettingsError(problems);

    this.cluster = props.cluster ?? clusterIn(this, vpc);
    this.logGroup = new LogGroup(this, 'LogGroup', {
      retention: settings.logRetentionDays,
      removalPolicy: removalOf(settings.local),
    });
    const taskDefinition = new FargateTaskDefinition(this, 'Task', {
      cpu: props.cpu ?? 512,
      memoryLimitMiB: props.memoryLimitMiB ?? 1024,
      runtimePlatform: {
        cpuArchitecture: CpuArchitecture.ARM64,
        operatingSystemFamily: OperatingSystemFamily.LINUX,
      },
    });
    this.taskRole = taskDefinition.taskRole;
    for (const step of steps) pipeline[step].grantWork(this.taskRole);
    taskDefinition.addContainer('Worker', {
      image: props.image,
      // The later one counts where the image has the same option.
      command: [
        ...['--steps', steps.join(',')],
        ...['--shutdown-seconds', String(shutdownSeconds)],
        ...['--health-host', '127.0.0.1', '--health-port', String(HEALTH_PORT)],
        ...['--ceiling', String(LONGEST_PAUSE_SECONDS)],
        ...(props.options ?? []),
      ],
      environment: workerVariables(pipeline, pipeline),
      logging: LogDriver.awsLogs({ logGroup: this.logGroup, streamPrefix: 'worker' }),
      healthCheck: { command: ['CMD', 'node', '-e', HEALTH_CHECK], startPeriod: Duration.seconds(30) },
      stopTimeout: Duration.seconds(shutdownSeconds + MARGIN_SECONDS),
      readonlyRootFilesystem: true,
      linuxParameters: withoutCapabilities(this),
    });
    acknowledgeTask(taskDefinition);
    const vpcSubnets = props.vpcSubnets ?? { subnetType: SubnetType.PRIVATE_WITH_EGRESS };
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
    scaleOnLateness(this.service, { pipeline, steps, minCount, maxCount });
  }
}

type Checked = Required<Pick<WorkerServiceProps, 'pipeline' | 'steps' | 'minCount' | 'maxCount'>> &
  Pick<WorkerServiceProps, 'cluster' | 'vpc'> & { readonly shutdownSeconds: number };

function problemsOf({ pipeline, cluster, vpc, ...given }: Checked): string[] {
  const { steps, minCount, maxCount, shutdownSeconds } = given;
  const { settings, staticAddresses } = pipeline.state;
  const longest = MOST_STOP_SECONDS - MARGIN_SECONDS;
  const chosen = cluster?.vpc ?? vpc;
  const isElsewhere = staticAddresses !== undefined && chosen !== undefined && chosen !== staticAddresses.vpc;
  const rules: [isBroken: boolean, problem: string][] = [
    [settings.compute === 'lambda', 'compute (lambda) must be both or worker for a WorkerService'],
    [cluster !== undefined && vpc !== undefined, 'vpc cannot be combined with cluster, which has one'],
    [
      isElsewhere && steps.includes('deliver'),
      'cluster or vpc must be in state.staticAddresses.vpc: requests would come from other addresses',
    ],
    [steps.length === 0, 'steps must name at least one step'],
    [!(minCount >= 1), `minCount (${minCount}) must be at least 1`],
    [!(maxCount >= minCount), `maxCount (${maxCount}) must be at least minCount (${minCount})`],
    [
      !(shutdownSeconds >= 3 && shutdownSeconds <= longest),
      `shutdownTime (${shutdownSeconds} s) must be from 3 to ${longest} seconds`,
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);
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

function withoutCapabilities(scope: Construct): LinuxParameters {
  const parameters = new LinuxParameters(scope, 'Linux');
  parameters.dropCapabilities(Capability.ALL);
  return parameters;
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
