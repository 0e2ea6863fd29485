import { Fn, Validations } from 'aws-cdk-lib';
import {
  CfnEIP,
  GatewayVpcEndpointAwsService,
  IpAddresses,
  NatProvider,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import type { Network } from './network-placement.ts';
import { removalOf } from '../state/protection.ts';

export interface StaticAddressesProps {
  /** 1 or 2: how many addresses there are, each with a NAT gateway of its own. */
  readonly count: number;
  /** Whether the addresses may be given back. */
  readonly disposable: boolean;
}

/**
 * A VPC whose only way out is by NAT gateways with addresses that stay, so that subscribers can let these in and nobody
 * else. The layout is the same for one and for two, since a subnet that moves is replaced with all that is in it. With one,
 * both zones go out by it, and its zone takes both along when it fails.
 */
export class StaticAddresses extends Construct {
  /** IPv4. */
  readonly addresses: readonly string[];
  readonly network: Network;

  constructor(scope: Construct, id: string, { count, disposable }: StaticAddressesProps) {
    super(scope, id);
    const addresses = Array.from({ length: count }, (_, index) => {
      const address = new CfnEIP(this, `Address${index + 1}`, { domain: 'vpc' });
      // Subscribers were told of it, and nobody gets a released one back.
      address.applyRemovalPolicy(removalOf(disposable));
      return address;
    });
    const zones = Fn.getAzs();
    const vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr('10.0.0.0/24'),
      // By function, not by look-up: synthesis needs no credentials.
      availabilityZones: [Fn.select(0, zones), Fn.select(1, zones)],
      natGateways: count,
      natGatewayProvider: NatProvider.gateway({
        eipAllocationIds: addresses.map(({ attrAllocationId }) => attrAllocationId),
      }),
      subnetConfiguration: [
        { name: 'Public', subnetType: SubnetType.PUBLIC, cidrMask: 28, mapPublicIpOnLaunch: false },
        { name: 'Private', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 26 },
      ],
      // What goes to our own tables and buckets costs nothing this way, and would pay for every byte by NAT.
      gatewayEndpoints: {
        S3: { service: GatewayVpcEndpointAwsService.S3 },
        DynamoDb: { service: GatewayVpcEndpointAwsService.DYNAMODB },
      },
      // Nothing uses the default group, and emptying it takes a function of CDK's own.
      restrictDefaultSecurityGroup: false,
    });
    Validations.of(vpc).acknowledge({
      id: 'AwsSolutions-VPC7',
      reason:
        'All that crosses it are requests to subscribers, each of which is an attempt on record with its outcome.',
    });
    const { subnetIds, internetConnectivityEstablished: wayOut } = vpc.selectSubnets({
      subnetType: SubnetType.PRIVATE_WITH_EGRESS,
    });
    this.addresses = addresses.map(({ attrPublicIp }) => attrPublicIp);
    this.network = { vpcId: vpc.vpcId, subnetIds, wayOut };
  }
}
