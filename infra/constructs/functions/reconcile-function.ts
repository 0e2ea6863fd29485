import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { EventInvokeConfig } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { NodeFunction } from './node-function.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

export interface ReconcileFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly retry: WorkQueue;
}

const INTERVAL = Duration.minutes(1);

/** The safety net: every minute, sends wake-ups for overdue retries and for records with pending steps. Also ends waits for pull. */
export class ReconcileFunction extends NodeFunction<'reconcile'> {
  constructor(scope: Construct, id: string, props: ReconcileFunctionProps) {
    const { settings, state, retry } = props;
    super(scope, id, {
      settings,
      entry: 'reconcile',
      description: 'Posthaste: sends wake-ups for overdue deliveries',
      // Reads keys and sends wake-ups, page by page.
      memoryMegabytes: 256,
      timeout: INTERVAL,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        retryQueueUrl: retry.url,
      },
    });
    this.grant((grantee) => {
      state.deliveries.grantReconcile(grantee);
      state.subscriptions.grantListPulls(grantee);
      retry.grantSend(grantee);
    });
    // No retries: the run of the next minute makes up for a failed or late one, and must not overlap with it.
    new EventInvokeConfig(this, 'NoRepeats', {
      function: this.function,
      retryAttempts: 0,
      maxEventAge: INTERVAL,
    });
    new Rule(this, 'EveryMinute', {
      description: 'Posthaste: runs reconcile every minute',
      schedule: Schedule.rate(INTERVAL),
      enabled: settings.compute !== 'worker',
      targets: [new LambdaFunction(this.function, { retryAttempts: 0, maxEventAge: INTERVAL })],
    });
  }
}
