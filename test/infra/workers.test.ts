import { fileURLToPath } from 'node:url';
import { Duration, Stack, Token } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Platform } from 'aws-cdk-lib/aws-ecr-assets';
import { Cluster, ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { worker as planned } from '../../cli/commands/plan/quantities.ts';
import { worker as addTo } from '../../cli/commands/worker/worker.ts';
import { terminalIn } from '../../cli/terminal.ts';
import { metricMath, type Period } from '../support/metric-math.ts';
import { checkedVariants } from '../../infra/checked-variants.ts';
import {
  environmentAt,
  type Resource,
  resourceAt,
  resourcesOf,
  statementsIn,
  templatesFor,
  testApp,
} from './templates.ts';
import { Posthaste } from '../../infra/constructs/posthaste.ts';
import { type PosthasteProps } from '../../infra/posthaste-props.ts';
import type { WorkerStep } from '../../shared/config/rules.ts';
import { WorkerService, type WorkerServiceProps } from '../../infra/constructs/worker-service.ts';

const image = ContainerImage.fromAsset(fileURLToPath(new URL('../../examples/worker', import.meta.url)), {
  file: 'Containerfile',
  platform: Platform.LINUX_ARM64,
});

const app = testApp();
const stack = new Stack(app, 'Shop');
const { pipeline } = new Posthaste(stack, 'Webhooks', {
  compute: 'worker',
  logRetention: RetentionDays.TWO_WEEKS,
});
const vpc = new Vpc(stack, 'Network', { natGateways: 1, restrictDefaultSecurityGroup: false });
const workers = new WorkerService(stack, 'Workers', { pipeline, image, vpc });
new WorkerService(stack, 'Some', {
  pipeline,
  image,
  cluster: workers.cluster,
  steps: ['dispatch', 'deliver'],
  options: ['--concurrency', '100'],
  cpu: 1024,
  shutdownTime: Duration.seconds(60),
  minCount: 2,
  maxCount: 9,
});
const template = Template.fromStack(stack);

/** The functions that a worker stands in for. */
const WORKING = ['Dispatch', 'Deliver', 'Reconcile', 'Operate'];

const object = z.record(z.string(), z.unknown());

const container = z.object({
  Command: z.array(z.string()),
  Environment: z.array(z.object({ Name: z.string(), Value: z.unknown() })),
  HealthCheck: z.object({ Command: z.array(z.string()) }),
  LogConfiguration: z.object({ LogDriver: z.literal('awslogs'), Options: object }),
  ReadonlyRootFilesystem: z.boolean(),
  StopTimeout: z.number(),
});

const taskOf = (name: string) => {
  const { Properties } = resourceAt(template, 'AWS::ECS::TaskDefinition', `${name}Task`);
  const { ContainerDefinitions } = z.object({ ContainerDefinitions: z.tuple([container]) }).parse(Properties);
  return { Properties, container: ContainerDefinitions[0] };
};

/** What the policies of a role allow, a line for each action on each resource, without writing logs. */
const allowedTo = (isRole: (id: string) => boolean): string[] => {
  const attached = z.object({ Roles: z.array(z.object({ Ref: z.string() })).default([]) });
  return ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
    .flatMap((type) => [...resourcesOf(template, type).values()])
    .filter(({ Properties }) => attached.parse(Properties).Roles.some(({ Ref }) => isRole(Ref)))
    .flatMap(statementsIn)
    .flatMap(({ effect, actions, resources, condition }) =>
      actions.flatMap((action) =>
        resources.map((resource) => JSON.stringify([effect, action, resource, condition])),
      ),
    )
    .filter((line) => !line.includes('"logs:'))
    .filter((line, index, all) => all.indexOf(line) === index)
    .toSorted();
};

const allowedToFunctions = (...names: string[]): string[] =>
  allowedTo((id) => names.some((name) => id.startsWith(`WebhooksPipeline${name}Role`)));

const allowedToTask = (name: string): string[] => allowedTo((id) => id.startsWith(`${name}TaskTaskRole`));

const optionsOf = (name: string): unknown => {
  const command = new Command('worker').exitOverride();
  addTo(command, terminalIn(process));
  expect(command.parseOptions(taskOf(name).container.Command)).toEqual({ operands: [], unknown: [] });
  return command.opts();
};

describe('workers on Fargate', () => {
  it('run on arm64 with half a CPU', () => {
    expect(taskOf('Workers').Properties).toMatchObject({
      Cpu: '512',
      Memory: '1024',
      NetworkMode: 'awsvpc',
      RuntimePlatform: { CpuArchitecture: 'ARM64', OperatingSystemFamily: 'LINUX' },
    });
  });

  it('have the memory that Fargate demands for more of a CPU', () => {
    expect(taskOf('Some').Properties).toMatchObject({ Cpu: '1024', Memory: '2048' });
  });

  it('may do what the functions of their steps may do, and nothing else', () => {
    const all = allowedToTask('Workers');
    expect(all).toEqual(allowedToFunctions(...WORKING));
    const some = allowedToTask('Some');
    expect(some).toEqual(allowedToFunctions('Dispatch', 'Deliver'));
    expect(some.length).toBeGreaterThan(10);
  });

  it('have the variables of the functions and the region, as has the output', () => {
    const variables = WORKING.flatMap((name) =>
      Object.keys(environmentAt(template, `WebhooksPipeline${name}Function`)),
    );
    const names = [...new Set([...variables, 'AWS_REGION'])].toSorted();
    const environment = taskOf('Workers').container.Environment;
    expect(environment.map(({ Name }) => Name).toSorted()).toEqual(names);
    expect(environment).toContainEqual({ Name: 'AWS_REGION', Value: { Ref: 'AWS::Region' } });
    const { 'Fn::Join': output } = z
      .object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) })
      .parse(stack.resolve(pipeline.workerEnvironment));
    const text = output[1].map((part) => (typeof part === 'string' ? part : 'reference')).join('');
    expect(Object.keys(object.parse(JSON.parse(text))).toSorted()).toEqual(names);
  });

  it('do the steps and take the options that the properties name', () => {
    expect(optionsOf('Workers')).toMatchObject({ steps: ['dispatch', 'deliver', 'reconcile', 'operate'] });
    expect(optionsOf('Some')).toMatchObject({ steps: ['dispatch', 'deliver'], concurrency: 100 });
  });

  it('have time for an attempt to end, and end before Fargate kills them', () => {
    const { attemptTimeoutSeconds } = pipeline.state.settings;
    expect(optionsOf('Workers')).toMatchObject({ shutdownSeconds: attemptTimeoutSeconds + 10 });
    expect(taskOf('Workers').container.StopTimeout).toBe(attemptTimeoutSeconds + 15);
    expect(optionsOf('Some')).toMatchObject({ shutdownSeconds: 60 });
    expect(taskOf('Some').container.StopTimeout).toBe(65);
  });

  it('are asked for their health where they serve it', () => {
    expect(optionsOf('Workers')).toMatchObject({ healthHost: '127.0.0.1', healthPort: 8080 });
    const { Command: check } = taskOf('Workers').container.HealthCheck;
    expect(check.slice(0, 3)).toEqual(['CMD', 'node', '-e']);
    expect(check[3]).toContain("fetch('http://127.0.0.1:8080/health')");
  });

  it('write to a log that expires, and to no file', () => {
    const { LogConfiguration, ReadonlyRootFilesystem } = taskOf('Workers').container;
    const { id, Properties } = resourceAt(template, 'AWS::Logs::LogGroup', 'WorkersLogGroup');
    expect(LogConfiguration.Options['awslogs-group']).toEqual({ Ref: id });
    expect(Properties).toEqual({ RetentionInDays: 14 });
    expect(ReadonlyRootFilesystem).toBe(true);
  });

  it('are replaced without a gap, and a deployment that fails is rolled back', () => {
    const { Properties } = resourceAt(template, 'AWS::ECS::Service', 'WorkersService');
    expect(Properties).toMatchObject({
      LaunchType: 'FARGATE',
      DeploymentConfiguration: {
        DeploymentCircuitBreaker: { Enable: true, Rollback: true },
        MinimumHealthyPercent: 100,
        MaximumPercent: 200,
      },
    });
    // A count would undo what the scaling decided, with each deployment.
    expect(Properties).not.toHaveProperty('DesiredCount');
  });

  it('are in private subnets, and nothing can connect to them', () => {
    const { Properties } = resourceAt(template, 'AWS::ECS::Service', 'WorkersService');
    expect(Properties['NetworkConfiguration']).toMatchObject({
      AwsvpcConfiguration: {
        AssignPublicIp: 'DISABLED',
        Subnets: vpc.privateSubnets.map(({ subnetId }) => stack.resolve(subnetId) as unknown),
      },
    });
    const group = resourceAt(template, 'AWS::EC2::SecurityGroup', 'WorkersServiceSecurityGroup');
    expect(group.Properties).not.toHaveProperty('SecurityGroupIngress');
    expect(resourcesOf(template, 'AWS::EC2::SecurityGroupIngress').size).toBe(0);
  });

  it('have no finding of cdk-nag that is not acknowledged', () => {
    const paths = new AwsSolutionsChecks(app)
      .validateScope(app)
      .violations.flatMap(({ ruleName, violatingResources }) =>
        violatingResources.map(({ constructPath = '' }) => `${constructPath} ${ruleName}`),
      );
    expect(paths.filter((path) => /^Shop\/(?:Workers|Some)\//.test(path))).toEqual([]);
    // Those of the VPC, which is the test's.
    expect(paths.filter((path) => path.startsWith('Shop/Network/')).length).toBeGreaterThan(0);
  });
});

