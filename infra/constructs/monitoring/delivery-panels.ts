import { LogQueryVisualizationType, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { type Monitored, type PosthasteMetrics, schedulerMetric } from './metrics.ts';
import { PANEL_HEIGHT, PANEL_WIDTH, type Panel, type Row } from './panel.ts';
import { logGroupsOf, queries, textOf } from './saved-queries.ts';

/** The panels on producers, deliveries and subscribers. */
export function deliveryPanels({ settings, pipeline }: Monitored, metricOf: PosthasteMetrics): Row[] {
  return [
    { question: 'Are messages coming in?', panels: incoming(pipeline, metricOf) },
    { question: 'Are they delivered?', panels: delivered(pipeline, metricOf) },
    { question: 'Which subscribers fail?', panels: failing(pipeline, metricOf) },
    { question: 'Are retries on time?', panels: retries({ settings, pipeline }, metricOf) },
  ];
}

type Pipeline = Monitored['pipeline'];

function incoming(pipeline: Pipeline, metricOf: PosthasteMetrics): Panel[] {
  return [
    {
      title: 'Messages',
      good: '**Good:** *accepted* follows what producers send; *refused* is 0. *No subscriber* means that no subscription matched.',
      unit: 'per minute',
      lines: {
        accepted: metricOf(metricNames.messagesAccepted),
        'no subscriber': metricOf(metricNames.messagesUnmatched),
        refused: metricOf(metricNames.messagesRefused),
      },
    },
    {
      title: 'Oldest message in the ingress queue',
      good: '**Good:** a few seconds at most. It rises while dispatch fails or does not keep up.',
      unit: 's',
      lines: { age: pipeline.queues.ingress.metricAgeOfOldest() },
    },
    {
      title: 'Deliveries created',
      good: '**Good:** *matched* is messages × matching subscriptions. *Filtered out* causes no further cost.',
      unit: 'per minute',
      lines: {
        matched: metricOf(metricNames.deliveriesMatched),
        'filtered out': metricOf(metricNames.deliveriesFiltered),
      },
    },
  ];
}

function delivered(pipeline: Pipeline, metricOf: PosthasteMetrics): Panel[] {
  return [
    {
      title: 'Deliveries that ended',
      good: '**Good:** nearly all *delivered*. For *rejected* and *exhausted* see the failing subscriptions below.',
      unit: 'per minute',
      stacked: true,
      lines: {
        delivered: metricOf(metricNames.deliveriesDelivered),
        rejected: metricOf(metricNames.deliveriesRejected),
        exhausted: metricOf(metricNames.deliveriesExhausted),
        cancelled: metricOf(metricNames.deliveriesCancelled),
      },
    },
    {
      title: 'Attempts by outcome',
      good: '**Good:** mostly *delivered*. *Failed* rises while a subscriber is down, because attempts are retried.',
      unit: 'per minute',
      stacked: true,
      lines: {
        delivered: metricOf(metricNames.attemptsDelivered),
        failed: metricOf(metricNames.attemptsFailed),
        rejected: metricOf(metricNames.attemptsRejected),
      },
    },
    {
      title: 'From the ingress queue to the first attempt',
      good: '**Good:** p50 within a second, p99 within a few. Later means too few workers, or slow subscribers.',
      unit: 'ms',
      lines: {
        p50: metricOf(metricNames.firstAttemptAge, { statistic: 'p50' }),
        p99: metricOf(metricNames.firstAttemptAge, { statistic: 'p99' }),
      },
    },
    {
      title: 'First attempts waiting',
      good: '**Good:** near 0, with short peaks. Messages with a `delay` count only once they are due.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.delivery.metricWaiting(),
        'in flight': pipeline.queues.delivery.metricInFlight(),
      },
    },
    {
      title: 'Undeliverable queue',
      good: '**Good:** only what you have not fetched yet. Each message is a delivery that was rejected or exhausted.',
      unit: 'messages',
      lines: { held: pipeline.queues.undeliverable.metricWaiting() },
    },
    {
      title: 'Waiting for their turn',
      good: '**Good:** 0, or what your rate limits are meant to hold back. Also counts waits under back-pressure; waits, not deliveries.',
      unit: 'per minute',
      lines: { waits: metricOf(metricNames.attemptsRateLimited) },
    },
  ];
}

