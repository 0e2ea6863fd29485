import { Duration, Stack } from 'aws-cdk-lib';
import { Grant, type IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { acknowledgeWildcard } from '../acknowledged-wildcard.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { batchesOf, NodeFunction } from './node-function.ts';
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
  /** A fan-out to thousands is some hundreds of batches sent side by side; a crash costs as much and some seconds. */
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
        ingressQueueUrl: ingress.url,
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

type Sources = DeploymentSettings['payloadSources'];

/** The variable `payloadSources`: each with the account that its bucket has to belong to, ours if none is named. */
function payloadSourcesVariable(scope: Construct, sources: Sources): string {
  const { account } = Stack.of(scope);
  return Stack.of(scope).toJsonString(
    sources.map(({ bucket, prefix, owner }) => ({ bucket, prefix, owner: owner ?? account })),
  );
}

/**
 * Reading under these prefixes, and nothing else: no listing either, so S3 does not tell an object that is missing from one
 * that may not be read. A bucket of another account has to allow it as well, and so has a key.
 */
function grantReadSources(grantee: IRole, sources: Sources): void {
  const { partition } = Stack.of(grantee);
  for (const { bucket, prefix, keyArn } of sources) {
    const objects = `arn:${partition}:s3:::${bucket}/${prefix}*`;
    acknowledgeWildcard(grantee, objects, 'Which objects producers refer to, only their messages say.');
    // With a version's id, S3 asks for the second ("GetObject", S3 API reference).
    const actions = ['s3:GetObject', 's3:GetObjectVersion'];
    Grant.addToPrincipal({ grantee, actions, resourceArns: [objects] });
    if (keyArn !== undefined)
      Grant.addToPrincipal({ grantee, actions: ['kms:Decrypt'], resourceArns: [keyArn] });
  }
}