describe('the scaling of workers', () => {
  const schema = z.object({
    ComparisonOperator: z.string(),
    Threshold: z.number(),
    Metrics: z.array(z.object({ Expression: z.string().optional(), MetricStat: z.unknown().optional() })),
  });
  const alarms = [...resourcesOf(template, 'AWS::CloudWatch::Alarm')]
    .filter(([id]) => id.startsWith('WorkersService'))
    .map(([, { Properties }]) => schema.parse(Properties));
  const [expression = ''] = alarms.flatMap(({ Metrics }) =>
    Metrics.map((one) => one.Expression ?? []).flat(),
  );

  const late = (period: Period): number | undefined => metricMath(expression, period);

  it('stays within the counts', () => {
    const targets = [...resourcesOf(template, 'AWS::ApplicationAutoScaling::ScalableTarget').values()];
    expect(targets.map(({ Properties }) => [Properties['MinCapacity'], Properties['MaxCapacity']])).toEqual([
      [1, 4],
      [2, 9],
    ]);
  });

  it('costs what posthaste plan computes, for each metric of its alarms', () => {
    const read = alarms.flatMap(({ Metrics }) =>
      Metrics.filter(({ MetricStat }) => MetricStat !== undefined),
    );
    expect(planned.scalingMetrics).toBe(read.length);
  });

  it('adds tasks while messages are 30 s late, and removes them when they are not late', () => {
    expect(
      alarms.map(({ ComparisonOperator, Threshold }) => [ComparisonOperator, Threshold]).toSorted(),
    ).toEqual([
      ['GreaterThanOrEqualToThreshold', 30],
      ['LessThanOrEqualToThreshold', 5],
    ]);
    const changes = [...resourcesOf(template, 'AWS::ApplicationAutoScaling::ScalingPolicy')]
      .filter(([id]) => id.startsWith('WorkersService'))
      .map(([, { Properties }]) => Properties['StepScalingPolicyConfiguration']);
    expect(changes).toMatchObject([
      { StepAdjustments: [{ ScalingAdjustment: -1 }] },
      {
        StepAdjustments: [
          { MetricIntervalLowerBound: 0, MetricIntervalUpperBound: 90, ScalingAdjustment: 1 },
          { MetricIntervalLowerBound: 90, ScalingAdjustment: 2 },
        ],
      },
    ]);
  });

  const { schedulerThreshold } = pipeline.state.settings;

  it.each<[why: string, period: Period, seconds: number]>([
    [
      'the latest of the queues',
      { waitingDelivery: 3, ageDelivery: 40, waitingIngress: 1, ageIngress: 7 },
      40,
    ],
    [
      'the latest of the queues',
      { waitingDelivery: 3, ageDelivery: 40, waitingIngress: 1, ageIngress: 70 },
      70,
    ],
    ['what waits, not what is in flight', { waitingDelivery: 0, ageDelivery: 900 }, 0],
    ['no queue without data', {}, 0],
    ['the due time of a retry', { waitingRetry: 1, ageRetry: schedulerThreshold - 1 }, 0],
    ['the due time of a retry', { waitingRetry: 1, ageRetry: schedulerThreshold + 40 }, 40],
  ])('goes by %s: %j', (_why, period, seconds) => {
    expect(late(period)).toBe(seconds);
  });
});

