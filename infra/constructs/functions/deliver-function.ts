import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { invocationMs } from '../../../shared/domain/retry/attempt-duration.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { RecursiveLoop } from '../newer-cdk.ts';
import { NetworkPlacement } from './network-placement.ts';
import { batchesOf, NodeFunction, type PipelineParts } from './node-function.ts';

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
      // Sized for CPU: ten concurrent TLS handshakes and bodies need more CPU than memory.
      memoryMegabytes: 512,
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
    const { lambda, role } = this;
    // By default Lambda's network, with changing IP addresses.
    const network = state.staticAddresses?.network ?? settings.vpc;
    if (network !== undefined) new NetworkPlacement(this, 'Network', { network, function: lambda, role });
    this.consume('FirstAttempts', {
      queue: delivery,
      maxConcurrency: settings.deliverConcurrency,
      ...batchesOf(settings),
    });
    this.consume('Retries', { queue: retry, maxConcurrency: settings.retryConcurrency });
  }
}
