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

/** The safety net: every minute, retries whose wake-up never came and records that owe something are woken. */
export class ReconcileFunction extends NodeFunction<'reconcile'> {
  constructor(scope: Construct, id: string, props: ReconcileFunctionProps) {
    const { settings, state, retry } = props;
    super(scope, id, {
      settings,
      entry: 'reconcile',
      description: 'Posthaste: wakes what is overdue',
      // It reads keys and sends wake-ups, page by page.
      memoryMegabytes: 256,
      timeout: INTERVAL,
      resources: {
        deliveriesTable: state.deliveries.name,
        retryQueueUrl: retry.url,
      },
    });
    state.deliveries.grantReconcile(this.role);
    retry.grantSend(this.role);
    // The next minute is the retry: a failed or a late run must not come again beside it.
    new EventInvokeConfig(this, 'NoRepeats', {
      function: this.function,
      retryAttempts: 0,
      maxEventAge: INTERVAL,
    });
    new Rule(this, 'EveryMinute', {
      description: 'Runs reconcile of Posthaste',
      schedule: Schedule.rate(INTERVAL),
      targets: [new LambdaFunction(this.function, { retryAttempts: 0, maxEventAge: INTERVAL })],
    });
  }
}
