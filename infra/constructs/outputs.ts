import { CfnOutput } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Pipeline } from './pipeline.ts';
import type { State } from './state/state.ts';

type Outputs = Readonly<Record<string, readonly [value: string, description: string]>>;

/**
 * Adds outputs, by which the command finds the parts of a deployment. In a stack they have these names exactly, below
 * a construct CloudFormation's names have its path before and a hash behind.
 */
export function addOutputs(scope: Construct, outputs: Outputs): void {
  for (const [name, [value, description]] of Object.entries(outputs))
    new CfnOutput(scope, name, { value, description });
}

export function stateOutputs({ subscriptions, deliveries, payloads, ...state }: State): Outputs {
  const { secretsKey, staticAddresses } = state;
  return {
    SubscriptionsTable: [subscriptions.name, 'Table of queues and subscriptions'],
    DeliveriesTable: [deliveries.name, 'Table of messages, deliveries and recoveries'],
    PayloadBucket: [payloads.name, 'Bucket of large message bodies'],
    SecretsKeyArn: [secretsKey.arn, 'KMS key that seals signing secrets'],
    ...(staticAddresses === undefined
      ? {}
      : {
          StaticAddresses: [
            staticAddresses.addresses.join(','),
            'IP addresses that requests to subscribers come from',
          ],
        }),
  };
}

export function pipelineOutputs(pipeline: Pipeline): Outputs {
  const { administration, queues, schedules, operatorEvents } = pipeline;
  return {
    ApiUrl: [administration.url, 'URL of the administration API'],
    ApiId: [administration.apiId, 'Id of the HTTP API, for IAM policies'],
    IngressQueueUrl: [queues.ingress.url, 'Queue that producers send messages to'],
    DeliveryQueueUrl: [queues.delivery.url, 'Queue of first attempts'],
    RetryQueueUrl: [queues.retry.url, 'Queue of wake-ups for retries'],
    UndeliverableQueueUrl: [
      queues.undeliverable.url,
      'Notices of deliveries that were rejected or exhausted',
    ],
    IngressDeadLetterUrl: [queues.ingressDeadLetters.url, 'Dead letters of the ingress queue'],
    DeliveryDeadLetterUrl: [
      queues.deliveryDeadLetters.url,
      'Dead letters of the delivery queue and the retry queue',
    ],
    OperationQueueUrl: [queues.operation.url, 'Queue of recoveries and cancellations'],
    OperationDeadLetterUrl: [queues.operationDeadLetters.url, 'Dead letters of the operation queue'],
    SchedulerDeadLetterUrl: [schedules.deadLetters.url, 'Wake-ups that EventBridge Scheduler could not send'],
    OperatorEventBus: [operatorEvents.busName, 'EventBridge bus with events for operators'],
    ScheduleGroup: [schedules.groupName, 'EventBridge Scheduler group of retries'],
    DispatchFunction: [pipeline.dispatch.name, 'Function that matches messages with subscriptions'],
    DeliverFunction: [pipeline.deliver.name, 'Function that sends requests to subscribers'],
    ReconcileFunction: [pipeline.reconcile.name, 'Function that sends wake-ups for overdue deliveries'],
    OperateFunction: [pipeline.operate.name, 'Function that runs recoveries and cancellations'],
    ApiFunction: [pipeline.api.name, 'Function that serves the administration API'],
  };
}
