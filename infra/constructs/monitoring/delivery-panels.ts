import { LogQueryVisualizationType, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { type MonitoringProps, type OwnMetrics, schedulerMetric } from './metrics.ts';
import { PANEL_HEIGHT, PANEL_WIDTH, type Panel, type Row } from './panel.ts';
import { logGroupsOf, queries, textOf } from './saved-queries.ts';

/** What a producer or a subscriber would ask about. */
export function deliveryPanels({ settings, pipeline }: MonitoringProps, own: OwnMetrics): Row[] {
  return [
    { question: 'Are messages coming in?', panels: incoming(pipeline, own) },
    { question: 'Are they delivered?', panels: delivered(pipeline, own) },
    { question: 'Who fails?', panels: failing(pipeline, own) },
    { question: 'Are retries on time?', panels: retries({ settings, pipeline }, own) },
  ];
}

type Pipeline = MonitoringProps['pipeline'];

function incoming(pipeline: Pipeline, own: OwnMetrics): Panel[] {
  return [
    {
      title: 'Messages',
      good: '**Good:** *accepted* follows what producers send, and *refused* is 0. *Nobody wanted* are types without a subscription.',
      unit: 'a minute',
      lines: {
        accepted: own(metricNames.messagesAccepted),
        'nobody wanted': own(metricNames.messagesUnmatched),
        refused: own(metricNames.messagesRefused),
      },
    },
    {
      title: 'Oldest message in the ingress queue',
      good: '**Good:** a few seconds at most. It climbs while dispatch does not keep up, or fails.',
      unit: 's',
      lines: { age: pipeline.queues.ingress.metricAgeOfOldest() },
    },
    {
      title: 'Deliveries that messages come to',
      good: '**Good:** *to be made* is messages × subscriptions. *Filtered out* cost nothing further.',
      unit: 'a minute',
      lines: {
        'to be made': own(metricNames.deliveriesMatched),
        'filtered out': own(metricNames.deliveriesFiltered),
      },
    },
  ];
}

function delivered(pipeline: Pipeline, own: OwnMetrics): Panel[] {
  return [
    {
      title: 'Deliveries that ended',
      good: '**Good:** nearly all *delivered*. *Rejected* and *exhausted* are a matter of subscribers: see who fails.',
      unit: 'a minute',
      stacked: true,
      lines: {
        delivered: own(metricNames.deliveriesDelivered),
        rejected: own(metricNames.deliveriesRejected),
        exhausted: own(metricNames.deliveriesExhausted),
        cancelled: own(metricNames.deliveriesCancelled),
      },
    },
    {
      title: 'Attempts by outcome',
      good: '**Good:** mostly *delivered*. *Failed* rises on its own when a subscriber is down: each failure is tried again.',
      unit: 'a minute',
      stacked: true,
      lines: {
        delivered: own(metricNames.attemptsDelivered),
        failed: own(metricNames.attemptsFailed),
        rejected: own(metricNames.attemptsRejected),
      },
    },
    {
      title: 'From the ingress queue to the first attempt',
      good: '**Good:** half within a second, 99 in 100 within some seconds. Later: too few workers, or slow subscribers.',
      unit: 'ms',
      lines: {
        half: own(metricNames.firstAttemptAge, { statistic: 'p50' }),
        '99 in 100': own(metricNames.firstAttemptAge, { statistic: 'p99' }),
      },
    },
    {
      title: 'First attempts waiting',
      good: '**Good:** near 0; peaks go down by themselves. Messages with a `delay` are not among them until they are due.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.delivery.metricWaiting(),
        'with workers': pipeline.queues.delivery.metricInFlight(),
      },
    },
    {
      title: 'Undeliverable queue',
      good: '**Good:** at most what you have not fetched yet. Its messages are deliveries that ended undelivered.',
      unit: 'messages',
      lines: { held: pipeline.queues.undeliverable.metricWaiting() },
    },
    {
      title: 'Waiting for a rate limit',
      good: '**Good:** 0, or what your limits are meant to hold back. It counts waits, not deliveries.',
      unit: 'a minute',
      lines: { waits: own(metricNames.attemptsRateLimited) },
    },
  ];
}

