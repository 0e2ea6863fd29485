import { Fn } from 'aws-cdk-lib';
import {
  CfnEIP,
  CfnSecurityGroup,
  CfnSubnet,
  GatewayVpcEndpointAwsService,
  IpAddresses,
  type IVpc,
  NatProvider,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IDependable } from 'constructs';
import { acknowledgeWildcard } from '../findings.ts';
import { acknowledge } from '../newer-cdk.ts';
import { chooseRemovalPolicy } from '../state/protection.ts';

/** Private subnets of one VPC that reach the internet through NAT. */
export interface Network {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  /** Resources that must exist before a request can leave. @default they exist */
  readonly wayOut?: IDependable;
}

/** The network of a VPC in CDK. Its ids may be tokens, or placeholders until CDK has looked the VPC up. */
export class VpcNetwork implements Network {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly wayOut: IDependable;

  /** @throws Error if the VPC has no such subnets, or public ones are among them. It completes "vpc …" */
  constructor(vpc: IVpc, subnets: SubnetSelection = { subnetType: SubnetType.PRIVATE_WITH_EGRESS }) {
    const selected = vpc.selectSubnets(subnets);
    // A function gets no public address ("Giving Lambda functions access to resources in an Amazon VPC").
    if (selected.hasPublic)
      throw new Error('must be used by private subnets: from public vpcSubnets a function reaches nothing');
    this.vpcId = vpc.vpcId;
    this.subnetIds = selected.subnetIds;
    this.wayOut = selected.internetConnectivityEstablished;
  }
}

/** What Lambda does with the function's role (Lambda developer guide, "Attaching Lambda functions to a VPC"). */
const INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

/** Places a function in a network. Allows outgoing TCP to any address, and nothing incoming. `scope`: of the security group. */
export function placeInNetwork(network: Network, scope: Construct, lambda: IFunction, role: Role): void {
  const group = new CfnSecurityGroup(scope, 'Group', {
    groupDescription: 'Posthaste: requests to subscribers',
    vpcId: network.vpcId,
    securityGroupEgress: [
      egressRule('tcp', 0, 65_535, 'Subscribers, on any port, and AWS'),
      egressRule('udp', 53, 53, 'A custom DNS resolver; security groups do not apply to the one of AWS'),
    ],
  });
  const resource = lambda.node.defaultChild;
  if (!(resource instanceof CfnFunction))
    throw new Error('The function is not the CfnFunction that this version of CDK is expected to create.');
  // CDK's `vpc` property would need the VPC's zones and routes, and thus a lookup at synthesis.
  resource.vpcConfig = {
    subnetIds: [...network.subnetIds],
    securityGroupIds: [group.attrGroupId],
  };
  if (network.wayOut !== undefined) lambda.node.addDependency(network.wayOut);
  allowInterfaces(role);
}

function egressRule(ipProtocol: string, fromPort: number, toPort: number, description: string) {
  return { ipProtocol, fromPort, toPort, cidrIp: '0.0.0.0/0', description };
}

/** Allows the actions for Lambda and denies them to the code, whose requests alone have `lambda:SourceFunctionArn`. */
function allowInterfaces(role: Role): void {
  acknowledgeWildcard(
    role,
    '*',
    'Lambda creates the interfaces, so their ARNs are unknown. The code of the function is denied.',
  );
  const allInterfaces = { actions: INTERFACE_ACTIONS, resources: ['*'] };
  role.addToPolicy(new PolicyStatement(allInterfaces));
  const conditions = { Null: { 'lambda:SourceFunctionArn': 'false' } };
  role.addToPolicy(new PolicyStatement({ ...allInterfaces, effect: Effect.DENY, conditions }));
}

type StaticAddressesProps = {
  /** 1 or 2 addresses, each with a separate NAT gateway. */
  readonly count: number;
  /** Two. @default the first two of the account */
  readonly zoneIds?: readonly string[] | undefined;
  /** Whether the addresses may be released. */
  readonly disposable: boolean;
};

/**
 * A VPC whose only route to the internet leads through NAT gateways with fixed IP addresses, which subscribers can
 * allow in firewalls. The layout is the same for one and two gateways, so that changing the number replaces no subnet.
 * With one, both zones use it and depend on its zone.
 */
export class StaticAddresses extends Construct {
  /** IPv4. */
  readonly addresses: readonly string[];
  readonly network: Network;
  /** For workers, whose requests then come from these addresses. */
  readonly vpc: IVpc;

  constructor(scope: Construct, id: string, { count, zoneIds, disposable }: StaticAddressesProps) {
    super(scope, id);
    const addresses = Array.from({ length: count }, (_, index) => {
      const address = new CfnEIP(this, `Address${index + 1}`, { domain: 'vpc' });
      // Subscribers may have allowed this address, and a released one cannot be recovered.
      address.applyRemovalPolicy(chooseRemovalPolicy(disposable));
      return address;
    });
    const zones = Fn.getAzs();
    const vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr('10.0.0.0/24'),
      // An intrinsic function instead of a lookup, so that synthesis needs no credentials.
      availabilityZones: [Fn.select(0, zones), Fn.select(1, zones)],
      natGateways: count,
      natGatewayProvider: NatProvider.gateway({
        eipAllocationIds: addresses.map(({ attrAllocationId }) => attrAllocationId),
      }),
      subnetConfiguration: [
        { name: 'Public', subnetType: SubnetType.PUBLIC, cidrMask: 28, mapPublicIpOnLaunch: false },
        { name: 'Private', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 26 },
      ],
      // Traffic to tables and buckets is free through gateway endpoints; NAT charges for every byte.
      gatewayEndpoints: {
        S3: { service: GatewayVpcEndpointAwsService.S3 },
        DynamoDb: { service: GatewayVpcEndpointAwsService.DYNAMODB },
      },
      // Nothing uses the default group, and restricting it would deploy another function by CDK.
      restrictDefaultSecurityGroup: false,
    });
    if (zoneIds !== undefined) placeInZones(vpc, zoneIds);
    acknowledge(vpc, {
      id: 'AwsSolutions-VPC7',
      reason:
        'Only requests to subscribers cross it, and each of these is recorded as an attempt with its outcome.',
    });
    this.addresses = addresses.map(({ attrPublicIp }) => attrPublicIp);
    this.vpc = vpc;
    this.network = new VpcNetwork(vpc);
  }
}

/** CDK's Vpc knows zones by name only, and a name stands for another zone in each account. */
function placeInZones({ publicSubnets, privateSubnets }: Vpc, zoneIds: readonly string[]): void {
  for (const subnets of [publicSubnets, privateSubnets])
    for (const [at, { node }] of subnets.entries()) {
      if (!(node.defaultChild instanceof CfnSubnet))
        throw new Error('A subnet is not the CfnSubnet that this version of CDK is expected to create.');
      node.defaultChild.availabilityZone = undefined;
      node.defaultChild.availabilityZoneId = zoneIds[at];
    }
}
