import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Pipeline } from '../pipeline.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import { firstAttemptWorkers, retryWorkers, zeroWhileBusy } from './capacity.ts';
import type { PlannedAlarm, PlannedAlarms } from './planned-alarm.ts';
import type { Monitored } from './metrics.ts';

/** The longest `DelaySeconds` of SQS, used for a `delay` or a retry that is not due. */
const LONGEST_DELAY_SECONDS = 900;

const MINUTE_SECONDS = 60;

/**
 * SQS writes no data for a queue that is empty and unused for six hours, so missing data is fine. Ages count from
 * sending. A single crash heals after the visibility timeout, so each threshold allows for one, plus a minute.
 */
export function queueAlarms(props: Monitored): PlannedAlarms {
  const { pipeline } = props;
  const { ingress, delivery, retry } = pipeline.queues;
  return {
    IngressAge: {
      summary: 'Messages wait in the ingress queue: dispatch does not receive them, or fails.',
      metric: ingress.metricAgeOfOldest({ period: Duration.minutes(1) }),
      when: { above: afterOneCrashSeconds(ingress), in: 3, of: 3 },
    },
    DeliveryAge: {
      summary: 'First attempts wait in the delivery queue although workers are free.',
      metric: zeroWhileBusy(delivery.metricAgeOfOldest(), firstAttemptWorkers(props)),
      when: { above: LONGEST_DELAY_SECONDS + afterOneCrashSeconds(delivery), in: 3, of: 3 },
    },
    RetryAge: {
      summary: 'Retries wait in the retry queue although workers are free.',
      metric: zeroWhileBusy(retry.metricAgeOfOldest(), retryWorkers(props)),
      when: { above: LONGEST_DELAY_SECONDS + afterOneCrashSeconds(retry), in: 3, of: 3 },
    },
    IngressStalled: {
      section: 'IngressAge',
      summary: 'The ingress queue has messages, but none is processed.',
      metric: stalled(ingress),
      ...FIVE_MINUTES,
    },
    DeliveryStalled: {
      summary: 'The delivery queue has first attempts, but none is processed.',
      metric: stalled(delivery),
      ...FIVE_MINUTES,
    },
    RetryStalled: {
      section: 'DeliveryStalled',
      summary: 'The retry queue has retries, but none is processed.',
      metric: stalled(retry),
      ...FIVE_MINUTES,
    },
    ...deadLetterAlarms(pipeline),
  };
}

function afterOneCrashSeconds({ visibilityTimeout }: WorkQueue): number {
  return visibilityTimeout.toSeconds() + MINUTE_SECONDS;
}

/** Attempts take half a minute at most, so even one worker processes ten batches in five minutes. */
const FIVE_MINUTES = { when: { above: 0, in: 5, of: 5 } };

/**
 * 1 for each minute in which a queue had messages but none was processed. Counts messages in flight, because failed
 * ones are hidden. Age and Lambda errors do not show this: SQS excludes messages that were received three times from
 * the age ("Available CloudWatch metrics for Amazon SQS"), and Lambda counts no errors for parts of a batch.
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

function deadLetterAlarms({ queues, schedules }: Pipeline): PlannedAlarms {
  return {
    IngressDeadLetters: deadLetterAlarm(
      queues.ingressDeadLetters,
      'Messages in the ingress queue were invalid, or failed in dispatch too often.',
    ),
    DeliveryDeadLetters: deadLetterAlarm(
      queues.deliveryDeadLetters,
      'Jobs or wake-ups failed in deliver too often.',
    ),
    SchedulerDeadLetters: deadLetterAlarm(
      schedules.deadLetters,
      'EventBridge Scheduler could not send wake-ups.',
    ),
    OperationDeadLetters: deadLetterAlarm(
      queues.operationDeadLetters,
      'A recovery or cancellation failed in operate too often.',
    ),
  };
}

function deadLetterAlarm(queue: HoldingQueue, summary: string): PlannedAlarm {
  const metric = queue.metricWaiting({ period: Duration.minutes(1) });
  return { summary, metric, when: { above: 0, in: 1, of: 1 } };
}