const anyImage = ContainerImage.fromRegistry('registry.example.com/posthaste-worker:1');
const bank = new Stack(testApp(), 'Bank');
const pipelineOf = (id: string, props: PosthasteProps) => new Posthaste(bank, id, props).pipeline;

const functions = pipelineOf('Functions', { compute: 'lambda' });
const plain = pipelineOf('Plain', { compute: 'worker' });
const behind = pipelineOf('Behind', { compute: 'both', staticAddresses: 1 });
const network = new Vpc(bank, 'Network', { natGateways: 1, restrictDefaultSecurityGroup: false });
const cluster = new Cluster(bank, 'Cluster', { vpc: network });

describe('a WorkerService', () => {
  const placed = { pipeline: plain, vpc: network };

  it.each<[problem: string, props: Omit<WorkerServiceProps, 'image'>]>([
    ['compute (lambda) must be both or worker', { pipeline: functions, vpc: network }],
    ['cluster or vpc is required', { pipeline: plain }],
    ['vpc cannot be combined with cluster', { ...placed, cluster }],
    ['cluster or vpc must be in state.staticAddresses.vpc', { pipeline: behind, vpc: network }],
    ['steps must be one or more of dispatch, deliver,', { ...placed, steps: [] }],
    ['steps must be one or more of dispatch, deliver,', { ...placed, steps: ['delivers' as WorkerStep] }],
    [
      'maxCount must be known at synthesis, but is a token of CDK',
      { ...placed, maxCount: Token.asNumber({ Ref: 'Most' }) },
    ],
    ['vpcSubnets must be private', { ...placed, vpcSubnets: { subnetType: SubnetType.PUBLIC } }],
    ['minCount (0) must be at least 1', { ...placed, minCount: 0 }],
    ['maxCount (1) must be at least minCount (2)', { ...placed, minCount: 2, maxCount: 1 }],
    ['shutdownTime (116 s) must be from 3', { ...placed, shutdownTime: Duration.seconds(116) }],
    ['shutdownTime (2 s) must be from 3', { ...placed, shutdownTime: Duration.seconds(2) }],
  ])('is refused if it cannot work: %s', (problem, props) => {
    const scope = new Stack(testApp(), 'Refused');
    expect(() => new WorkerService(scope, 'Workers', { ...props, image: anyImage })).toThrow(
      `These settings cannot be deployed:\n  ${problem}`,
    );
  });

  it('sends requests from the static addresses, if there are any', () => {
    const service = new WorkerService(bank, 'Workers', { pipeline: behind, image: anyImage });
    expect(service.cluster.vpc).toBe(behind.state.staticAddresses?.vpc);
  });

  it('may be elsewhere if it sends no requests', () => {
    const service = new WorkerService(bank, 'Dispatching', {
      pipeline: behind,
      image: anyImage,
      vpc: network,
      steps: ['dispatch'],
    });
    expect(service.cluster.vpc).toBe(network);
  });
});

