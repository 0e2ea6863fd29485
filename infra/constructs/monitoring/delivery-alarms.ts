import { Duration } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { firstAttemptWorkers, retryWorkers, zeroWhileBusy } from './capacity.ts';
import type { PlannedAlarms } from './planned-alarm.ts';
import type { Monitored, PosthasteMetrics } from './metrics.ts';

/** The interval of reconcile. */
const RECONCILE_SECONDS = 60;

const MINUTE_SECONDS = 60;

/** With fewer deliveries a percentage means little. */
const ENOUGH_DELIVERIES = 100;

/** If this many subscriptions begin to fail in six hours, the problem is not a single subscriber. */
const SEVERAL = 3;

/** Missing data is fine for counters, because nothing happened. Only reconcile's gauge must always have data. */
export function deliveryAlarms(props: Monitored, metricOf: PosthasteMetrics): PlannedAlarms {
  const { settings, pipeline } = props;
  const first = firstAttemptWorkers(props);
  const retries = retryWorkers(props);
  const fiveMinutes = Duration.minutes(5);
  return {
    FirstAttemptsLate: {
      summary: 'More than 1 % of first attempts start later than one crashed invocation can explain.',
      // Excludes waiting for a subscription's rate limit.
      metric: zeroWhileBusy(metricOf(metricNames.firstAttemptAge, { statistic: 'p99' }), first, fiveMinutes),
      when: {
        above: 1000 * (pipeline.queues.delivery.visibilityTimeout.toSeconds() + MINUTE_SECONDS),
        in: 2,
        of: 2,
      },
    },
    RetriesLate: {
      summary:
        'More than 1 % of retries start so late that reconcile, the safety net, should have woken them.',
      metric: zeroWhileBusy(metricOf(metricNames.retryLateness, { statistic: 'p99' }), retries, fiveMinutes),
      when: { above: 1000 * (settings.overdueAfterSeconds + RECONCILE_SECONDS), in: 2, of: 2 },
    },
    AttemptsStopped: {
      section: 'Faults',
      summary: 'Messages arrive but no attempt is made, and calls to AWS fail.',
      // deliver returns messages to the queue when it has no time for them, so the queues may look busy.
      metric: new MathExpression({
        expression: 'IF(faults > 0 AND matched > 0 AND SUM([attempts]) == 0, 1, 0)',
        usingMetrics: {
          faults: metricOf(metricNames.faults),
          matched: metricOf(metricNames.deliveriesMatched),
          // Counts all attempts, with any outcome.
          attempts: metricOf(metricNames.attemptDuration, { statistic: 'n' }),
        },
        period: Duration.minutes(1),
      }),
      when: { above: 0, in: 5, of: 5 },
    },
    ReconcileWorks: {
      summary: 'Reconcile found overdue deliveries twice in a row: wake-ups are lost, or very late.',
      // One run can find deliveries because an invocation crashed with its messages.
      metric: zeroWhileBusy(metricOf(metricNames.reconciled), retries),
      when: { above: 0, in: 2, of: 2 },
    },
    DeliveriesStuck: {
      summary: 'Deliveries are overdue by 15 minutes or more, although reconcile has sent wake-ups.',
      metric: zeroWhileBusy(metricOf(metricNames.deliveriesStuck, { statistic: 'max' }), retries),
      when: { above: 0, in: 5, of: 5 },
    },
    ReconcileSilent: {
      summary: 'Reconcile does not run, so lost wake-ups are not detected.',
      // Counts the runs: each writes one value.
      metric: metricOf(metricNames.deliveriesOverdue, { statistic: 'n', period: Duration.minutes(1) }),
      when: { below: 1, in: 5, of: 5 },
      missingData: 'alarming',
    },
  };
}

/** Components of composite alarms. They do not notify (see `Alarms`). */
export function componentAlarms(metricOf: PosthasteMetrics) {
  const period = Duration.minutes(15);
  const delivered = metricOf(metricNames.deliveriesDelivered);
  return {
    SeveralFailing: {
      section: 'DeliveriesDoNotFlow',
      summary: `Part of DeliveriesDoNotFlow and UndeliverableRate: ${SEVERAL} or more subscriptions began to fail within six hours.`,
      metric: metricOf(metricNames.subscriptionsFailing, { period: Duration.hours(6) }),
      when: { above: SEVERAL - 1, in: 1, of: 1 },
    },
    MostlyUndeliverable: {
      section: 'UndeliverableRate',
      summary:
        'Part of UndeliverableRate: more than half of the deliveries that ended were rejected or exhausted.',
      // SUM treats an absent series as 0.
      metric: new MathExpression({
        expression: `IF(SUM([delivered, rejected, exhausted]) >= ${ENOUGH_DELIVERIES}, 100 * SUM([rejected, exhausted]) / SUM([delivered, rejected, exhausted]), 0)`,
        usingMetrics: {
          delivered,
          rejected: metricOf(metricNames.deliveriesRejected),
          exhausted: metricOf(metricNames.deliveriesExhausted),
        },
        period,
      }),
      when: { above: 50, in: 1, of: 1 },
    },
    FewDelivered: {
      section: 'DeliveriesDoNotFlow',
      summary: 'Part of DeliveriesDoNotFlow: fewer than half as many deliveries succeed as begin.',
      // (begun − delivered) ÷ begun, in percent. SUM treats an absent series as 0, if nothing was delivered.
      metric: new MathExpression({
        expression: `IF(begun >= ${ENOUGH_DELIVERIES}, 100 * (2 * begun - SUM([begun, delivered])) / begun, 0)`,
        usingMetrics: { begun: metricOf(metricNames.attemptsInitial), delivered },
        period,
      }),
      when: { above: 50, in: 1, of: 1 },
    },
  } satisfies PlannedAlarms;
}
