import { Duration, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { DISPATCH_TIMEOUT_SECONDS } from '../../../shared/domain/delivery/fan-out.ts';
import { acknowledgeWildcard } from '../findings.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { batchesOf, NodeFunction, type PipelineParts } from './node-function.ts';

/** Megabytes. Ten messages with 1 MiB of data each need up to 300 while filters read all of them. */
const MEMORY_WITH_SOURCES = 1024;

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
      // A batch has up to 6 MB of messages (Lambda's payload quota), each parsed and copied into jobs.
      memoryMegabytes: settings.payloadSources.length > 0 ? MEMORY_WITH_SOURCES : 512,
      timeout: DispatchFunction.timeout,
    });
    this.grant((grantee) => {
      state.subscriptions.grantList(grantee);
      state.deliveries.grantAccept(grantee);
      state.payloads.grantPut(grantee);
      delivery.grantSend(grantee);
      ingressDeadLetters.grantSend(grantee);
      if (settings.payloadSources.length > 0) {
        grantReadSources(grantee, Stack.of(this).partition, settings.payloadSources);
        // On a repeat the source object may be deleted; the stored copy is used.
        state.deliveries.grantFind(grantee);
        state.payloads.grantGet(grantee);
      }
    });
    this.consume('Ingress', {
      queue: ingress,
      maxConcurrency: settings.dispatchConcurrency,
      ...batchesOf(settings),
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
