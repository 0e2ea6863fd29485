import { Construct } from 'constructs';
import type { PosthasteProps } from '../../posthaste-props.ts';
import { settingsFromProps } from '../../settings-from-props.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { addOutputs, type Outputs, tableOutputs } from '../outputs.ts';
import { DeliveriesTable, SubscriptionsTable } from './tables.ts';
import { PayloadBucket } from './payload-bucket.ts';
import { SecretsKey } from './secrets-key.ts';
import { StaticAddresses } from '../functions/network.ts';

/**
 * All resources with data. Their ids must not change: CloudFormation would replace a table by an empty one.
 * @throws SettingsError naming each invalid property
 */
export class State extends Construct {
  readonly subscriptions: SubscriptionsTable;
  readonly deliveries: DeliveriesTable;
  readonly payloads: PayloadBucket;
  readonly secretsKey: SecretsKey;
  /** The properties, validated and completed. Those of the whole deployment: the other parts read them here. */
  readonly settings: DeploymentSettings;
  /** Present if the setting says so. Kept with the data, because subscribers' firewalls may allow the addresses. */
  readonly staticAddresses?: StaticAddresses;

  constructor(scope: Construct, id: string, props: PosthasteProps = {}) {
    super(scope, id);
    const settings = settingsFromProps(this, props);
    this.settings = settings;
    this.subscriptions = new SubscriptionsTable(this, 'Subscriptions', settings.local);
    this.deliveries = new DeliveriesTable(this, 'Deliveries', settings);
    this.secretsKey = new SecretsKey(this, 'Secrets', settings);
    this.payloads = new PayloadBucket(this, 'Payloads', settings);
    const { staticAddresses: count, zoneIds, local: disposable } = settings;
    if (count > 0)
      this.staticAddresses = new StaticAddresses(this, 'StaticAddresses', { count, zoneIds, disposable });
    // Of the scope, so that those of a stack have no prefix.
    addOutputs(scope, stateOutputs(this));
  }
}

function stateOutputs(state: State): Outputs {
  const { payloads, secretsKey, staticAddresses } = state;
  return {
    ...tableOutputs(state),
    PayloadBucket: [payloads.name, 'Bucket of large message bodies'],
    SecretsKeyArn: [secretsKey.arn, 'KMS key that seals signing secrets'],
    ...(staticAddresses && {
      StaticAddresses: [
        staticAddresses.addresses.join(','),
        'IP addresses that requests to subscribers come from',
      ],
    }),
  };
}
