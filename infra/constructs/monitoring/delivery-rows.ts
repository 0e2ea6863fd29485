import { LogQueryVisualizationType, LogQueryWidget } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import type { MonitoringProps } from './monitoring-props.ts';
import type { OwnMetrics } from './own-metrics.ts';
import { graph, PANEL_HEIGHT, PANEL_WIDTH, type Panel, type Row } from './panel.ts';
import { queries } from './queries.ts';
import { logGroupsOf, textOf } from './saved-queries.ts';
import { schedulerMetric } from './service-metrics.ts';

/** What a producer or a subscriber would ask about. */
export function deliveryRows({ settings, pipeline }: MonitoringProps, own: OwnMetrics): Row[] {
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
    graph({
      title: 'Messages',
      good: '**Good:** *accepted* follows what producers send, and *refused* is 0. *Nobody wanted* are types without a subscription.',
      unit: 'a minute',
      left: [
        own(metricNames.messagesAccepted, { label: 'accepted' }),
        own(metricNames.messagesUnmatched, { label: 'nobody wanted' }),
        own(metricNames.messagesRefused, { label: 'refused' }),
      ],
    }),
    graph({
      title: 'Oldest message in the ingress queue',
      good: '**Good:** a few seconds at most. It climbs while dispatch does not keep up, or fails.',
      unit: 's',
      left: [pipeline.ingress.metricAgeOfOldest({ label: 'age' })],
    }),
    graph({
      title: 'Deliveries that messages come to',
      good: '**Good:** *to be made* is messages × subscriptions. *Filtered out* cost nothing further.',
      unit: 'a minute',
      left: [
        own(metricNames.deliveriesMatched, { label: 'to be made' }),
        own(metricNames.deliveriesFiltered, { label: 'filtered out' }),
      ],
    }),
  ];
}

function delivered(pipeline: Pipeline, own: OwnMetrics): Panel[] {
  return [
    graph({
      title: 'Deliveries that ended',
      good: '**Good:** nearly all *delivered*. *Rejected* and *exhausted* are a matter of subscribers: see who fails.',
      unit: 'a minute',
      stacked: true,
      left: [
        own(metricNames.deliveriesDelivered, { label: 'delivered' }),
        own(metricNames.deliveriesRejected, { label: 'rejected' }),
        own(metricNames.deliveriesExhausted, { label: 'exhausted' }),
        own(metricNames.deliveriesCancelled, { label: 'cancelled' }),
      ],
    }),
    graph({
      title: 'Attempts by outcome',
      good: '**Good:** mostly *delivered*. *Failed* rises on its own when a subscriber is down: each failure is tried again.',
      unit: 'a minute',
      stacked: true,
      left: [
        own(metricNames.attemptsDelivered, { label: 'delivered' }),
        own(metricNames.attemptsFailed, { label: 'failed' }),
        own(metricNames.attemptsRejected, { label: 'rejected' }),
      ],
    }),
    graph({
      title: 'From the ingress queue to the first attempt',
      good: '**Good:** half within a second, 99 in 100 within some seconds. Later: too few workers, or slow subscribers.',
      unit: 'ms',
      left: [
        own(metricNames.firstAttemptAge, { label: 'half', statistic: 'p50' }),
        own(metricNames.firstAttemptAge, { label: '99 in 100', statistic: 'p99' }),
      ],
    }),
    graph({
      title: 'First attempts waiting',
      good: '**Good:** near 0; peaks go down by themselves. Messages with a `delay` are not among them until they are due.',
      unit: 'messages',
      left: [
        pipeline.delivery.metricWaiting({ label: 'waiting' }),
        pipeline.delivery.metricInFlight({ label: 'with workers' }),
      ],
    }),
    graph({
      title: 'Undeliverable queue',
      good: '**Good:** at most what you have not fetched yet. Its messages are deliveries that ended undelivered.',
      unit: 'messages',
      left: [pipeline.undeliverable.metricWaiting({ label: 'held' })],
    }),
    graph({
      title: 'Waiting for a rate limit',
      good: '**Good:** 0, or what your limits are meant to hold back. It counts waits, not deliveries.',
      unit: 'a minute',
      left: [own(metricNames.attemptsRateLimited, { label: 'waits' })],
    }),
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
    graph({
      title: 'How long subscribers take',
      good: '**Good:** half well under a second. 99 in 100 near the attempt timeout: somebody hangs, and holds workers.',
      unit: 'ms',
      left: [
        own(metricNames.attemptDuration, { label: 'half', statistic: 'p50' }),
        own(metricNames.attemptDuration, { label: '95 in 100', statistic: 'p95' }),
        own(metricNames.attemptDuration, { label: '99 in 100', statistic: 'p99' }),
      ],
    }),
    graph({
      title: 'Subscriptions that began to fail',
      good: '**Good:** none, or one now and then. Several at once: look at the way out, not at the subscribers.',
      unit: 'a minute',
      left: [own(metricNames.subscriptionsFailing, { label: 'began to fail' })],
    }),
  ];
}

