import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { deliveryIndexes } from '../../../shared/config/tables.ts';
import {
  apiMetric,
  functionsOf,
  logBytes,
  type MonitoringProps,
  type OwnMetrics,
  schedulerMetric,
  indexMetric,
  tableMetric,
} from './metrics.ts';
import type { Graph, Row } from './panel.ts';

const INDEXES = Object.values(deliveryIndexes).map(({ name }) => name);

/** What whoever runs it would ask about. */
export function machineryPanels(props: MonitoringProps, own: OwnMetrics): Row[] {
  return [
    { question: 'Is our own machinery well?', panels: machinery(props, own) },
    { question: 'What does it cost?', panels: costDrivers(props, own) },
  ];
}

function machinery({ settings, state, pipeline }: MonitoringProps, own: OwnMetrics): Graph[] {
  const eachFunction = linesOfFunctions(pipeline);
  return [
    {
      title: 'Dead letters',
      good: '**Good:** 0 in all four. Each has a section in the runbook that says what to do.',
      unit: 'messages',
      lines: {
        'ingress dead letters': pipeline.queues.ingressDeadLetters.metricWaiting(),
        'delivery dead letters': pipeline.queues.deliveryDeadLetters.metricWaiting(),
        'scheduler dead letters': pipeline.schedules.deadLetters.metricWaiting(),
        'operation dead letters': pipeline.queues.operationDeadLetters.metricWaiting(),
        'sent there by deliver and operate': own(metricNames.deadLettered),
      },
    },
    {
      title: 'Faults of ours',
      good: '**Good:** 0. *Records* failed because AWS or we did, and come again; the others are crashes and timeouts.',
      unit: 'a minute',
      lines: {
        records: own(metricNames.faults),
        ...eachFunction(({ lambda }) => lambda.metricErrors({ statistic: 'sum' })),
      },
    },
    {
      title: 'Turned away',
      good: '**Good:** 0, or a few *AWS calls repeated*. Throttled functions: the account is short of concurrency.',
      unit: 'a minute',
      lines: {
        ...eachFunction(({ lambda }) => lambda.metricThrottles({ statistic: 'sum' })),
        'AWS calls throttled': own(metricNames.awsCallsThrottled),
        'AWS calls repeated': own(metricNames.awsCallsRetried),
        'deliveries table, writes': tableMetric(state.deliveries.name, 'WriteThrottleEvents'),
        'deliveries table, reads': tableMetric(state.deliveries.name, 'ReadThrottleEvents'),
        'its indexes, writes': indexMetric(state.deliveries.name, INDEXES, 'WriteThrottleEvents'),
        'its indexes, reads': indexMetric(state.deliveries.name, INDEXES, 'ReadThrottleEvents'),
      },
    },
    {
      title: 'Workers of deliver',
      good: '**Good:** well below the line, which is what the settings give it. At the line messages wait.',
      unit: 'at once',
      lines: { running: pipeline.deliver.lambda.metric('ConcurrentExecutions', { statistic: 'max' }) },
      limit: { value: settings.deliverConcurrency + settings.retryConcurrency, label: 'all' },
    },
    {
      title: 'How long functions take, 95 in 100',
      good: '**Good:** well under a second; operate up to 40 s in a long job; deliver what the subscribers take.',
      unit: 'ms',
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'p95' })),
    },
    {
      title: 'The API',
      good: '**Good:** no *5xx*. *4xx* are what callers got wrong, or did too often (429).',
      unit: 'a minute',
      lines: {
        requests: apiMetric(pipeline, 'Count'),
        '4xx': apiMetric(pipeline, '4xx'),
        '5xx': apiMetric(pipeline, '5xx'),
      },
    },
    {
      title: 'Orders of recoveries and cancellations',
      good: '**Good:** 0 but while somebody has ordered one.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.operation.metricWaiting(),
        'worked on': pipeline.queues.operation.metricInFlight(),
      },
    },
    {
      title: 'Loops cut off by Lambda',
      good: '**Good:** 0, always. Each is a message that Lambda dropped on its way through our queues.',
      unit: 'a minute',
      lines: eachFunction(({ lambda }) => lambda.metric('RecursiveInvocationsDropped', { statistic: 'sum' })),
    },
    {
      title: 'Cold starts',
      good: '**Good:** few beside the invocations. A wave after each deployment is normal.',
      unit: 'a minute',
      lines: { 'cold starts': own(metricNames.coldStarts) },
    },
  ];
}

function costDrivers({ state, pipeline }: MonitoringProps, own: OwnMetrics): Graph[] {
  const eachFunction = linesOfFunctions(pipeline);
  return [
    {
      title: 'Time of functions',
      good: '**Good:** it follows the attempts. Deliver waits for slow subscribers, and the waiting is paid for.',
      unit: 'ms a minute',
      stacked: true,
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'sum' })),
    },
    {
      title: 'Units of the tables',
      good: '**Good:** two writes for each delivery, and two more for each retry; items over 1 KB take more.',
      unit: 'units a minute',
      lines: {
        'deliveries, writes': tableMetric(state.deliveries.name, 'ConsumedWriteCapacityUnits'),
        'deliveries, reads': tableMetric(state.deliveries.name, 'ConsumedReadCapacityUnits'),
        'indexes of deliveries, writes': indexMetric(
          state.deliveries.name,
          INDEXES,
          'ConsumedWriteCapacityUnits',
        ),
        'indexes of deliveries, reads': indexMetric(
          state.deliveries.name,
          INDEXES,
          'ConsumedReadCapacityUnits',
        ),
        'subscriptions, reads': tableMetric(state.subscriptions.name, 'ConsumedReadCapacityUnits'),
        'subscriptions, writes': tableMetric(state.subscriptions.name, 'ConsumedWriteCapacityUnits'),
      },
    },
    {
      title: 'Messages sent to queues, and schedules',
      good: '**Good:** *ingress* is the messages, *delivery* the deliveries, *retry* what failed.',
      unit: 'a minute',
      lines: {
        ingress: pipeline.queues.ingress.metricSent(),
        delivery: pipeline.queues.delivery.metricSent(),
        retry: pipeline.queues.retry.metricSent(),
        schedules: own(metricNames.wakeUpsByScheduler),
        'schedules fired': schedulerMetric(pipeline, 'InvocationAttemptCount'),
      },
    },
    {
      title: 'Logs written',
      good: '**Good:** under a kilobyte for each attempt. `logSuccessSampling` and `logLevel` make it less.',
      unit: 'bytes a minute',
      stacked: true,
      lines: eachFunction(({ logGroupName }) => logBytes(logGroupName)),
    },
  ];
}

type FunctionsOf = ReturnType<typeof functionsOf>;

/** A line for each function, by its name. */
function linesOfFunctions(pipeline: MonitoringProps['pipeline']) {
  return (metricOf: (one: FunctionsOf[keyof FunctionsOf]) => Metric): Record<string, Metric> =>
    Object.fromEntries(Object.entries(functionsOf(pipeline)).map(([name, one]) => [name, metricOf(one)]));
}
