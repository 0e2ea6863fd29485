import { Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { NodeFunction } from '../functions/node-function.ts';
import type { OperatorEvents } from '../functions/operator-events.ts';
import type { RetrySchedules } from '../queues/retry-schedules.ts';
import type { SqsQueue, WorkQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

export interface ApiFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly operatorEvents: OperatorEvents;
  readonly ingress: WorkQueue;
  readonly operation: WorkQueue;
  readonly delivery: WorkQueue;
  readonly retry: WorkQueue;
  readonly schedules: RetrySchedules;
  /** All queues of the deployment by the names that its health goes by. */
  readonly queues: Readonly<Record<string, SqsQueue>>;
}

/** Administration: queues, subscriptions, messages and what became of them. */
export class ApiFunction extends NodeFunction<'api'> {
  constructor(scope: Construct, id: string, props: ApiFunctionProps) {
    const { settings, state, ingress, operation, delivery, queues } = props;
    super(scope, id, {
      settings,
      entry: 'api',
      description: 'Posthaste: the API of administration',
      // A person waits for its cold start, which is quicker with more processor.
      memoryMegabytes: 512,
      // An HTTP API gives up after 30 s (API Gateway quotas).
      timeout: Duration.seconds(29),
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        secretsKeyArn: state.secretsKey.arn,
        ingressQueueUrl: ingress.url,
        operationQueueUrl: operation.url,
        deliveryQueueUrl: delivery.url,
        retryQueueUrl: props.retry.url,
        scheduleGroup: props.schedules.groupName,
        operatorEventBus: props.operatorEvents.busName,
        queueUrls: Stack.of(scope).toJsonString(
          Object.fromEntries(Object.entries(queues).map(([name, { url }]) => [name, url])),
        ),
      },
    });
    state.subscriptions.grantAdminister(this.role);
    state.deliveries.grantRead(this.role);
    state.deliveries.grantErase(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    // It shows a secret once, when it is made or given, and cannot read it again.
    state.secretsKey.grantSeal(this.role);
    state.deliveries.grantRecover(this.role);
    // What it sends to one subscription itself, a request for confirmation for instance, is on record like everything.
    state.deliveries.grantAccept(this.role);
    state.deliveries.grantCountOverdue(this.role);
    props.operatorEvents.grantPublish(this.role);
    ingress.grantSend(this.role);
    operation.grantSend(this.role);
    delivery.grantSend(this.role);
    // Retries by hand, whose attempt was to come later.
    props.retry.grantSend(this.role);
    props.schedules.grantUnschedule(this.role);
    for (const queue of Object.values(queues)) queue.grantCount(this.role);
  }
}
