import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../settings.ts';
import { NodeFunction } from './node-function.ts';
import type { WorkQueue } from './sqs-queue.ts';
import type { State } from './state.ts';

export interface ApiFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly ingress: WorkQueue;
}

/** Administration: queues, subscriptions, messages and what became of them. */
export class ApiFunction extends NodeFunction {
  constructor(scope: Construct, id: string, props: ApiFunctionProps) {
    const { settings, state, ingress } = props;
    super(scope, id, {
      settings,
      entry: 'api',
      description: 'Posthaste: the API of administration',
      // A person waits for its cold start, which is quicker with more processor.
      memoryMegabytes: 512,
      // An HTTP API gives up after 30 s (API Gateway quotas).
      timeout: Duration.seconds(29),
      environment: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        ingressQueueUrl: ingress.url,
        defaultRetryPolicy: JSON.stringify(settings.defaultRetryPolicy),
        allowedAddresses: JSON.stringify(settings.allowedAddresses),
      },
    });
    state.subscriptions.grantAdminister(this.role);
    state.deliveries.grantRead(this.role);
    ingress.grantSend(this.role);
  }
}
