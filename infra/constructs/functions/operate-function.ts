import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { RecursiveLoop } from '../newer-cdk.ts';
import { NodeFunction } from './node-function.ts';
import type { RetrySchedules } from '../queues/retry-schedules.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

export interface OperateFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly operation: WorkQueue;
  readonly operationDeadLetters: HoldingQueue;
  readonly retry: WorkQueue;
  readonly schedules: RetrySchedules;
}

/** Concurrent operations. Low, because their writes and wake-ups compete with deliveries. */
const CONCURRENCY = 5;

/**
 * Runs long operations page by page: recoveries, cancellations after a deletion, and earlier slots for waiting
 * deliveries after a rate limit is raised or an outage has ended.
 */
export class OperateFunction extends NodeFunction<'operate'> {
  static readonly timeout = Duration.seconds(OPERATE_TIMEOUT_SECONDS);

  constructor(scope: Construct, id: string, props: OperateFunctionProps) {
    const { settings, state, operation, operationDeadLetters, retry, schedules } = props;
    super(scope, id, {
      settings,
      entry: 'operate',
      description: 'Posthaste: runs recoveries and cancellations',
      // A page of records, and up to ten messages of 1 MiB that are stored again.
      memoryMegabytes: 512,
      timeout: OperateFunction.timeout,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        retryQueueUrl: retry.url,
        scheduleGroup: schedules.groupName,
        operationQueueUrl: operation.url,
        operationDeadLetterUrl: operationDeadLetters.url,
      },
      // A long operation continues by messages to the queue that the function consumes, more often than Lambda allows.
      recursiveLoop: RecursiveLoop.ALLOW,
    });
    this.grant((grantee) => {
      state.subscriptions.grantFindAndRemove(grantee);
      state.deliveries.grantOperate(grantee);
      state.payloads.grantGet(grantee);
      state.payloads.grantPut(grantee);
      retry.grantSend(grantee);
      operation.grantSend(grantee);
      operationDeadLetters.grantSend(grantee);
      schedules.grantUnschedule(grantee);
    });
    this.consume('Operations', { queue: operation, maxConcurrency: CONCURRENCY, batchSize: 1 });
  }
}
