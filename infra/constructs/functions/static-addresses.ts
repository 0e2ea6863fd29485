import { Fn } from 'aws-cdk-lib';
import {
  CfnEIP,
  GatewayVpcEndpointAwsService,
  type IVpc,
  IpAddresses,
  NatProvider,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import type { Network } from './network-placement.ts';
import { removalOf } from '../state/protection.ts';
import { acknowledge } from '../newer-cdk.ts';

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

  /** `count`: 1 or 2 addresses, each with a separate NAT gateway. `disposable`: whether they may be released. */
  constructor(scope: Construct, id: string, count: number, disposable: boolean) {
    super(scope, id);
    const addresses = Array.from({ length: count }, (_, index) => {
      const address = new CfnEIP(this, `Address${index + 1}`, { domain: 'vpc' });
      // Subscribers may have allowed this address, and a released one cannot be recovered.
      address.applyRemovalPolicy(removalOf(disposable));
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
    acknowledge(vpc, {
      id: 'AwsSolutions-VPC7',
      reason:
        'Only requests to subscribers cross it, and each of these is recorded as an attempt with its outcome.',
    });
    const { subnetIds, internetConnectivityEstablished: wayOut } = vpc.selectSubnets({
      subnetType: SubnetType.PRIVATE_WITH_EGRESS,
    });
    this.addresses = addresses.map(({ attrPublicIp }) => attrPublicIp);
    this.vpc = vpc;
    this.network = { vpcId: vpc.vpcId, subnetIds, wayOut };
  }
}
