import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { EventInvokeConfig } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { NodeFunction, type PipelineParts } from './node-function.ts';

const INTERVAL = Duration.minutes(1);

/** The safety net: every minute, sends wake-ups for overdue retries and for records with pending steps. Also ends waits for pull. */
export class ReconcileFunction extends NodeFunction {
  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { settings, state, queues } = parts;
    super(scope, id, {
      parts,
      entry: 'reconcile',
      description: 'Posthaste: sends wake-ups for overdue deliveries',
      // Reads keys and sends wake-ups, page by page.
      memoryMegabytes: 256,
      timeout: INTERVAL,
    });
    this.grant((grantee) => {
      state.deliveries.grantReconcile(grantee);
      state.subscriptions.grantListPulls(grantee);
      queues.retry.grantSend(grantee);
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
