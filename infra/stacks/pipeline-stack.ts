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
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}

function outputsOf(pipeline: Pipeline): Record<string, string> {
  return {
    ApiUrl: pipeline.administration.url,
    ApiId: pipeline.administration.apiId,
    IngressQueueUrl: pipeline.queues.ingress.url,
    DeliveryQueueUrl: pipeline.queues.delivery.url,
    RetryQueueUrl: pipeline.queues.retry.url,
    UndeliverableQueueUrl: pipeline.queues.undeliverable.url,
    IngressDeadLetterUrl: pipeline.queues.ingressDeadLetters.url,
    DeliveryDeadLetterUrl: pipeline.queues.deliveryDeadLetters.url,
    OperationQueueUrl: pipeline.queues.operation.url,
    OperationDeadLetterUrl: pipeline.queues.operationDeadLetters.url,
    SchedulerDeadLetterUrl: pipeline.schedules.deadLetters.url,
    OperatorEventBus: pipeline.operatorEvents.busName,
    ScheduleGroup: pipeline.schedules.groupName,
    DispatchFunction: pipeline.dispatch.name,
    DeliverFunction: pipeline.deliver.name,
    ReconcileFunction: pipeline.reconcile.name,
    OperateFunction: pipeline.operate.name,
    ApiFunction: pipeline.api.name,
  };
}
