import { Duration, Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { Cluster, ContainerImage } from 'aws-cdk-lib/aws-ecs';
import { describe, expect, it } from 'vitest';
import { Posthaste, type PosthasteProps, WorkerService, type WorkerServiceProps } from '../../infra/index.ts';
import { testApp } from './templates.ts';

const image = ContainerImage.fromRegistry('registry.example.com/posthaste-worker:1');
const stack = new Stack(testApp(), 'Shop');
const pipelineOf = (id: string, props: PosthasteProps) => new Posthaste(stack, id, props).pipeline;

const pipeline = pipelineOf('Plain', { compute: 'worker' });
const behind = pipelineOf('Behind', { compute: 'both', staticAddresses: 1 });
const vpc = new Vpc(stack, 'Network', { natGateways: 1, restrictDefaultSecurityGroup: false });
const cluster = new Cluster(stack, 'Cluster', { vpc });

describe('a WorkerService', () => {
  it.each<[problem: string, props: Omit<WorkerServiceProps, 'image'>]>([
    [
      'compute (lambda) must be both or worker',
      { pipeline: pipelineOf('Functions', { compute: 'lambda' }), vpc },
    ],
    ['cluster or vpc is required', { pipeline }],
    ['vpc cannot be combined with cluster', { pipeline, vpc, cluster }],
    ['cluster or vpc must be in state.staticAddresses.vpc', { pipeline: behind, vpc }],
    ['steps must name at least one step', { pipeline, vpc, steps: [] }],
    ['minCount (0) must be at least 1', { pipeline, vpc, minCount: 0 }],
    ['maxCount (1) must be at least minCount (2)', { pipeline, vpc, minCount: 2, maxCount: 1 }],
    ['shutdownTime (116 s) must be from 3', { pipeline, vpc, shutdownTime: Duration.seconds(116) }],
    ['shutdownTime (2 s) must be from 3', { pipeline, vpc, shutdownTime: Duration.seconds(2) }],
  ])('is refused if it cannot work: %s', (problem, props) => {
    const scope = new Stack(testApp(), 'Refused');
    expect(() => new WorkerService(scope, 'Workers', { ...props, image })).toThrow(
      `These settings cannot be deployed:\n  ${problem}`,
    );
  });

  it('sends requests from the static addresses, if there are any', () => {
    const service = new WorkerService(stack, 'Workers', { pipeline: behind, image });
    expect(service.cluster.vpc).toBe(behind.state.staticAddresses?.vpc);
  });

  it('may be elsewhere if it sends no requests', () => {
    const service = new WorkerService(stack, 'Dispatching', {
      pipeline: behind,
      image,
      vpc,
      steps: ['dispatch'],
    });
    expect(service.cluster.vpc).toBe(vpc);
  });
});
