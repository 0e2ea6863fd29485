import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { Monitored, PosthasteMetrics } from './metrics.ts';
import type { Figure } from './panel.ts';

const RECENT = Duration.minutes(15);

/** The five figures of the first screen. */
export function figures({ queues, schedules }: Monitored['pipeline'], metricOf: PosthasteMetrics): Figure[] {
  return [
    {
      title: 'Deliveries that succeeded, %',
      good: '**Good:** near 100, of those that ended in 15 minutes. No value: none ended.',
      metric: new MathExpression({
        // SUM treats an absent series as 0. FILL would show 0 % where nothing ended.
        expression: '100 * SUM([delivered]) / SUM([delivered, rejected, exhausted])',
        usingMetrics: {
          delivered: metricOf(metricNames.deliveriesDelivered),
          rejected: metricOf(metricNames.deliveriesRejected),
          exhausted: metricOf(metricNames.deliveriesExhausted),
        },
        period: RECENT,
      }),
    },
    {
      title: 'First attempt after, p99 in ms',
      good: '**Good:** under a few thousand, from the ingress queue to the request.',
      metric: metricOf(metricNames.firstAttemptAge, { statistic: 'p99', period: RECENT }),
    },
    {
      title: 'Oldest message waiting, s',
      good: '**Good:** a few seconds. Messages that dispatch has not processed.',
      metric: queues.ingress.metricAgeOfOldest({ period: Duration.minutes(1) }),
    },
    {
      title: 'Dead letters',
      good: '**Good:** 0. `posthaste deadletters list` shows them.',
      metric: new MathExpression({
        expression: 'SUM([ingress, delivery, scheduler, operation])',
        usingMetrics: {
          ingress: queues.ingressDeadLetters.metricWaiting(),
          delivery: queues.deliveryDeadLetters.metricWaiting(),
          scheduler: schedules.deadLetters.metricWaiting(),
          operation: queues.operationDeadLetters.metricWaiting(),
        },
        period: Duration.minutes(1),
      }),
    },
    {
      title: 'Began to fail in 6 h',
      good: '**Good:** 0 subscriptions, or a known one.',
      metric: metricOf(metricNames.subscriptionsFailing, { period: Duration.hours(6) }),
    },
  ];
}
