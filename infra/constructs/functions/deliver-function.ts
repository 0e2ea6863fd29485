import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import { product, userAgentOf } from '../../product.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { RecursiveLoop } from '../newer-cdk.ts';
import { type Network, NetworkPlacement } from './network-placement.ts';
import { batchesOf, NodeFunction, type Resources } from './node-function.ts';
import type { OperatorEvents } from './operator-events.ts';
import type { RetrySchedules } from '../queues/retry-schedules.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

export interface DeliverFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly delivery: WorkQueue;
  readonly retry: WorkQueue;
  readonly operation: WorkQueue;
  readonly deliveryDeadLetters: HoldingQueue;
  readonly undeliverable: HoldingQueue;
  readonly operatorEvents: OperatorEvents;
  readonly schedules: RetrySchedules;
  /** The network that requests leave from. @default Lambda's network, with changing IP addresses */
  readonly network?: Network | undefined;
}

/**
 * Threads for DNS lookups of AWS endpoints (subscribers' names use none, resolver.ts). With a DNS latency of 2 ms, 500
 * simultaneous connections wait 0.7 s for 4 threads, libuv's default, and 0.08 s for 64. The connect timeout is 1 s.
 */
const THREADS = 64;

/**
 * Job or wake-up → attempts → record → next wake-up. Two queues feed it with separate concurrency limits, so that a
 * storm of retries does not delay first attempts.
 */
export class DeliverFunction extends NodeFunction<'deliver'> {
  /**
   * Time for one attempt, for recording it and for returning the remaining messages (shared/domain/retry/attempt-duration.ts).
   */
  static timeout(settings: DeploymentSettings): Duration {
    return Duration.millis(invocationMs(settings.attemptTimeoutSeconds * 1000));
  }

  constructor(scope: Construct, id: string, props: DeliverFunctionProps) {
    const { settings, state, delivery, retry } = props;
    super(scope, id, {
      settings,
      entry: 'deliver',
      description: 'Posthaste: sends requests to subscribers and records the results',
      // Sized for CPU: ten concurrent TLS handshakes and bodies need more CPU than memory.
      memoryMegabytes: 512,
      timeout: DeliverFunction.timeout(settings),
      resources: resourcesOf(props),
      threads: THREADS,
      // The function sends retries to a queue that it consumes. Lambda would treat that as a runaway loop and drop the
      // message after about 16 rounds (Lambda developer guide, "Recursive loop detection").
      recursiveLoop: RecursiveLoop.ALLOW,
    });
    this.grant((grantee) => {
      state.subscriptions.grantFindAndNoteHealth(grantee);
      state.deliveries.grantDeliver(grantee);
      state.secretsKey.grantOpen(grantee);
      state.payloads.grantGet(grantee);
      state.payloads.grantPut(grantee);
      // First attempts that are not due yet, or that the invocation has no time for, return to their queue.
      delivery.grantSend(grantee);
      retry.grantSend(grantee);
      props.operation.grantSend(grantee);
      props.undeliverable.grantSend(grantee);
      props.deliveryDeadLetters.grantSend(grantee);
      props.operatorEvents.grantPublish(grantee);
      props.schedules.grantSchedule(grantee);
    });
    const { lambda, role } = this;
    if (props.network !== undefined)
      new NetworkPlacement(this, 'Network', { network: props.network, function: lambda, role });
    this.consume('FirstAttempts', {
      queue: delivery,
      maxConcurrency: settings.deliverConcurrency,
      ...batchesOf(settings),
    });
    this.consume('Retries', { queue: retry, maxConcurrency: settings.retryConcurrency });
  }
}

function resourcesOf(props: DeliverFunctionProps): Resources<'deliver'> {
  const { settings, state, schedules } = props;
  return {
    subscriptionsTable: state.subscriptions.name,
    deliveriesTable: state.deliveries.name,
    payloadBucket: state.payloads.name,
    secretsKeyArn: state.secretsKey.arn,
    deliveryQueueUrl: props.delivery.url,
    retryQueueUrl: props.retry.url,
    deliveryDeadLetterUrl: props.deliveryDeadLetters.url,
    undeliverableQueueUrl: props.undeliverable.url,
    operationQueueUrl: props.operation.url,
    operatorEventBus: props.operatorEvents.busName,
    scheduleGroup: schedules.groupName,
    schedulerRoleArn: schedules.roleArn,
    schedulerDeadLetterArn: schedules.deadLetters.arn,
    userAgent: userAgentOf(product, settings.userAgentContact),
  };
}
