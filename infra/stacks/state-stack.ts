import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { State } from '../constructs/state/state.ts';
import type { DeploymentSettings } from '../settings.ts';

export interface StateStackProps extends StackProps {
  readonly settings: DeploymentSettings;
}

/** Data that must survive every release: tables and payloads. Protected against deletion, except with `local`. */
export class StateStack extends Stack {
  readonly state: State;

  constructor(scope: Construct, id: string, props: StateStackProps) {
    super(scope, id, {
      description: 'Posthaste: tables, payloads and keys',
      terminationProtection: !props.settings.local,
      ...props,
    });
    this.state = new State(this, 'State', { settings: props.settings });

    this.output('SubscriptionsTable', this.state.subscriptions.name, 'Table of queues and subscriptions');
    this.output(
      'DeliveriesTable',
      this.state.deliveries.name,
      'Table of messages, deliveries and recoveries',
    );
    this.output('PayloadBucket', this.state.payloads.name, 'Bucket of large message bodies');
    this.output('SecretsKeyArn', this.state.secretsKey.arn, 'KMS key that seals signing secrets');
    const { staticAddresses } = this.state;
    if (staticAddresses !== undefined)
      this.output(
        'StaticAddresses',
        staticAddresses.addresses.join(','),
        'IP addresses that requests to subscribers come from',
      );
  }

  private output(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description });
  }
}
