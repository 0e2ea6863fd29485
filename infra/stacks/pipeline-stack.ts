import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Pipeline } from '../constructs/pipeline.ts';
import type { State } from '../constructs/state/state.ts';
import type { DeploymentSettings } from '../settings.ts';

export interface PipelineStackProps extends StackProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
}

/** Queues, functions, schedules and the API. */
export class PipelineStack extends Stack {
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    super(scope, id, { description: 'Posthaste: queues, functions, schedules and the API', ...props });
    this.pipeline = new Pipeline(this, 'Pipeline', { settings: props.settings, state: props.state });

    const outputs = outputsOf(this.pipeline);
    for (const [name, [value, description]] of Object.entries(outputs))
      new CfnOutput(this, name, { value, description });
  }
}

/** The outputs by name, each with its description. */
function outputsOf(pipeline: Pipeline): Record<string, [value: string, description: string]> {
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
