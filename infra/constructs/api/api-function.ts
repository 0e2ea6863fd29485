import { Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { product, userAgentOf } from '../../product.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { NodeFunction } from '../functions/node-function.ts';
import type { OperatorEvents } from '../functions/operator-events.ts';
import type { PipelineQueues } from '../queues/pipeline-queues.ts';
import type { RetrySchedules } from '../queues/retry-schedules.ts';
import type { SqsQueue } from '../queues/sqs-queue.ts';
import type { State } from '../state/state.ts';

interface ApiFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly queues: PipelineQueues;
  readonly schedules: RetrySchedules;
  readonly operatorEvents: OperatorEvents;
}

/**
 * With one processor (AWS Lambda developer guide, "Configure Lambda function memory"): a page takes some 200 calls, and the
 * processor most of that time (docs/operations.md#limits-of-the-api).
 */
const API_MEGABYTES = 1_769;

/** An HTTP API times out after 30 s (API Gateway quotas). */
const API_TIMEOUT = Duration.seconds(29);

/** Serves the administration API, except what opens secrets (`SecretsFunction`). */
export class ApiFunction extends NodeFunction<'api'> {
  constructor(scope: Construct, id: string, props: ApiFunctionProps) {
    const { settings, state, queues, schedules, operatorEvents } = props;
    const { ingress, operation, delivery, retry } = queues;
    const counted = Object.entries(countedQueues(queues, schedules));
    super(scope, id, {
      settings,
      entry: 'api',
      description: 'Posthaste: serves the administration API',
      memoryMegabytes: API_MEGABYTES,
      timeout: API_TIMEOUT,
      reservedConcurrency: settings.apiConcurrency,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        secretsKeyArn: state.secretsKey.arn,
        ingressQueueUrl: ingress.url,
        operationQueueUrl: operation.url,
        deliveryQueueUrl: delivery.url,
        retryQueueUrl: retry.url,
        scheduleGroup: schedules.groupName,
        operatorEventBus: operatorEvents.busName,
        userAgent: userAgentOf(product, settings.userAgentContact),
        queueUrls: Stack.of(scope).toJsonString(
          Object.fromEntries(counted.map(([name, { url }]) => [name, url])),
        ),
      },
    });
    state.subscriptions.grantAdminister(this.role);
    state.deliveries.grantRead(this.role);
    state.deliveries.grantErase(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    state.secretsKey.grantSeal(this.role);
    state.deliveries.grantRecover(this.role);
    // Records the messages that it sends to one subscription: tests and confirmation requests.
    state.deliveries.grantAccept(this.role);
    state.deliveries.grantCountOverdue(this.role);
    operatorEvents.grantPublish(this.role);
    ingress.grantSend(this.role);
    operation.grantSend(this.role);
    delivery.grantSend(this.role);
    // For manual retries.
    retry.grantSend(this.role);
    schedules.grantUnschedule(this.role);
    for (const [, queue] of counted) queue.grantCount(this.role);
  }
}

/** All SQS queues of the deployment, by the names that the health route uses. */
function countedQueues(queues: PipelineQueues, schedules: RetrySchedules): Record<string, SqsQueue> {
  const { operationDeadLetters, ...others } = queues;
  return { ...others, schedulerDeadLetters: schedules.deadLetters, operationDeadLetters };
}

interface SecretsFunctionProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
}

/** Serves the routes of the API that open secrets: receives by pull, which it signs, and exports of credentials. */
export class SecretsFunction extends NodeFunction<'secrets'> {
  constructor(scope: Construct, id: string, { settings, state }: SecretsFunctionProps) {
    super(scope, id, {
      settings,
      entry: 'secrets',
      description: 'Posthaste: serves receives by pull and exports of credentials',
      memoryMegabytes: API_MEGABYTES,
      timeout: API_TIMEOUT,
      reservedConcurrency: settings.apiConcurrency,
      resources: {
        subscriptionsTable: state.subscriptions.name,
        deliveriesTable: state.deliveries.name,
        payloadBucket: state.payloads.name,
        secretsKeyArn: state.secretsKey.arn,
        userAgent: userAgentOf(product, settings.userAgentContact),
      },
    });
    state.subscriptions.grantRead(this.role);
    state.deliveries.grantReceive(this.role);
    state.payloads.grantGet(this.role);
    state.payloads.grantPut(this.role);
    state.secretsKey.grantOpen(this.role);
  }
}