const { pipeline: worker } = templatesFor(checkedVariants['workers']);
const { pipeline: both } = templatesFor(checkedVariants['both']);

it('the setting compute, with worker, keeps the functions, which nothing invokes', () => {
  worker.resourceCountIs('AWS::Lambda::EventSourceMapping', 0);
  worker.hasResourceProperties('AWS::Events::Rule', { State: 'DISABLED' });
  for (const template of [worker, both])
    expect(Object.keys(template.findOutputs('WorkerPolicyArns'))).toHaveLength(1);
});

const actionsOf = (policy: Resource): string[] =>
  [...new Set(statementsIn(policy).flatMap(({ actions }) => actions))].toSorted();

it.each(WORKING)('a worker policy allows what the role of %s does, apart from its log', (name) => {
  const role = resourceAt(both, 'AWS::IAM::Policy', `Pipeline${name}RoleDefaultPolicy`);
  const policy = resourceAt(both, 'AWS::IAM::ManagedPolicy', `PipelineWorkerPolicies${name.toLowerCase()}`);
  expect(actionsOf(policy)).toEqual(actionsOf(role).filter((action) => !action.startsWith('logs:')));
  // A managed policy has up to 6,144 characters. A reference is about as long as the longest ARN or name in its place.
  expect(JSON.stringify(policy.Properties['PolicyDocument']).length).toBeLessThan(6_144);
});
