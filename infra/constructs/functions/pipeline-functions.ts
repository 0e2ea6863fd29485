import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { EventInvokeConfig } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { DISPATCH_TIMEOUT_SECONDS } from '../../../shared/domain/delivery/fan-out.ts';
import { OPERATE_TIMEOUT_SECONDS } from '../../../shared/domain/recovery/operation.ts';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { acknowledgeWildcard } from '../findings.ts';
import { RecursiveLoop } from '../newer-cdk.ts';
import { placeInNetwork } from './network.ts';
import { buildBatching, NodeFunction, type PipelineParts } from './node-function.ts';

/** Ingress message → delivery jobs, each for one or several of the matching subscriptions. */
export class DispatchFunction extends NodeFunction {
  static readonly timeout = Duration.seconds(DISPATCH_TIMEOUT_SECONDS);

  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { settings, state, queues } = parts;
    const { ingress, ingressDeadLetters, delivery } = queues;
    super(scope, id, {
      parts,
      entry: 'dispatch',
      description: 'Posthaste: matches messages with subscriptions',
      timeout: DispatchFunction.timeout,
    });
    this.grant((grantee) => {
      state.subscriptions.grantList(grantee);
      state.deliveries.grantAccept(grantee);
      // A repeat of an accepted message: its event type or its source object may have changed since.
      state.deliveries.grantFind(grantee);
      state.payloads.grantPut(grantee);
      delivery.grantSend(grantee);
      ingressDeadLetters.grantSend(grantee);
      if (settings.payloadSources.length > 0) {
        grantReadSources(grantee, Stack.of(this).partition, settings.payloadSources);
        // On a repeat the source object may be deleted; the stored copy is used.
        state.payloads.grantGet(grantee);
      }
    });
    this.consume('Ingress', {
      queue: ingress,
      maxConcurrency: settings.dispatchConcurrency,
      ...buildBatching(settings),
    });
  }
}

type Sources = DeploymentSettings['payloadSources'];

/**
 * Grants reading of objects under these prefixes. Without a grant to list, S3 answers 403 for missing objects too.
 * Buckets and keys of other accounts must also allow the access.
 */
function grantReadSources(grantee: IGrantable, partition: string, sources: Sources): void {
  for (const { bucket, prefix, keyArn } of sources) {
    const objects = `arn:${partition}:s3:::${bucket}/${prefix}*`;
    acknowledgeWildcard(grantee, objects, 'The objects are known only at run time: messages refer to them.');
    // A request with a version id needs the second action ("GetObject", S3 API reference).
    const actions = ['s3:GetObject', 's3:GetObjectVersion'];
    Grant.addToPrincipal({ grantee, actions, resourceArns: [objects] });
    if (keyArn !== undefined)
      Grant.addToPrincipal({ grantee, actions: ['kms:Decrypt'], resourceArns: [keyArn] });
  }
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
export class DeliverFunction extends NodeFunction {
  /**
   * Time for one attempt, for recording it and for returning the remaining messages (shared/domain/retry/attempt-duration.ts).
   */
  static timeout(settings: DeploymentSettings): Duration {
    return Duration.millis(invocationMs(settings.attemptTimeoutSeconds * 1000));
  }

  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { settings, state, queues } = parts;
    const { delivery, retry } = queues;
    super(scope, id, {
      parts,
      entry: 'deliver',
      description: 'Posthaste: sends requests to subscribers and records the results',
      timeout: DeliverFunction.timeout(settings),
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
      queues.operation.grantSend(grantee);
      queues.undeliverable.grantSend(grantee);
      queues.deliveryDeadLetters.grantSend(grantee);
      parts.operatorEvents.grantPublish(grantee);
      parts.schedules.grantSchedule(grantee);
    });
    // By default Lambda's network, with changing IP addresses.
    const network = state.staticAddresses?.network ?? settings.vpc;
    if (network !== undefined)
      placeInNetwork(network, new Construct(this, 'Network'), this.lambda, this.role);
    this.consume('FirstAttempts', {
      queue: delivery,
      maxConcurrency: settings.deliverConcurrency,
      ...buildBatching(settings),
    });
    this.consume('Retries', { queue: retry, maxConcurrency: settings.retryConcurrency });
  }
}

const INTERVAL = Duration.minutes(1);

/** The safety net: every minute, sends wake-ups for overdue retries and for records with pending steps. Also ends waits for pull. */
export class ReconcileFunction extends NodeFunction {
  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { settings, state, queues } = parts;
    super(scope, id, {
      parts,
      entry: 'reconcile',
      description: 'Posthaste: sends wake-ups for overdue deliveries',
      timeout: INTERVAL,
    });
    this.grant((grantee) => {
      state.deliveries.grantReconcile(grantee);
      state.subscriptions.grantListPulls(grantee);
      queues.retry.grantSend(grantee);
    });
    // No retries: the run of the next minute makes up for a failed or late one, and must not overlap with it.
    const noRepeats = new EventInvokeConfig(this, 'NoRepeats', {
      function: this.lambda,
      qualifier: this.alias.aliasName,
      retryAttempts: 0,
      maxEventAge: INTERVAL,
    });
    noRepeats.node.addDependency(this.alias);
    const rule = new Rule(this, 'EveryMinute', {
      description: 'Posthaste: runs reconcile every minute',
      schedule: Schedule.rate(INTERVAL),
      enabled: settings.compute !== 'worker',
      targets: [new LambdaFunction(this.alias, { retryAttempts: 0, maxEventAge: INTERVAL })],
    });
    rule.node.addDependency(noRepeats);
  }
}

/** Concurrent operations. Low, because their writes and wake-ups compete with deliveries. */
const CONCURRENCY = 5;

/**
 * Runs long operations page by page: recoveries, cancellations after a deletion, restorations of queues, what waits for the end
 * of a pause, and earlier slots for waiting deliveries after a rate limit is raised or an outage has ended.
 */
export class OperateFunction extends NodeFunction {
  static readonly timeout = Duration.seconds(OPERATE_TIMEOUT_SECONDS);

  constructor(scope: Construct, id: string, parts: PipelineParts) {
    const { state, queues, schedules, operatorEvents } = parts;
    const { operation, operationDeadLetters, retry } = queues;
    super(scope, id, {
      parts,
      entry: 'operate',
      description: 'Posthaste: runs recoveries and cancellations',
      timeout: OperateFunction.timeout,
      // A long operation continues by messages to the queue that the function consumes, more often than Lambda allows.
      recursiveLoop: RecursiveLoop.ALLOW,
    });
    this.grant((grantee) => {
      state.subscriptions.grantFindAndArchive(grantee);
      state.deliveries.grantOperate(grantee);
      state.payloads.grantGet(grantee);
      state.payloads.grantPut(grantee);
      retry.grantSend(grantee);
      operation.grantSend(grantee);
      operationDeadLetters.grantSend(grantee);
      schedules.grantUnschedule(grantee);
      operatorEvents.grantPublish(grantee);
    });
    this.consume('Operations', { queue: operation, maxConcurrency: CONCURRENCY, batchSize: 1 });
  }
}
