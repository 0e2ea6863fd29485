import { metricNames } from '../../../shared/config/metrics.ts';
import { functionsOf } from './function-alarms.ts';
import type { MonitoringProps } from './monitoring-props.ts';
import type { OwnMetrics } from './own-metrics.ts';
import { graph, type Panel, type Row } from './panel.ts';
import { apiMetric, logBytes, schedulerMetric, tableMetric } from './service-metrics.ts';

/** What whoever runs it would ask about. */
export function machineryRows(props: MonitoringProps, own: OwnMetrics): Row[] {
  return [
    { question: 'Is our own machinery well?', panels: machinery(props, own) },
    { question: 'What does it cost?', panels: costDrivers(props, own) },
  ];
}

function machinery({ settings, state, pipeline }: MonitoringProps, own: OwnMetrics): Panel[] {
  const functions = Object.entries(functionsOf(pipeline));
  return [
    graph({
      title: 'Dead letters',
      good: '**Good:** 0 in all four. Each has a section in the runbook that says what to do.',
      unit: 'messages',
      left: [
        pipeline.ingressDeadLetters.metricWaiting({ label: 'ingress dead letters' }),
        pipeline.deliveryDeadLetters.metricWaiting({ label: 'delivery dead letters' }),
        pipeline.schedules.deadLetters.metricWaiting({ label: 'scheduler dead letters' }),
        pipeline.operationDeadLetters.metricWaiting({ label: 'operation dead letters' }),
        own(metricNames.deadLettered, { label: 'sent there by deliver and operate' }),
      ],
    }),
    graph({
      title: 'Faults of ours',
      good: '**Good:** 0. *Records* failed because AWS or we did, and come again; the others are crashes and timeouts.',
      unit: 'a minute',
      left: [
        own(metricNames.faults, { label: 'records' }),
        ...functions.map(([label, { lambda }]) => lambda.metricErrors({ label, statistic: 'sum' })),
      ],
    }),
    graph({
      title: 'Turned away',
      good: '**Good:** 0, or a few *AWS calls repeated*. Throttled functions: the account is short of concurrency.',
      unit: 'a minute',
      left: [
        ...functions.map(([label, { lambda }]) => lambda.metricThrottles({ label, statistic: 'sum' })),
        own(metricNames.awsCallsThrottled, { label: 'AWS calls throttled' }),
        own(metricNames.awsCallsRetried, { label: 'AWS calls repeated' }),
        tableMetric(state.deliveries.name, 'WriteThrottleEvents', 'deliveries table, writes'),
        tableMetric(state.deliveries.name, 'ReadThrottleEvents', 'deliveries table, reads'),
      ],
    }),
    graph({
      title: 'Workers of deliver',
      good: '**Good:** well below the line, which is what the settings give it. At the line messages wait.',
      unit: 'at once',
      left: [pipeline.deliver.lambda.metric('ConcurrentExecutions', { label: 'running', statistic: 'max' })],
      limit: { value: settings.deliverConcurrency + settings.retryConcurrency, label: 'all' },
    }),
    graph({
      title: 'How long functions take, 95 in 100',
      good: '**Good:** well under a second; operate up to 40 s in a long job; deliver what the subscribers take.',
      unit: 'ms',
      left: functions.map(([label, { lambda }]) => lambda.metricDuration({ label, statistic: 'p95' })),
    }),
    graph({
      title: 'The API',
      good: '**Good:** no *5xx*. *4xx* are what callers got wrong, or did too often (429).',
      unit: 'a minute',
      left: [
        apiMetric(pipeline, 'Count', 'requests'),
        apiMetric(pipeline, '4xx', '4xx'),
        apiMetric(pipeline, '5xx', '5xx'),
      ],
    }),
    graph({
      title: 'Orders of recoveries and cancellations',
      good: '**Good:** 0 but while somebody has ordered one.',
      unit: 'messages',
      left: [
        pipeline.operation.metricWaiting({ label: 'waiting' }),
        pipeline.operation.metricInFlight({ label: 'worked on' }),
      ],
    }),
    graph({
      title: 'Loops cut off by Lambda',
      good: '**Good:** 0, always. Each is a message that Lambda dropped on its way through our queues.',
      unit: 'a minute',
      left: functions.map(([label, { lambda }]) =>
        lambda.metric('RecursiveInvocationsDropped', { label, statistic: 'sum' }),
      ),
    }),
    graph({
      title: 'Cold starts',
      good: '**Good:** few beside the invocations. A wave after each deployment is normal.',
      unit: 'a minute',
      left: [own(metricNames.coldStarts, { label: 'cold starts' })],
    }),
  ];
}

function costDrivers({ state, pipeline }: MonitoringProps, own: OwnMetrics): Panel[] {
  const functions = Object.entries(functionsOf(pipeline));
  return [
    graph({
      title: 'Time of functions',
      good: '**Good:** it follows the attempts. Deliver waits for slow subscribers, and the waiting is paid for.',
      unit: 'ms a minute',
      stacked: true,
      left: functions.map(([label, { lambda }]) => lambda.metricDuration({ label, statistic: 'sum' })),
    }),
    graph({
      title: 'Units of the tables',
      good: '**Good:** two writes for each delivery, and two more for each retry; items over 1 KB take more.',
      unit: 'units a minute',
      left: [
        tableMetric(state.deliveries.name, 'ConsumedWriteCapacityUnits', 'deliveries, writes'),
        tableMetric(state.deliveries.name, 'ConsumedReadCapacityUnits', 'deliveries, reads'),
        tableMetric(state.subscriptions.name, 'ConsumedReadCapacityUnits', 'subscriptions, reads'),
        tableMetric(state.subscriptions.name, 'ConsumedWriteCapacityUnits', 'subscriptions, writes'),
      ],
    }),
    graph({
      title: 'Messages sent to queues, and schedules',
      good: '**Good:** *ingress* is the messages, *delivery* the deliveries, *retry* what failed.',
      unit: 'a minute',
      left: [
        pipeline.ingress.metricSent({ label: 'ingress' }),
        pipeline.delivery.metricSent({ label: 'delivery' }),
        pipeline.retry.metricSent({ label: 'retry' }),
        own(metricNames.wakeUpsByScheduler, { label: 'schedules' }),
        schedulerMetric(pipeline, 'InvocationAttemptCount', 'schedules fired'),
      ],
    }),
    graph({
      title: 'Logs written',
      good: '**Good:** under a kilobyte for each attempt. `logSuccessSampling` and `logLevel` make it less.',
      unit: 'bytes a minute',
      stacked: true,
      left: functions.map(([label, { logGroupName }]) => logBytes(logGroupName, label)),
    }),
  ];
}
