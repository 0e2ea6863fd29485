import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { deliveryIndexes } from '../../../shared/config/tables.ts';
import {
  apiMetric,
  functionsOf,
  logBytes,
  type Monitored,
  type PosthasteMetrics,
  schedulerMetric,
  indexMetric,
  tableMetric,
} from './metrics.ts';
import type { Graph, Row } from './panel.ts';

const INDEXES = Object.values(deliveryIndexes).map(({ name }) => name);

/** The panels on the functions, queues and tables, and on what drives their cost. */
export function machineryPanels(props: Monitored, metricOf: PosthasteMetrics): Row[] {
  return [
    { question: 'Are functions, queues and tables healthy?', panels: machinery(props, metricOf) },
    { question: 'What does it cost?', panels: costDrivers(props, metricOf) },
  ];
}

function machinery({ settings, state, pipeline }: Monitored, metricOf: PosthasteMetrics): Graph[] {
  const eachFunction = linesOfFunctions(pipeline);
  return [
    {
      title: 'Dead letters',
      good: '**Good:** 0 in all four queues. The runbook has a section for each.',
      unit: 'messages',
      lines: {
        'ingress dead letters': pipeline.queues.ingressDeadLetters.metricWaiting(),
        'delivery dead letters': pipeline.queues.deliveryDeadLetters.metricWaiting(),
        'scheduler dead letters': pipeline.schedules.deadLetters.metricWaiting(),
        'operation dead letters': pipeline.queues.operationDeadLetters.metricWaiting(),
        'sent by deliver and operate': metricOf(metricNames.deadLettered),
      },
    },
    {
      title: 'Internal errors',
      good: '**Good:** 0. *Messages* failed because of AWS or a bug, and are retried. The other lines are crashes and timeouts.',
      unit: 'per minute',
      lines: {
        messages: metricOf(metricNames.faults),
        ...eachFunction(({ lambda }) => lambda.metricErrors({ statistic: 'sum' })),
      },
    },
    {
      title: 'Throttled',
      good: '**Good:** 0, or a few *AWS calls retried*. Throttled functions mean that the account has too little concurrency.',
      unit: 'per minute',
      lines: {
        ...eachFunction(({ lambda }) => lambda.metricThrottles({ statistic: 'sum' })),
        'AWS calls throttled': metricOf(metricNames.awsCallsThrottled),
        'AWS calls retried': metricOf(metricNames.awsCallsRetried),
        'deliveries table, writes': tableMetric(state.deliveries.name, 'WriteThrottleEvents'),
        'deliveries table, reads': tableMetric(state.deliveries.name, 'ReadThrottleEvents'),
        'deliveries indexes, writes': indexMetric(state.deliveries.name, INDEXES, 'WriteThrottleEvents'),
        'deliveries indexes, reads': indexMetric(state.deliveries.name, INDEXES, 'ReadThrottleEvents'),
      },
    },
    {
      title: 'Concurrency of deliver',
      good: '**Good:** well below the line, which is the limit by the settings. At the limit, messages wait.',
      unit: 'invocations',
      lines: { running: pipeline.deliver.lambda.metric('ConcurrentExecutions', { statistic: 'max' }) },
      limit: { value: settings.deliverConcurrency + settings.retryConcurrency, label: 'limit' },
    },
    {
      title: 'Duration of functions, p95',
      good: '**Good:** well under a second. Operate takes up to 40 s; deliver as long as subscribers take.',
      unit: 'ms',
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'p95' })),
    },
    {
      title: 'The API',
      good: '**Good:** no *5xx*. *4xx* are mistakes of callers, or too many requests (429).',
      unit: 'per minute',
      lines: {
        requests: apiMetric(pipeline, 'Count'),
        '4xx': apiMetric(pipeline, '4xx'),
        '5xx': apiMetric(pipeline, '5xx'),
      },
    },
    {
      title: 'Recoveries and cancellations',
      good: '**Good:** 0, except while an operation runs.',
      unit: 'messages',
      lines: {
        waiting: pipeline.queues.operation.metricWaiting(),
        'in flight': pipeline.queues.operation.metricInFlight(),
      },
    },
    {
      title: 'Messages dropped as loops by Lambda',
      good: '**Good:** always 0. Lambda mistook a message for a runaway loop and dropped it.',
      unit: 'per minute',
      lines: eachFunction(({ lambda }) => lambda.metric('RecursiveInvocationsDropped', { statistic: 'sum' })),
    },
    {
      title: 'Cold starts',
      good: '**Good:** few, compared with invocations. A peak after each deployment is normal.',
      unit: 'per minute',
      lines: { 'cold starts': metricOf(metricNames.coldStarts) },
    },
    ...(settings.compute === 'lambda' ? [] : [pausesOfWorkers(metricOf)]),
  ];
}

function pausesOfWorkers(metricOf: PosthasteMetrics): Graph {
  return {
    title: 'Pauses of workers',
    good: '**Good:** *shortest* at the floor while messages come. No line: no worker runs.',
    unit: 'ms',
    lines: {
      shortest: metricOf(metricNames.pollInterval, { statistic: 'min' }),
      longest: metricOf(metricNames.pollInterval, { statistic: 'max' }),
    },
  };
}

function costDrivers({ state, pipeline }: Monitored, metricOf: PosthasteMetrics): Graph[] {
  const eachFunction = linesOfFunctions(pipeline);
  return [
    {
      title: 'Total duration of functions',
      good: '**Good:** follows the number of attempts. Waiting for slow subscribers costs money.',
      unit: 'ms per minute',
      stacked: true,
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'sum' })),
    },
    {
      title: 'Capacity units of the tables',
      good: '**Good:** two writes for each delivery, two more for each retry. Items over 1 KB need more.',
      unit: 'units per minute',
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
      good: '**Good:** *ingress* follows messages, *delivery* deliveries, *retry* failed attempts.',
      unit: 'per minute',
      lines: {
        ingress: pipeline.queues.ingress.metricSent(),
        delivery: pipeline.queues.delivery.metricSent(),
        retry: pipeline.queues.retry.metricSent(),
        schedules: metricOf(metricNames.wakeUpsByScheduler),
        'schedules fired': schedulerMetric(pipeline, 'InvocationAttemptCount'),
      },
    },
    {
      title: 'Logs written',
      good: '**Good:** under a kilobyte for each attempt. `logSuccessSampling` and `logLevel` reduce it.',
      unit: 'bytes per minute',
      stacked: true,
      lines: eachFunction(({ logGroupName }) => logBytes(logGroupName)),
    },
  ];
}

type FunctionsOf = ReturnType<typeof functionsOf>;

/** Creates one line for each function, labelled by its name. */
function linesOfFunctions(pipeline: Monitored['pipeline']) {
  return (metricOf: (one: FunctionsOf[keyof FunctionsOf]) => Metric): Record<string, Metric> =>
    Object.fromEntries(Object.entries(functionsOf(pipeline)).map(([name, one]) => [name, metricOf(one)]));
}