function failing(pipeline: Pipeline, own: OwnMetrics): Panel[] {
  return [
    {
      good: '**Good:** empty, or old acquaintances. Each time it is shown it reads the log of deliver for the time chosen above ($0.005 a GB).',
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
      title: 'How long subscribers take',
      good: '**Good:** half well under a second. 99 in 100 near the attempt timeout: somebody hangs, and holds workers.',
      unit: 'ms',
      lines: {
        half: own(metricNames.attemptDuration, { statistic: 'p50' }),
        '95 in 100': own(metricNames.attemptDuration, { statistic: 'p95' }),
        '99 in 100': own(metricNames.attemptDuration, { statistic: 'p99' }),
      },
    },
    {
      title: 'Subscriptions that began to fail',
      good: '**Good:** none, or one now and then. Several at once: look at the way out, not at the subscribers.',
      unit: 'a minute',
      lines: { 'began to fail': own(metricNames.subscriptionsFailing) },
    },
  ];
}

function retries(
  { settings, pipeline }: Pick<MonitoringProps, 'settings' | 'pipeline'>,
  own: OwnMetrics,
): Panel[] {
  return [
    {
      title: 'How late retries start',
      good: '**Good:** 99 in 100 within some 1.5 s. Waiting for a rate limit is not in it.',
      unit: 'ms',
      lines: {
        half: own(metricNames.retryLateness, { statistic: 'p50' }),
        '99 in 100': own(metricNames.retryLateness, { statistic: 'p99' }),
      },
    },
    {
      title: 'Past their time',
      good: '**Good:** 0. *Woken* now and then after a crash. *Stuck* means that waking does not help.',
      unit: 'deliveries',
      lines: {
        overdue: own(metricNames.deliveriesOverdue, { statistic: 'max' }),
        'woken by reconcile': own(metricNames.reconciled),
        stuck: own(metricNames.deliveriesStuck, { statistic: 'max' }),
      },
    },
    {
      title: 'Retries waiting',
      good: '**Good:** near 0. Those that are not due are not among them.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.retry.metricWaiting(),
        'with workers': pipeline.queues.retry.metricInFlight(),
      },
    },
    {
      title: 'Attempts by phase',
      good: '**Good:** *initial* above all others together. A wave that goes through the phases is an outage of a subscriber.',
      unit: 'a minute',
      stacked: true,
      lines: {
        initial: own(metricNames.attemptsInitial),
        immediate: own(metricNames.attemptsImmediate),
        pre_backoff: own(metricNames.attemptsPreBackoff),
        backoff: own(metricNames.attemptsBackoff),
        post_backoff: own(metricNames.attemptsPostBackoff),
        manual: own(metricNames.attemptsManual),
      },
    },
    {
      title: 'Wake-ups set',
      good: `**Good:** as many as there are failures. By Scheduler from ${settings.schedulerThreshold} s on.`,
      unit: 'a minute',
      lines: {
        'by SQS': own(metricNames.wakeUpsBySqs),
        'by Scheduler': own(metricNames.wakeUpsByScheduler),
      },
    },
    {
      title: 'EventBridge Scheduler',
      good: '**Good:** *fired* only. *Throttled*: more come due than its quota lets through, and they come late.',
      unit: 'a minute',
      lines: {
        fired: schedulerMetric(pipeline, 'InvocationAttemptCount'),
        throttled: schedulerMetric(pipeline, 'InvocationThrottleCount'),
        'refused by SQS': schedulerMetric(pipeline, 'TargetErrorCount'),
        'given up': schedulerMetric(pipeline, 'InvocationDroppedCount'),
      },
    },
  ];
}
