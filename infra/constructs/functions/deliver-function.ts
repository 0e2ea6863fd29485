import { Duration } from 'aws-cdk-lib';
import { RecursiveLoop } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { invocationMs } from '../../../shared/domain/delivery/lease.ts';
import { product, userAgentOf } from '../../product.ts';
import type { DeploymentSettings } from '../../settings.ts';
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
  readonly deliveryDeadLetters: HoldingQueue;
  readonly undeliverable: HoldingQueue;
  readonly operatorEvents: OperatorEvents;
  readonly schedules: RetrySchedules;
  /** Where its requests come from. @default Lambda's own network, with addresses that change */
  readonly network?: Network | undefined;
}

/**
 * Each new connection to AWS looks up the endpoint's name in a thread; names of subscribers take none (resolver.ts). With a name
 * server 2 ms away, 500 connections at once wait for 0.7 s with libuv's 4 threads, of the 1 s that they have to be made, and 0.08 s
 * with 64.
 */
const THREADS = 64;

/**
 * Job or wake-up → attempts → record → next wake-up. Two queues feed it, each with its own concurrency, so that a storm
 * of retries never holds up first attempts.
 */
export class DeliverFunction extends NodeFunction<'deliver'> {
  /** One attempt, and time to record it and to hand back the rest (shared/domain/delivery/lease.ts). */
  static timeout(settings: DeploymentSettings): Duration {
    return Duration.millis(invocationMs(settings.attemptTimeoutSeconds * 1000));
  }

  constructor(scope: Construct, id: string, props: DeliverFunctionProps) {
    const { settings, state, delivery, retry } = props;
    super(scope, id, {
      settings,
      entry: 'deliver',
      description: 'Posthaste: calls subscribers and records what came of it',
      // It mostly waits; ten bodies and ten TLS handshakes at once need more processor than memory.
      memoryMegabytes: 512,
      timeout: DeliverFunction.timeout(settings),
      resources: resourcesOf(props),
      threads: THREADS,
      // A retry goes through a queue that this function consumes, as often as the policy says. Lambda would take that for
      // a runaway loop and drop it after some 16 rounds (Lambda developer guide, "Recursive loop detection").
      recursiveLoop: RecursiveLoop.ALLOW,
    });
    state.subscriptions.grantFindAndNoteHealth(this.role);
    state.deliveries.grantDeliver(this.role);
    state.secretsKey.grantOpen(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    // First attempts that are not due yet, and those that the invocation has no time for, go back where they came from.
    delivery.grantSend(this.role);
    retry.grantSend(this.role);
    props.undeliverable.grantSend(this.role);
    props.deliveryDeadLetters.grantSend(this.role);
    props.operatorEvents.grantPublish(this.role);
    props.schedules.grantSchedule(this.role);
    const { function: placed, role } = this;
    if (props.network !== undefined)
      new NetworkPlacement(this, 'Network', { network: props.network, function: placed, role });
    this.consume('FirstAttempts', {
      queue: delivery,
      maxConcurrency: settings.deliverConcurrency,
      ...batchesOf(settings),
    });
    this.consume('Retries', { queue: retry, maxConcurrency: settings.retryConcurrency });
  }
}

function resourcesOf(props: DeliverFunctionProps): Resources<'deliver'> {
  const { state, schedules } = props;
  return {
    subscriptionsTable: state.subscriptions.name,
    deliveriesTable: state.deliveries.name,
    payloadBucket: state.payloads.name,
    secretsKeyArn: state.secretsKey.arn,
    deliveryQueueUrl: props.delivery.url,
    retryQueueUrl: props.retry.url,
    deliveryDeadLetterUrl: props.deliveryDeadLetters.url,
    undeliverableQueueUrl: props.undeliverable.url,
    operatorEventBus: props.operatorEvents.busName,
    scheduleGroup: schedules.groupName,
    schedulerRoleArn: schedules.roleArn,
    schedulerDeadLetterArn: schedules.deadLetters.arn,
    userAgent: userAgentOf(product),
  };
}
