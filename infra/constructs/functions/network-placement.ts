import { CfnSecurityGroup } from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IDependable } from 'constructs';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';

/** Subnets of one VPC, with a way to the internet that is not theirs alone: private ones behind NAT. */
export interface Network {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  /** What must be there before a request can be made. @default it is there */
  readonly wayOut?: IDependable;
}

export interface NetworkPlacementProps {
  readonly network: Network;
  readonly function: IFunction;
  readonly role: Role;
}

/** What Lambda does in the name of the function's role (Lambda developer guide, "Attaching Lambda functions to a VPC"). */
const INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

/** Puts a function into a network: out of it over TCP to anywhere, and nothing in. */
export class NetworkPlacement extends Construct {
  constructor(scope: Construct, id: string, { network, function: placed, role }: NetworkPlacementProps) {
    super(scope, id);
    const group = new CfnSecurityGroup(this, 'Group', {
      groupDescription: 'Posthaste: requests to subscribers',
      vpcId: network.vpcId,
      securityGroupEgress: [
        out('tcp', 0, 65_535, 'Subscribers, on whatever port they are, and AWS'),
        out('udp', 53, 53, 'A resolver of your own; that of AWS is not subject to groups'),
      ],
    });
    const resource = placed.node.defaultChild;
    if (!(resource instanceof CfnFunction)) throw new Error('the function is not what this CDK makes');
    // Not by the function's own property, which wants the VPC's zones and routes, and a look-up to know them.
    resource.vpcConfig = { subnetIds: [...network.subnetIds], securityGroupIds: [group.attrGroupId] };
    if (network.wayOut !== undefined) placed.node.addDependency(network.wayOut);
    allowInterfaces(role);
  }
}

function out(ipProtocol: string, fromPort: number, toPort: number, description: string) {
  return {
    ipProtocol,
    fromPort,
    toPort,
    cidrIp: '0.0.0.0/0',
    description,
  };
}

/** To Lambda, not to the code: `lambda:SourceFunctionArn` is there in requests of the code, and in no others. */
function allowInterfaces(role: Role): void {
  acknowledgeWildcard(
    role,
    '*',
    'Lambda cannot be held to interfaces that are not there yet; the code is denied.',
  );
  const every = { actions: INTERFACE_ACTIONS, resources: ['*'] };
  role.addToPolicy(new PolicyStatement(every));
  const conditions = { Null: { 'lambda:SourceFunctionArn': 'false' } };
  role.addToPolicy(new PolicyStatement({ ...every, effect: Effect.DENY, conditions }));
}
