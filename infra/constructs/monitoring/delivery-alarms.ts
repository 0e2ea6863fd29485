import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { type Lane, unlessTaken } from './capacity.ts';
import type { PlannedAlarm } from './planned-alarm.ts';
import type { MonitoringProps, OwnMetrics } from './metrics.ts';

/** Reconcile runs so often. */
const RECONCILE_SECONDS = 60;

const MINUTE_SECONDS = 60;

/** Fewer say nothing about a share. */
const ENOUGH_DELIVERIES = 100;

/** So many subscriptions that began to fail in six hours are not one subscriber's trouble. */
const SEVERAL = 3;

/** Counts are absent where nothing happened, so silence is fine: but for the gauge that reconcile writes every minute. */
export function deliveryAlarms({ settings, pipeline }: MonitoringProps, own: OwnMetrics): PlannedAlarm[] {
  const first: Lane = { queue: pipeline.queues.delivery, concurrency: settings.deliverConcurrency };
  const retries: Lane = { queue: pipeline.queues.retry, concurrency: settings.retryConcurrency };
  const fiveMinutes = Duration.minutes(5);
  return [
    {
      id: 'FirstAttemptsLate',
      says: 'One first attempt in a hundred starts later than a crash would explain.',
      // Waiting for a subscription's own rate limit is not in it.
      watches: unlessTaken(own(metricNames.firstAttemptAge, { statistic: 'p99' }), first, fiveMinutes),
      beyond: { above: 1000 * (pipeline.queues.delivery.visibilityTimeout.toSeconds() + MINUTE_SECONDS) },
      in: 2,
      of: 2,
    },
    {
      id: 'RetriesLate',
      says: 'One retry in a hundred starts later than even reconcile, the safety net, would start it.',
      watches: unlessTaken(own(metricNames.retryLateness, { statistic: 'p99' }), retries, fiveMinutes),
      beyond: { above: 1000 * (settings.overdueAfterSeconds + RECONCILE_SECONDS) },
      in: 2,
      of: 2,
    },
    {
      id: 'AttemptsStopped',
      section: 'Faults',
      says: 'One of our own services fails, and of the messages that come not one is attempted.',
      // Deliver gives work back as new messages when it has no time for it, so the queues may look busy meanwhile.
      watches: new MathExpression({
        expression: 'IF(faults > 0 AND matched > 0 AND SUM([attempts]) == 0, 1, 0)',
        usingMetrics: {
          faults: own(metricNames.faults),
          matched: own(metricNames.deliveriesMatched),
          // One value for each attempt, whatever it comes to.
          attempts: own(metricNames.attemptDuration, { statistic: 'n' }),
        },
        period: Duration.minutes(1),
      }),
      beyond: { above: 0 },
      in: 5,
      of: 5,
    },
    {
      id: 'ReconcileWorks',
      says: 'Reconcile found deliveries to wake twice in a row: wake-ups get lost, or come very late.',
      // Once may be an invocation that died with its messages.
      watches: unlessTaken(own(metricNames.reconciled), retries),
      beyond: { above: 0 },
      in: 2,
      of: 2,
    },
    {
      id: 'DeliveriesStuck',
      says: 'Deliveries are a quarter of an hour past their time, and waking them has not helped.',
      watches: unlessTaken(own(metricNames.deliveriesStuck, { statistic: 'max' }), retries),
      beyond: { above: 0 },
      in: 5,
      of: 5,
    },
    {
      id: 'ReconcileSilent',
      says: 'Reconcile does not run: nothing that gets lost is found again.',
      // One value for each run, whatever it is.
      watches: own(metricNames.deliveriesOverdue, { statistic: 'n', period: Duration.minutes(1) }),
      beyond: { below: 1 },
      in: 5,
      of: 5,
      silence: 'alarming',
    },
  ];
}

/** What only means something together: these tell nobody by themselves, see `Alarms`. */
export function partsOfAlarms(own: OwnMetrics) {
  const period = Duration.minutes(15);
  const delivered = own(metricNames.deliveriesDelivered);
  return {
    severalFailing: {
      id: 'SeveralFailing',
      section: 'DeliveriesDoNotFlow',
      says: `Part of DeliveriesDoNotFlow and UndeliverableRate: ${SEVERAL} or more subscriptions began to fail in six hours.`,
      watches: own(metricNames.subscriptionsFailing, { period: Duration.hours(6) }),
      beyond: { above: SEVERAL - 1 },
      in: 1,
      of: 1,
    },
    mostlyUndeliverable: {
      id: 'MostlyUndeliverable',
      section: 'UndeliverableRate',
      says: 'Part of UndeliverableRate: more than half of the deliveries that ended did so undelivered.',
      // SUM takes an absent series for 0.
      watches: new MathExpression({
        expression: `IF(SUM([delivered, rejected, exhausted]) >= ${ENOUGH_DELIVERIES}, 100 * SUM([rejected, exhausted]) / SUM([delivered, rejected, exhausted]), 0)`,
        usingMetrics: {
          delivered,
          rejected: own(metricNames.deliveriesRejected),
          exhausted: own(metricNames.deliveriesExhausted),
        },
        period,
      }),
      beyond: { above: 50 },
      in: 1,
      of: 1,
    },
    fewDelivered: {
      id: 'FewDelivered',
      section: 'DeliveriesDoNotFlow',
      says: 'Part of DeliveriesDoNotFlow: not half as many deliveries succeed as are begun.',
      // Begun less delivered; where nothing was delivered there is no series, which SUM takes for 0.
      watches: new MathExpression({
        expression: `IF(begun >= ${ENOUGH_DELIVERIES}, 100 * (2 * begun - SUM([begun, delivered])) / begun, 0)`,
        usingMetrics: { begun: own(metricNames.attemptsInitial), delivered },
        period,
      }),
      beyond: { above: 50 },
      in: 1,
      of: 1,
    },
  } satisfies Record<string, PlannedAlarm>;
}
