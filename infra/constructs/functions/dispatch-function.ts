import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { batchesOf, NodeFunction } from './node-function.ts';
import { grantReadSources, payloadSourcesVariable } from './payload-sources.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

export interface DispatchFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly ingress: WorkQueue;
  readonly ingressDeadLetters: HoldingQueue;
  readonly delivery: WorkQueue;
}

/** Megabytes. Ten messages that refer to 1 MiB each take up to 300 when filters look into all of them at once. */
const WITH_SOURCES = 1024;

/** Ingress message → one delivery job for each matching subscription. */
export class DispatchFunction extends NodeFunction<'dispatch'> {
  /** A fan-out to thousands is some hundreds of batches sent side by side; a crash costs six times this. */
  static readonly timeout = Duration.seconds(30);

  constructor(scope: Construct, id: string, props: DispatchFunctionProps) {
    const { settings, state, ingress, ingressDeadLetters, delivery } = props;
    super(scope, id, {
      settings,
      entry: 'dispatch',
      description: 'Posthaste: matches messages with subscriptions',
      // A batch of messages up to 1 MiB together, each parsed and copied into jobs.
      memoryMegabytes: settings.payloadSources.length > 0 ? WITH_SOURCES : 512,
      timeout: DispatchFunction.timeout,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        ingressDeadLetterUrl: ingressDeadLetters.url,
        deliveryQueueUrl: delivery.url,
        payloadSources: payloadSourcesVariable(scope, settings.payloadSources),
      },
    });
    state.subscriptions.grantList(this.role);
    state.deliveries.grantAccept(this.role);
    state.payloads.grantPut(this.role);
    delivery.grantSend(this.role);
    ingressDeadLetters.grantSend(this.role);
    if (settings.payloadSources.length > 0) {
      grantReadSources(this.role, settings.payloadSources);
      // A repeat whose object is gone finds its data where it was kept.
      state.deliveries.grantFind(this.role);
      state.payloads.grantGet(this.role);
    }
    this.consume('Ingress', {
      queue: ingress,
      maxConcurrency: settings.dispatchConcurrency,
      ...batchesOf(settings),
    });
  }
}
