import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { product, userAgentOf } from '../../product.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { NodeFunction } from '../functions/node-function.ts';
import type { State } from '../state/state.ts';
import { API_MEGABYTES } from './api-function.ts';

export interface SecretsFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
}

/** Serves the routes of the API that open secrets: receives by pull, which it signs, and exports of credentials. */
export class SecretsFunction extends NodeFunction<'secrets'> {
  constructor(scope: Construct, id: string, { settings, state }: SecretsFunctionProps) {
    super(scope, id, {
      settings,
      entry: 'secrets',
      description: 'Posthaste: serves receives by pull and exports of credentials',
      memoryMegabytes: API_MEGABYTES,
      timeout: Duration.seconds(29),
      reservedConcurrency: settings.apiConcurrency,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        secretsKeyArn: state.secretsKey.arn,
        userAgent: userAgentOf(product, settings.userAgentContact),
      },
    });
    state.subscriptions.grantRead(this.role);
    state.deliveries.grantReceive(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    state.secretsKey.grantOpen(this.role);
  }
}
