import { CfnOutput } from 'aws-cdk-lib';
import type { Construct } from 'constructs';

type Named = { readonly name: string };
type WithUrl = { readonly url: string };
type Queue =
  | 'ingress'
  | 'delivery'
  | 'retry'
  | 'undeliverable'
  | 'ingressDeadLetters'
  | 'deliveryDeadLetters'
  | 'operation'
  | 'operationDeadLetters';

/** Of `State`, which adds them. */
type StateParts = Readonly<Record<'subscriptions' | 'deliveries' | 'payloads', Named>> & {
  readonly secretsKey: { readonly arn: string };
  readonly staticAddresses?: { readonly addresses: readonly string[] };
};

/** Of `Pipeline`, which adds them. */
type PipelineParts = Readonly<
  Record<'dispatch' | 'deliver' | 'reconcile' | 'operate' | 'api' | 'secrets', Named>
> & {
  readonly state: Pick<StateParts, 'subscriptions' | 'deliveries'> & {
    readonly settings: { readonly deployment: string; readonly apiAuthorization: { readonly kind: string } };
  };
  readonly administration: WithUrl & { readonly apiId: string };
  readonly queues: Readonly<Record<Queue, WithUrl>>;
  readonly schedules: { readonly deadLetters: WithUrl; readonly groupName: string };
  readonly operatorEvents: { readonly busName: string };
  readonly workerEnvironment: string;
  readonly workerPolicies?: { readonly arns: readonly string[] } | undefined;
};

type Outputs = Readonly<Record<string, readonly [value: string, description: string]>>;

/**
 * Adds outputs, except those that the scope has already. The command finds a deployment by them. In a stack they have
 * these names exactly, below a construct CloudFormation's names have its path before and a hash behind.
 */
export function addOutputs(scope: Construct, outputs: Outputs): void {
  for (const [name, [value, description]] of Object.entries(outputs))
    if (scope.node.tryFindChild(name) === undefined) new CfnOutput(scope, name, { value, description });
}

/** Those of the state that the command reads. */
function tableOutputs({
  subscriptions,
  deliveries,
}: Pick<StateParts, 'subscriptions' | 'deliveries'>): Outputs {
  return {
    SubscriptionsTable: [subscriptions.name, 'Table of queues and subscriptions'],
    DeliveriesTable: [deliveries.name, 'Table of messages, deliveries and recoveries'],
  };
}

export function stateOutputs({ payloads, secretsKey, staticAddresses, ...tables }: StateParts): Outputs {
  return {
    ...tableOutputs(tables),
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

/** Includes the tables, so that the command finds all in the stack of the pipeline. */
export function pipelineOutputs(pipeline: PipelineParts): Outputs {
  const { administration, queues, schedules, operatorEvents, state } = pipeline;
  return {
    PosthasteDeployment: [state.settings.deployment, 'Name of this deployment of Posthaste'],
    ...tableOutputs(state),
    ApiUrl: [administration.url, 'URL of the administration API'],
    ApiId: [administration.apiId, 'Id of the HTTP API, for IAM policies'],
    ApiAuthorization: [state.settings.apiAuthorization.kind, 'How callers of the API authenticate'],
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
    SecretsFunction: [pipeline.secrets.name, 'Function that serves the routes that open secrets'],
    WorkerEnvironment: [pipeline.workerEnvironment, 'Variables of posthaste worker, as JSON'],
    ...(pipeline.workerPolicies === undefined
      ? {}
      : {
          WorkerPolicyArns: [
            pipeline.workerPolicies.arns.join(','),
            'Managed policies of workers, one for each step',
          ],
        }),
  };
}
