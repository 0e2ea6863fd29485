import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { Pipeline } from '../pipeline.ts';
import type { HoldingQueue, WorkQueue } from '../queues/sqs-queue.ts';
import { errorsAlarm, faultsAlarm, period, type PlannedAlarm, REPEATED } from './alarm.ts';
import {
  firstAttemptWorkers,
  retryWorkers,
  zeroWhileBusy,
  zeroWhileSubscribersHang,
  listFunctions,
  sumMetrics,
} from './metrics.ts';
import type { PosthasteMetrics } from './posthaste-metrics.ts';

/** The longest `DelaySeconds` of SQS, used for a `delay`, a retry that is not due, or the repeat of a cancellation. */
const LONGEST_DELAY_SECONDS = 900;

const MINUTE_SECONDS = 60;

/**
 * SQS writes no data for a queue that is empty and unused for six hours, so missing data is fine. Ages count from
 * sending. A single crash heals after the visibility timeout, so each threshold allows for one, plus a minute.
 */
export function queueAlarms(pipeline: Pipeline): PlannedAlarms {
  const { ingress, delivery, retry, operation } = pipeline.queues;
  return {
    IngressAge: {
      summary: 'Messages wait in the ingress queue: dispatch does not receive them, or fails.',
      metric: ingress.metricAgeOfOldest({ period: Duration.minutes(1) }),
      when: { above: afterOneCrashSeconds(ingress), in: 3, of: 3 },
    },
    DeliveryAge: {
      summary: 'First attempts wait in the delivery queue although workers are free.',
      metric: zeroWhileBusy(delivery.metricAgeOfOldest(), firstAttemptWorkers(pipeline)),
      when: { above: LONGEST_DELAY_SECONDS + afterOneCrashSeconds(delivery), in: 3, of: 3 },
    },
    RetryAge: {
      summary: 'Retries wait in the retry queue although workers are free.',
      metric: zeroWhileBusy(retry.metricAgeOfOldest(), retryWorkers(pipeline)),
      when: { above: LONGEST_DELAY_SECONDS + afterOneCrashSeconds(retry), in: 3, of: 3 },
    },
    OperationAge: {
      summary:
        'Recoveries and cancellations wait in the operation queue: operate does not receive them, or fails.',
      metric: operation.metricAgeOfOldest({ period: Duration.minutes(1) }),
      when: { above: LONGEST_DELAY_SECONDS + afterOneCrashSeconds(operation), in: 3, of: 3 },
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

/** The interval of reconcile. */
const RECONCILE_SECONDS = 60;

/** With fewer deliveries a percentage means little. */
const ENOUGH_DELIVERIES = 100;

/** If this many subscriptions begin to fail in six hours, the problem is not a single subscriber. */
const SEVERAL = 3;

/** Missing data is fine for counters, because nothing happened. Only reconcile's gauge must always have data. */
export function deliveryAlarms(pipeline: Pipeline, metricOf: PosthasteMetrics): PlannedAlarms {
  const { settings } = pipeline.state;
  const first = firstAttemptWorkers(pipeline);
  const retries = retryWorkers(pipeline);
  const fiveMinutes = Duration.minutes(5);
  return {
    FirstAttemptsLate: {
      summary: 'More than 1 % of first attempts start later than one crashed invocation can explain.',
      // Excludes waiting for a subscription's rate limit.
      metric: zeroWhileBusy(metricOf(metricNames.firstAttemptAge, { statistic: 'p99' }), first, fiveMinutes),
      when: { above: 1000 * afterOneCrashSeconds(pipeline.queues.delivery), in: 2, of: 2 },
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
    DeliveriesExpiring: {
      summary: 'Deliveries wait for the end of a pause, and are cancelled within a day because of their age.',
      metric: metricOf(metricNames.deliveriesExpiring),
      when: { above: 0, in: 1, of: 1 },
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

/** Lambda writes no data for a function that is not invoked, so missing data is fine. */
export function functionAlarms(pipeline: Pipeline, metricOf: PosthasteMetrics): PlannedAlarms {
  const { settings } = pipeline.state;
  const mostWorkers = settings.deliverConcurrency + settings.retryConcurrency;
  const running = pipeline.deliver.lambda.metric('ConcurrentExecutions', { statistic: 'max' });
  const ofFunctions = Object.entries(listFunctions(pipeline)).flatMap(
    ([name, { lambda }]): [id: string, PlannedAlarm][] => [
      [`${name}Errors`, errorsAlarm(name, lambda)],
      [
        `${name}Throttles`,
        {
          section: 'FunctionThrottles',
          summary: `Lambda throttles ${name.toLowerCase()}: it has no concurrency left.`,
          metric: lambda.metricThrottles({ statistic: 'sum', period }),
          ...REPEATED,
        },
      ],
    ],
  );
  return {
    ...Object.fromEntries(ofFunctions),
    Faults: faultsAlarm(metricOf),
    RecursionDropped: {
      summary: 'Lambda mistook a message for a runaway loop and dropped it.',
      metric: sumMetrics(
        'dropped',
        [pipeline.dispatch, pipeline.deliver, pipeline.operate].map(({ lambda }) =>
          lambda.metric('RecursiveInvocationsDropped', { statistic: 'sum' }),
        ),
        Duration.minutes(5),
      ),
      when: { above: 0, in: 1, of: 1 },
    },
    DeliverConcurrency: {
      summary: 'Deliver uses nearly all the concurrency that the settings allow.',
      // Peaks are expected; 15 minutes mean growth.
      metric: zeroWhileSubscribersHang(running, settings, metricOf),
      when: { above: Math.floor(0.9 * mostWorkers), in: 15, of: 15 },
    },
    AccountConcurrency: {
      summary: 'All functions of the account together use more than 80 % of its concurrent executions.',
      // Reserved concurrency counts as claimed ("Monitoring concurrency", Lambda developer guide). The settings limit
      // the functions of Posthaste, so other functions or a small quota are the cause.
      metric: new MathExpression({
        expression: '100 * claimed / SERVICE_QUOTA(running)',
        usingMetrics: {
          claimed: accountMetric('ClaimedAccountConcurrency'),
          // SERVICE_QUOTA supports only this metric.
          running: accountMetric('ConcurrentExecutions'),
        },
        period,
      }),
      when: { above: 80, in: 5, of: 5 },
    },
  };
}

/** Without dimensions: for all functions of the account in the region. */
function accountMetric(metricName: string): Metric {
  return new Metric({ namespace: 'AWS/Lambda', metricName, statistic: 'max' });
}

/** By the construct id, which must not change. It is also the alarm's name, after the deployment's. */
type PlannedAlarms = Readonly<Record<string, PlannedAlarm>>;