function failing(pipeline: Pipeline, metricOf: PosthasteMetrics): Panel[] {
  return [
    {
      good: '**Good:** empty, or known cases. Each refresh reads the log of deliver for the chosen period ($0.005 a GB).',
      widget: new LogQueryWidget({
        title: 'Failing subscriptions',
        logGroupNames: logGroupsOf(queries.failing, pipeline),
        queryString: textOf(queries.failing),
        view: LogQueryVisualizationType.TABLE,
        width: 2 * PANEL_WIDTH,
        height: PANEL_HEIGHT,
      }),
    },
    {
      title: 'Response time of subscribers',
      good: '**Good:** p50 well under a second. If p99 is near the attempt timeout, a subscriber hangs and occupies workers.',
      unit: 'ms',
      lines: {
        p50: metricOf(metricNames.attemptDuration, { statistic: 'p50' }),
        p95: metricOf(metricNames.attemptDuration, { statistic: 'p95' }),
        p99: metricOf(metricNames.attemptDuration, { statistic: 'p99' }),
      },
    },
    {
      title: 'Subscriptions that began to fail or throttle',
      good: '**Good:** 0, or one now and then. If several begin at once, check the network of deliver first.',
      unit: 'per minute',
      lines: {
        'began to fail': metricOf(metricNames.subscriptionsFailing),
        'began to throttle': metricOf(metricNames.subscriptionsThrottled),
        'circuit opened': metricOf(metricNames.circuitsOpened),
      },
    },
  ];
}

function retries(
  { settings, pipeline }: Pick<Monitored, 'settings' | 'pipeline'>,
  metricOf: PosthasteMetrics,
): Panel[] {
  return [
    {
      title: 'Retry lateness',
      good: '**Good:** p99 within about 1.5 s. Waiting for a rate limit is not included.',
      unit: 'ms',
      lines: {
        p50: metricOf(metricNames.retryLateness, { statistic: 'p50' }),
        p99: metricOf(metricNames.retryLateness, { statistic: 'p99' }),
      },
    },
    {
      title: 'Overdue retries',
      good: '**Good:** 0. *Woken by reconcile* now and then after a crash. *Stuck* means that wake-ups do not help.',
      unit: 'deliveries',
      lines: {
        overdue: metricOf(metricNames.deliveriesOverdue, { statistic: 'max' }),
        'woken by reconcile': metricOf(metricNames.reconciled),
        stuck: metricOf(metricNames.deliveriesStuck, { statistic: 'max' }),
      },
    },
    {
      title: 'Retries waiting',
      good: '**Good:** near 0. Retries that are not due yet do not count.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.retry.metricWaiting(),
        'in flight': pipeline.queues.retry.metricInFlight(),
      },
    },
    {
      title: 'Attempts by phase',
      good: '**Good:** mostly *initial*. A wave that moves through the phases is the outage of a subscriber.',
      unit: 'per minute',
      stacked: true,
      lines: {
        initial: metricOf(metricNames.attemptsInitial),
        immediate: metricOf(metricNames.attemptsImmediate),
        pre_backoff: metricOf(metricNames.attemptsPreBackoff),
        backoff: metricOf(metricNames.attemptsBackoff),
        post_backoff: metricOf(metricNames.attemptsPostBackoff),
        manual: metricOf(metricNames.attemptsManual),
      },
    },
    {
      title: 'Wake-ups scheduled',
      good: `**Good:** as many as failed attempts. Delays of ${settings.schedulerThreshold} s or more use EventBridge Scheduler.`,
      unit: 'per minute',
      lines: {
        'by SQS': metricOf(metricNames.wakeUpsBySqs),
        'by Scheduler': metricOf(metricNames.wakeUpsByScheduler),
      },
    },
    {
      title: 'EventBridge Scheduler',
      good: '**Good:** only *fired*. *Throttled* means that the quota is too small, and retries are late.',
      unit: 'per minute',
      lines: {
        fired: schedulerMetric(pipeline, 'InvocationAttemptCount'),
        throttled: schedulerMetric(pipeline, 'InvocationThrottleCount'),
        'refused by SQS': schedulerMetric(pipeline, 'TargetErrorCount'),
        dropped: schedulerMetric(pipeline, 'InvocationDroppedCount'),
      },
    },
  ];
}
