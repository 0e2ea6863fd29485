import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../../settings.ts';
import { DeliverFunction, DispatchFunction, OperateFunction } from '../functions/pipeline-functions.ts';
import { HoldingQueue, type PipelineQueues, WorkQueue } from './sqs-queue.ts';
import { acknowledge } from '../newer-cdk.ts';

/** The queues of a pipeline. Their ids must not change: CloudFormation would replace a queue and lose its messages. */
export function pipelineQueues(scope: Construct, settings: DeploymentSettings): PipelineQueues {
  const disposable = settings.local;
  const ingressDeadLetters = new HoldingQueue(scope, 'IngressDeadLetters', disposable);
  const deliveryDeadLetters = new HoldingQueue(scope, 'DeliveryDeadLetters', disposable);
  const operationDeadLetters = new HoldingQueue(scope, 'OperationDeadLetters', disposable);
  const window = Duration.seconds(settings.batchWindowSeconds);
  const consumerTimeout = DeliverFunction.timeout(settings);
  const attempts = { consumerTimeout, deadLetters: deliveryDeadLetters, disposable };
  return {
    ingress: ingressQueue(scope, settings, ingressDeadLetters),
    delivery: new WorkQueue(scope, 'Delivery', { ...attempts, window }),
    retry: new WorkQueue(scope, 'Retry', attempts),
    operation: new WorkQueue(scope, 'Operation', {
      consumerTimeout: OperateFunction.timeout,
      deadLetters: operationDeadLetters,
      disposable,
    }),
    undeliverable: undeliverableQueue(scope, disposable),
    ingressDeadLetters,
    deliveryDeadLetters,
    operationDeadLetters,
  };
}

function ingressQueue(
  scope: Construct,
  { batchWindowSeconds, ingressSenders, local }: DeploymentSettings,
  deadLetters: HoldingQueue,
): WorkQueue {
  const queue = new WorkQueue(scope, 'Ingress', {
    consumerTimeout: DispatchFunction.timeout,
    window: Duration.seconds(batchWindowSeconds),
    deadLetters,
    disposable: local,
  });
  for (const service of ['sns', 'events']) {
    const senders = ingressSenders.filter((arn) => arn.split(':')[2] === service);
    queue.grantSendFrom(`${service}.amazonaws.com`, senders);
  }
  return queue;
}

function undeliverableQueue(scope: Construct, disposable: boolean): HoldingQueue {
  const queue = new HoldingQueue(scope, 'Undeliverable', disposable);
  acknowledge(queue, {
    id: 'AwsSolutions-SQS3',
    reason:
      'No function of Posthaste consumes it. Its consumers decide what to do with messages that they cannot process.',
  });
  return queue;
}
