import { Fn, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { Posthaste } from '../../infra/constructs/posthaste.ts';
import {
  type Resource,
  resourceAt,
  resourcesOf,
  statementsAt,
  type Templates,
  templatesFor,
  testApp,
} from './templates.ts';

const vpc = {
  vpcId: 'vpc-0123456789abcdef0',
  subnetIds: ['subnet-0123456789abcdef0', 'subnet-0123456789abcdef1'],
};

const templates = {
  none: templatesFor(),
  one: templatesFor({ staticAddresses: 1 }),
  two: templatesFor(checkedVariants['staticAddresses']),
  existing: templatesFor({ vpc }),
};

const deliverIn = ({ pipeline }: Pick<Templates, 'pipeline'>): Resource =>
  resourceAt(pipeline, 'AWS::Lambda::Function', 'PipelineDeliverFunction');

const placed = z.object({ VpcConfig: z.object({ SubnetIds: z.array(z.unknown()) }) });
const placedSubnets = ({ Properties }: Resource): unknown[] => placed.parse(Properties).VpcConfig.SubnetIds;

it('without a network setting, deliver is in no VPC', () => {
  expect(deliverIn(templates.none).Properties).not.toHaveProperty('VpcConfig');
});

describe.each([
  ['one', 1],
  ['two', 2],
] as const)('staticAddresses %s', (name, count) => {
  const { state, pipeline } = templates[name];

  it('creates as many addresses with a NAT gateway each, and retains them when the stack is deleted', () => {
    const addresses = [...resourcesOf(state, 'AWS::EC2::EIP')];
    expect(addresses.map(([, { DeletionPolicy }]) => DeletionPolicy)).toEqual(
      Array.from({ length: count }, () => 'Retain'),
    );
    const gateways = [...resourcesOf(state, 'AWS::EC2::NatGateway').values()];
    expect(gateways.map(({ Properties }) => Properties['AllocationId'])).toEqual(
      addresses.map(([id]) => ({ 'Fn::GetAtt': [id, 'AllocationId'] })),
    );
    expect(new Set(gateways.map(({ Properties }) => JSON.stringify(Properties['SubnetId']))).size).toBe(
      count,
    );
  });

  it('outputs the addresses', () => {
    const output = JSON.stringify(state.findOutputs('StaticAddresses'));
    for (const id of resourcesOf(state, 'AWS::EC2::EIP').keys())
      expect(output).toContain(JSON.stringify({ 'Fn::GetAtt': [id, 'PublicIp'] }));
  });

  it('routes private subnets to the internet through NAT, and to S3 and DynamoDB through endpoints', () => {
    const routes = [...resourcesOf(state, 'AWS::EC2::Route').values()].map(({ Properties }) => Properties);
    expect(routes.filter((route) => 'NatGatewayId' in route)).toHaveLength(2);
    const endpoints = [...resourcesOf(state, 'AWS::EC2::VPCEndpoint').values()];
    expect(endpoints.map(({ Properties }) => JSON.stringify(Properties['ServiceName']))).toEqual([
      expect.stringContaining('.s3"'),
      expect.stringContaining('.dynamodb"'),
    ]);
    for (const { Properties } of endpoints) {
      expect(Properties).toMatchObject({ VpcEndpointType: 'Gateway' });
      for (const subnet of ['PrivateSubnet1', 'PrivateSubnet2'])
        expect(JSON.stringify(Properties['RouteTableIds'])).toContain(`Vpc${subnet}RouteTable`);
    }
  });

  it('places only deliver in the private subnets', () => {
    const placed = [...resourcesOf(pipeline, 'AWS::Lambda::Function')].filter(
      ([, { Properties }]) => 'VpcConfig' in Properties,
    );
    expect(placed.map(([id]) => id.slice(0, -8))).toEqual(['PipelineDeliverFunction']);
    expect(placedSubnets(deliverIn(templates[name]))).toEqual(
      [1, 2].map((number) => ({
        'Fn::ImportValue': expect.stringContaining(`VpcPrivateSubnet${number}`) as unknown,
      })),
    );
  });
});

describe('the subnets of deliver', () => {
  it('are the same for one address and for two, so that a second can be added', () => {
    const subnets = ({ state }: Templates) => [...resourcesOf(state, 'AWS::EC2::Subnet')];
    expect(subnets(templates.one)).toEqual(subnets(templates.two));
    expect(subnets(templates.one)).toHaveLength(4);
    for (const [, { Properties }] of subnets(templates.one))
      expect(Properties).toMatchObject({ MapPublicIpOnLaunch: false });
  });

  it('can be in zones that are chosen by id, and are otherwise in the first two of the account', () => {
    const zonesIn = ({ state }: Templates, property: string) =>
      [...resourcesOf(state, 'AWS::EC2::Subnet').values()].map(({ Properties }) => Properties[property]);
    const chosen = templatesFor(checkedVariants['fromTheStart']);
    const ids = ['use1-az1', 'use1-az2'];
    expect(zonesIn(chosen, 'AvailabilityZoneId')).toEqual([...ids, ...ids]);
    expect(zonesIn(chosen, 'AvailabilityZone')).toEqual(Array(4).fill(undefined));
    const byPosition = [0, 1].map((at) => ({ 'Fn::Select': [at, { 'Fn::GetAZs': '' }] }));
    expect(zonesIn(templates.one, 'AvailabilityZone')).toEqual([...byPosition, ...byPosition]);
  });

  it('are those of the setting for an existing VPC, in which a security group is created', () => {
    expect(placedSubnets(deliverIn(templates.existing))).toEqual(vpc.subnetIds);
    templates.existing.pipeline.hasResourceProperties('AWS::EC2::SecurityGroup', { VpcId: vpc.vpcId });
  });
});

describe.each(['one', 'existing'] as const)('deliver in a network (%s)', (name) => {
  const { pipeline } = templates[name];

  it('accepts no connections, and can connect to any port by TCP', () => {
    const { id, Properties } = resourceAt(pipeline, 'AWS::EC2::SecurityGroup', 'PipelineDeliverNetworkGroup');
    expect(Properties).not.toHaveProperty('SecurityGroupIngress');
    expect(resourcesOf(pipeline, 'AWS::EC2::SecurityGroupIngress').size).toBe(0);
    expect(Properties['SecurityGroupEgress']).toMatchObject([
      { IpProtocol: 'tcp', FromPort: 0, ToPort: 65_535, CidrIp: '0.0.0.0/0' },
      { IpProtocol: 'udp', FromPort: 53, ToPort: 53, CidrIp: '0.0.0.0/0' },
    ]);
    expect(deliverIn({ pipeline }).Properties).toMatchObject({
      VpcConfig: { SecurityGroupIds: [{ 'Fn::GetAtt': [id, 'GroupId'] }] },
    });
  });

  it('allows Lambda to create network interfaces, and denies that to the code of the function', () => {
    const sorted = statementsAt(pipeline, 'PipelineDeliverRoleDefaultPolicy').map(({ actions, ...rest }) => ({
      ...rest,
      actions: actions.toSorted(),
    }));
    const both = {
      actions: [
        'ec2:AssignPrivateIpAddresses',
        'ec2:CreateNetworkInterface',
        'ec2:DeleteNetworkInterface',
        'ec2:DescribeNetworkInterfaces',
        'ec2:DescribeSubnets',
        'ec2:UnassignPrivateIpAddresses',
      ],
      resources: ['*'],
    };
    const condition = { Null: { 'lambda:SourceFunctionArn': 'false' } };
    expect(sorted.filter(({ actions }) => actions.some((action) => action.startsWith('ec2:')))).toEqual([
      { ...both, effect: 'Allow', condition: undefined },
      { ...both, effect: 'Deny', condition },
    ]);
  });
});

describe('Posthaste inside another stack', () => {
  const DELIVER = 'WebhooksPipelineDeliverFunction';
  const functionIn = (template: Template): Resource => resourceAt(template, 'AWS::Lambda::Function', DELIVER);

  it('creates static addresses by the same setting, and deploys deliver after their routes exist', () => {
    const stack = new Stack(testApp(), 'Shop');
    const posthaste = new Posthaste(stack, 'Webhooks', { staticAddresses: 2 });
    expect(posthaste.state.staticAddresses?.addresses).toHaveLength(2);
    const template = Template.fromStack(stack);
    expect(placedSubnets(functionIn(template))).toHaveLength(2);
    const waits = Object.entries(template.findResources('AWS::Lambda::Function')).flatMap(([id, found]) =>
      id.startsWith(DELIVER) ? z.array(z.string()).parse(found['DependsOn']) : [],
    );
    expect(waits.filter((id) => /PrivateSubnet\dDefaultRoute/.test(id))).toHaveLength(2);
  });

  it('can use a VPC of that stack', () => {
    const stack = new Stack(testApp(), 'Shop');
    const shopVpc = new Vpc(stack, 'Network', { natGateways: 1, restrictDefaultSecurityGroup: false });
    new Posthaste(stack, 'Webhooks', { vpc: shopVpc });
    const template = Template.fromStack(stack);
    expect(placedSubnets(functionIn(template))).toEqual(
      shopVpc.privateSubnets.map(({ subnetId }) => stack.resolve(subnetId) as unknown),
    );
    template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      VpcId: stack.resolve(shopVpc.vpcId) as unknown,
    });
  });

  it('can use a VPC and subnets whose ids are known at the deployment, also as a list', () => {
    const stack = new Stack(testApp(), 'Shop');
    const subnetIds = Fn.split(',', Fn.importValue('Subnets'));
    new Posthaste(stack, 'Webhooks', { vpc: { vpcId: Fn.importValue('Vpc'), subnetIds } });
    expect(functionIn(Template.fromStack(stack)).Properties['VpcConfig']).toMatchObject({
      SubnetIds: { 'Fn::Split': [',', { 'Fn::ImportValue': 'Subnets' }] },
    });
  });
});
