import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import { RecursiveLoop } from '../newer-cdk.ts';
import { NodeFunction, type PipelineParts } from './node-function.ts';

/** Concurrent operations. Low, because their writes and wake-ups compete with deliveries. */
const CONCURRENCY = 5;

/**
 * Runs long operations page by page: recoveries, cancellations after a deletion, and earlier slots for waiting
 * deliveries after a rate limit is raised or an outage has ended.
 */
export class OperateFunction extends NodeFunction {
  static readonly timeout = Duration.seconds(OPERATE_TIMEOUT_SECONDS);

  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { state, queues, schedules } = parts;
    const { operation, operationDeadLetters, retry } = queues;
    super(scope, id, {
      parts,
      entry: 'operate',
      description: 'Posthaste: runs recoveries and cancellations',
      // A page of records, and up to ten messages of 1 MiB that are stored again.
      memoryMegabytes: 512,
      timeout: OperateFunction.timeout,
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
