import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Pipeline } from '../pipeline.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import { unlessTaken } from './capacity.ts';
import type { PlannedAlarm } from './planned-alarm.ts';
import type { MonitoringProps } from './metrics.ts';

/** The longest that SQS hides a message on purpose: a `delay`, or a retry that is not due. */
const LONGEST_DELAY_SECONDS = 900;

const MINUTE_SECONDS = 60;

/**
 * Of a queue without data SQS says that it was empty and not asked for six hours, so silence is fine. An age counts from the
 * sending; a message whose invocation died is hidden for the visibility timeout. One death is healed by itself and is no
 * reason to wake anybody, so each limit is that and a minute.
 */
export function queueAlarms({ settings, pipeline }: MonitoringProps): PlannedAlarm[] {
  const { ingress, delivery, retry } = pipeline.queues;
  return [
    {
      id: 'IngressAge',
      says: 'Messages wait in the ingress queue: dispatch does not take them, or fails on them.',
      watches: ingress.metricAgeOfOldest({ period: Duration.minutes(1) }),
      beyond: { above: diedOnceSeconds(ingress) },
      in: 3,
      of: 3,
    },
    {
      id: 'DeliveryAge',
      says: 'First attempts wait in the delivery queue though there are workers for them.',
      watches: unlessTaken(delivery.metricAgeOfOldest(), {
        queue: delivery,
        concurrency: settings.deliverConcurrency,
      }),
      beyond: { above: LONGEST_DELAY_SECONDS + diedOnceSeconds(delivery) },
      in: 3,
      of: 3,
    },
    {
      id: 'RetryAge',
      says: 'Retries wait in the retry queue though there are workers for them.',
      watches: unlessTaken(retry.metricAgeOfOldest(), {
        queue: retry,
        concurrency: settings.retryConcurrency,
      }),
      beyond: { above: LONGEST_DELAY_SECONDS + diedOnceSeconds(retry) },
      in: 3,
      of: 3,
    },
    {
      id: 'IngressStalled',
      section: 'IngressAge',
      says: 'Messages are in the ingress queue, and not one is dealt with.',
      watches: stalled(ingress),
      ...FIVE_MINUTES,
    },
    {
      id: 'DeliveryStalled',
      says: 'First attempts are in the delivery queue, and not one is dealt with.',
      watches: stalled(delivery),
      ...FIVE_MINUTES,
    },
    {
      id: 'RetryStalled',
      section: 'DeliveryStalled',
      says: 'Retries are in the retry queue, and not one is dealt with.',
      watches: stalled(retry),
      ...FIVE_MINUTES,
    },
    ...deadLetterAlarms(pipeline),
  ];
}

function diedOnceSeconds({ visibilityTimeout }: WorkQueue): number {
  return visibilityTimeout.toSeconds() + MINUTE_SECONDS;
}

/** Attempts take half a minute at most, so in five minutes even one worker gets through ten batches. */
const FIVE_MINUTES = { beyond: { above: 0 }, in: 5, of: 5 };

/**
 * 1 in a minute in which messages were there and none was dealt with: no worker is there, or each of them fails. A message
 * that failed is hidden until it may be received again, so those in flight count as well; what is only delayed does not. Its
 * age says nothing by then: SQS leaves out of `ApproximateAgeOfOldestMessage` what was received three times and not deleted,
 * and Lambda counts no error for a part of a batch ("Available CloudWatch metrics for Amazon SQS", SQS developer guide).
 */
function stalled(queue: WorkQueue): MathExpression {
  return new MathExpression({
    expression: 'IF(SUM([waiting, inFlight]) > 0 AND FILL(dealtWith, 0) == 0, 1, 0)',
    usingMetrics: {
      waiting: queue.metricWaiting(),
      inFlight: queue.metricInFlight(),
      dealtWith: queue.metricDeleted(),
    },
    period: Duration.minutes(1),
  });
}

function deadLetterAlarms({ queues, schedules }: Pipeline): PlannedAlarm[] {
  return [
    leftOver(
      'IngressDeadLetters',
      queues.ingressDeadLetters,
      'Messages were not understood, or dispatch gave up on them.',
    ),
    leftOver('DeliveryDeadLetters', queues.deliveryDeadLetters, 'Deliver gave up on jobs or wake-ups.'),
    leftOver('SchedulerDeadLetters', schedules.deadLetters, 'EventBridge Scheduler could not send wake-ups.'),
    leftOver('OperationDeadLetters', queues.operationDeadLetters, 'Operate gave up on an order.'),
  ];
}

function leftOver(id: string, queue: HoldingQueue, says: string): PlannedAlarm {
  return {
    id,
    says,
    watches: queue.metricWaiting({ period: Duration.minutes(1) }),
    beyond: { above: 0 },
    in: 1,
    of: 1,
  };
}