function retries(
  { settings, pipeline }: Pick<MonitoringProps, 'settings' | 'pipeline'>,
  own: OwnMetrics,
): Panel[] {
  return [
    graph({
      title: 'How late retries start',
      good: '**Good:** 99 in 100 within some 1.5 s. Waiting for a rate limit is not in it.',
      unit: 'ms',
      left: [
        own(metricNames.retryLateness, { label: 'half', statistic: 'p50' }),
        own(metricNames.retryLateness, { label: '99 in 100', statistic: 'p99' }),
      ],
    }),
    graph({
      title: 'Past their time',
      good: '**Good:** 0. *Woken* now and then after a crash. *Stuck* means that waking does not help.',
      unit: 'deliveries',
      left: [
        own(metricNames.deliveriesOverdue, { label: 'overdue', statistic: 'max' }),
        own(metricNames.reconciled, { label: 'woken by reconcile' }),
        own(metricNames.deliveriesStuck, { label: 'stuck', statistic: 'max' }),
      ],
    }),
    graph({
      title: 'Retries waiting',
      good: '**Good:** near 0. Those that are not due are not among them.',
      unit: 'messages',
      left: [
        pipeline.retry.metricWaiting({ label: 'waiting' }),
        pipeline.retry.metricInFlight({ label: 'with workers' }),
      ],
    }),
    graph({
      title: 'Attempts by phase',
      good: '**Good:** *initial* above all others together. A wave that goes through the phases is an outage of a subscriber.',
      unit: 'a minute',
      stacked: true,
      left: [
        own(metricNames.attemptsInitial, { label: 'initial' }),
        own(metricNames.attemptsImmediate, { label: 'immediate' }),
        own(metricNames.attemptsPreBackoff, { label: 'pre_backoff' }),
        own(metricNames.attemptsBackoff, { label: 'backoff' }),
        own(metricNames.attemptsPostBackoff, { label: 'post_backoff' }),
        own(metricNames.attemptsManual, { label: 'manual' }),
      ],
    }),
    graph({
      title: 'Wake-ups set',
      good: `**Good:** as many as there are failures. By Scheduler from ${settings.schedulerThreshold} s on.`,
      unit: 'a minute',
      left: [
        own(metricNames.wakeUpsBySqs, { label: 'by SQS' }),
        own(metricNames.wakeUpsByScheduler, { label: 'by Scheduler' }),
      ],
    }),
    graph({
      title: 'EventBridge Scheduler',
      good: '**Good:** *fired* only. *Throttled*: more come due than its quota lets through, and they come late.',
      unit: 'a minute',
      left: [
        schedulerMetric(pipeline, 'InvocationAttemptCount', 'fired'),
        schedulerMetric(pipeline, 'InvocationThrottleCount', 'throttled'),
        schedulerMetric(pipeline, 'TargetErrorCount', 'refused by SQS'),
        schedulerMetric(pipeline, 'InvocationDroppedCount', 'given up'),
      ],
    }),
  ];
}
