import { LogQueryVisualizationType, LogQueryWidget, type Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { deliveryIndexes } from '../../../shared/config/tables.ts';
import type { NodeFunction } from '../functions/node-function.ts';
import type { Pipeline } from '../pipeline.ts';
import type { WorkQueue } from '../queues/sqs-queue.ts';
import { apiMetric, indexMetric, listFunctions, logBytes, schedulerMetric, tableMetric } from './metrics.ts';
import type { PosthasteMetrics } from './posthaste-metrics.ts';
import { PANEL_HEIGHT, PANEL_WIDTH, type Panels, type Rows } from './panel.ts';
import { formatQuery, listLogGroups, queries } from './saved-queries.ts';

const INDEXES = Object.values(deliveryIndexes).map(({ name }) => name);

/** The panels on producers, deliveries and subscribers, then those on the machinery and on what drives its cost. */
export function panels(pipeline: Pipeline, metricOf: PosthasteMetrics): Rows {
  const lines = createLines(metricOf);
  return {
    'Are messages coming in?': incoming(pipeline, lines),
    'Are they delivered?': delivered(pipeline, lines),
    'Which subscribers fail?': failing(pipeline, lines),
    'Are retries on time?': retries(pipeline, lines),
    'Are functions, queues and tables healthy?': machinery(pipeline, lines),
    'What does it cost?': costDrivers(pipeline, lines),
  };
}

type Lines = ReturnType<typeof createLines>;

/** Lines of graphs by label: sums of metrics, or percentiles of one. */
function createLines(metricOf: PosthasteMetrics) {
  return {
    metricOf,
    sums: (labels: Readonly<Record<string, keyof typeof metricNames>>): Record<string, Metric> =>
      Object.fromEntries(Object.entries(labels).map(([label, name]) => [label, metricOf(metricNames[name])])),
    percentiles: (name: keyof typeof metricNames, ...percentiles: string[]): Record<string, Metric> =>
      Object.fromEntries(
        percentiles.map((statistic) => [statistic, metricOf(metricNames[name], { statistic })]),
      ),
  };
}

function buildBacklog(queue: WorkQueue): Record<string, Metric> {
  return { waiting: queue.metricWaiting(), 'in flight': queue.metricInFlight() };
}

function incoming(pipeline: Pipeline, { sums }: Lines): Panels {
  return {
    Messages: {
      good: '*accepted* follows what producers send; *refused* is 0. *No subscriber* means that no subscription matched.',
      lines: sums({
        accepted: 'messagesAccepted',
        'no subscriber': 'messagesUnmatched',
        refused: 'messagesRefused',
        'event type invalid': 'eventsInvalid',
        'not checked': 'eventsUnvalidated',
      }),
    },
    'Oldest message in the ingress queue': {
      good: 'a few seconds at most. It rises while dispatch fails or does not keep up.',
      unit: 's',
      lines: { age: pipeline.queues.ingress.metricAgeOfOldest() },
    },
    'Deliveries created': {
      good: '*matched* is messages × matching subscriptions. *Filtered out* causes no further cost.',
      lines: sums({ matched: 'deliveriesMatched', 'filtered out': 'deliveriesFiltered' }),
    },
  };
}

function delivered(pipeline: Pipeline, { sums, percentiles }: Lines): Panels {
  return {
    'Deliveries that ended': {
      good: 'nearly all *delivered*. For *rejected* and *exhausted* see the failing subscriptions below.',
      stacked: true,
      lines: sums({
        delivered: 'deliveriesDelivered',
        rejected: 'deliveriesRejected',
        exhausted: 'deliveriesExhausted',
        cancelled: 'deliveriesCancelled',
      }),
    },
    'Attempts by outcome': {
      good: 'mostly *delivered*. *Failed* rises while a subscriber is down, because attempts are retried.',
      stacked: true,
      lines: sums({ delivered: 'attemptsDelivered', failed: 'attemptsFailed', rejected: 'attemptsRejected' }),
    },
    'From the ingress queue to the first attempt': {
      good: 'p50 within a second, p99 within a few. Later means too few workers, or slow subscribers.',
      unit: 'ms',
      lines: percentiles('firstAttemptAge', 'p50', 'p99'),
    },
    'First attempts waiting': {
      good: 'near 0, with short peaks. Messages with a `delay` count only once they are due.',
      unit: 'messages',
      lines: buildBacklog(pipeline.queues.delivery),
    },
    'Undeliverable queue': {
      good: 'only what you have not fetched yet. Each message is a delivery that was rejected or exhausted.',
      unit: 'messages',
      lines: { held: pipeline.queues.undeliverable.metricWaiting() },
    },
    'Waiting for their turn': {
      good: '0, or what your rate limits are meant to hold back. Also counts waits under back-pressure; waits, not deliveries.',
      lines: sums({ waits: 'attemptsRateLimited' }),
    },
  };
}

function failing(pipeline: Pipeline, { sums, percentiles }: Lines): Panels {
  return {
    'Failing subscriptions': {
      good: 'empty, or known cases. Each refresh reads the log of deliver for the chosen period ($0.005 a GB).',
      widget: new LogQueryWidget({
        title: 'Failing subscriptions',
        logGroupNames: listLogGroups(queries.FailingSubscriptions, pipeline),
        queryString: formatQuery(queries.FailingSubscriptions),
        view: LogQueryVisualizationType.TABLE,
        width: 2 * PANEL_WIDTH,
        height: PANEL_HEIGHT,
      }),
    },
    'Response time of subscribers': {
      good: 'p50 well under a second. If p99 is near the attempt timeout, a subscriber hangs and occupies workers.',
      unit: 'ms',
      lines: percentiles('attemptDuration', 'p50', 'p95', 'p99'),
    },
    'Subscriptions that began to fail or throttle': {
      good: '0, or one now and then. If several begin at once, check the network of deliver first.',
      lines: sums({
        'began to fail': 'subscriptionsFailing',
        'began to throttle': 'subscriptionsThrottled',
        'circuit opened': 'circuitsOpened',
      }),
    },
    'Paused, and soon cancelled': {
      good: '0. Otherwise [resume](operations.md#alarm-deliveries-expiring) within a day.',
      lines: sums({ 'pauses that last too long': 'deliveriesExpiring' }),
    },
  };
}

function retries(pipeline: Pipeline, { metricOf, sums, percentiles }: Lines): Panels {
  const { schedulerThreshold } = pipeline.state.settings;
  return {
    'Retry lateness': {
      good: 'p99 within about 1.5 s. Waiting for a rate limit is not included.',
      unit: 'ms',
      lines: percentiles('retryLateness', 'p50', 'p99'),
    },
    'Overdue retries': {
      good: '0. *Woken by reconcile* now and then after a crash. *Stuck* means that wake-ups do not help.',
      unit: 'deliveries',
      lines: {
        overdue: metricOf(metricNames.deliveriesOverdue, { statistic: 'max' }),
        'woken by reconcile': metricOf(metricNames.reconciled),
        stuck: metricOf(metricNames.deliveriesStuck, { statistic: 'max' }),
      },
    },
    'Retries waiting': {
      good: 'near 0. Retries that are not due yet do not count.',
      unit: 'messages',
      lines: buildBacklog(pipeline.queues.retry),
    },
    'Attempts by phase': {
      good: 'mostly *initial*. A wave that moves through the phases is the outage of a subscriber.',
      stacked: true,
      lines: sums({
        initial: 'attemptsInitial',
        immediate: 'attemptsImmediate',
        pre_backoff: 'attemptsPreBackoff',
        backoff: 'attemptsBackoff',
        post_backoff: 'attemptsPostBackoff',
        manual: 'attemptsManual',
      }),
    },
    'Wake-ups scheduled': {
      good: `as many as failed attempts. Delays of ${schedulerThreshold} s or more use EventBridge Scheduler.`,
      lines: sums({ 'by SQS': 'wakeUpsBySqs', 'by Scheduler': 'wakeUpsByScheduler' }),
    },
    'EventBridge Scheduler': {
      good: 'only *fired*. *Throttled* means that the quota is too small, and retries are late.',
      lines: {
        fired: schedulerMetric(pipeline, 'InvocationAttemptCount'),
        throttled: schedulerMetric(pipeline, 'InvocationThrottleCount'),
        'refused by SQS': schedulerMetric(pipeline, 'TargetErrorCount'),
        dropped: schedulerMetric(pipeline, 'InvocationDroppedCount'),
      },
    },
  };
}

function machinery(pipeline: Pipeline, { metricOf, sums }: Lines): Panels {
  const { settings, deliveries } = pipeline.state;
  const eachFunction = linesOfFunctions(pipeline);
  return {
    'Dead letters': {
      good: '0 in all four queues. The runbook has a section for each.',
      unit: 'messages',
      lines: {
        'ingress dead letters': pipeline.queues.ingressDeadLetters.metricWaiting(),
        'delivery dead letters': pipeline.queues.deliveryDeadLetters.metricWaiting(),
        'scheduler dead letters': pipeline.schedules.deadLetters.metricWaiting(),
        'operation dead letters': pipeline.queues.operationDeadLetters.metricWaiting(),
        'sent by deliver and operate': metricOf(metricNames.deadLettered),
      },
    },
    'Internal errors': {
      good: '0. *Messages* failed because of AWS or a bug, and are retried. The other lines are crashes and timeouts.',
      lines: {
        messages: metricOf(metricNames.faults),
        ...eachFunction(({ lambda }) => lambda.metricErrors({ statistic: 'sum' })),
      },
    },
    Throttled: {
      good: '0, or a few *AWS calls retried*. Throttled functions have no concurrency left: of the account, or of `apiConcurrency`.',
      lines: {
        ...eachFunction(({ lambda }) => lambda.metricThrottles({ statistic: 'sum' })),
        'AWS calls throttled': metricOf(metricNames.awsCallsThrottled),
        'AWS calls retried': metricOf(metricNames.awsCallsRetried),
        'deliveries table, writes': tableMetric(deliveries.name, 'WriteThrottleEvents'),
        'deliveries table, reads': tableMetric(deliveries.name, 'ReadThrottleEvents'),
        'deliveries indexes, writes': indexMetric(deliveries.name, INDEXES, 'WriteThrottleEvents'),
        'deliveries indexes, reads': indexMetric(deliveries.name, INDEXES, 'ReadThrottleEvents'),
      },
    },
    'Concurrency of deliver': {
      good: 'well below the line, which is the limit by the settings. At the limit, messages wait.',
      unit: 'invocations',
      lines: { running: pipeline.deliver.lambda.metric('ConcurrentExecutions', { statistic: 'max' }) },
      limit: { value: settings.deliverConcurrency + settings.retryConcurrency, label: 'limit' },
    },
    'Duration of functions, p95': {
      good: 'well under a second. Operate takes up to 40 s; deliver as long as subscribers take.',
      unit: 'ms',
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'p95' })),
    },
    'The API': {
      good: 'no *5xx*. *4xx* are mistakes of callers, or too many requests (429).',
      lines: {
        requests: apiMetric(pipeline, 'Count'),
        '4xx': apiMetric(pipeline, '4xx'),
        '5xx': apiMetric(pipeline, '5xx'),
      },
    },
    'Recoveries and cancellations': {
      good: '0, except while an operation runs.',
      unit: 'messages',
      lines: buildBacklog(pipeline.queues.operation),
    },
    'Messages dropped as loops by Lambda': {
      good: 'always 0. Lambda mistook a message for a runaway loop and dropped it.',
      lines: eachFunction(({ lambda }) => lambda.metric('RecursiveInvocationsDropped', { statistic: 'sum' })),
    },
    'Cold starts': {
      good: 'few, compared with invocations. A peak after each deployment is normal.',
      lines: sums({ 'cold starts': 'coldStarts' }),
    },
    ...(settings.compute === 'lambda' ? {} : pausesOfWorkers(metricOf)),
  };
}

function pausesOfWorkers(metricOf: PosthasteMetrics): Panels {
  return {
    'Pauses of workers': {
      good: '*shortest* at the floor while messages come. No line: no worker runs.',
      unit: 'ms',
      lines: {
        shortest: metricOf(metricNames.pollInterval, { statistic: 'min' }),
        longest: metricOf(metricNames.pollInterval, { statistic: 'max' }),
      },
    },
  };
}

function costDrivers(pipeline: Pipeline, { metricOf }: Lines): Panels {
  const { deliveries, subscriptions } = pipeline.state;
  const eachFunction = linesOfFunctions(pipeline);
  return {
    'Total duration of functions': {
      good: 'follows the number of attempts. Waiting for slow subscribers costs money.',
      unit: 'ms per minute',
      stacked: true,
      lines: eachFunction(({ lambda }) => lambda.metricDuration({ statistic: 'sum' })),
    },
    'Capacity units of the tables': {
      good: 'two writes for each delivery, two more for each retry. Items over 1 KB need more.',
      unit: 'units per minute',
      lines: {
        'deliveries, writes': tableMetric(deliveries.name, 'ConsumedWriteCapacityUnits'),
        'deliveries, reads': tableMetric(deliveries.name, 'ConsumedReadCapacityUnits'),
        'indexes of deliveries, writes': indexMetric(deliveries.name, INDEXES, 'ConsumedWriteCapacityUnits'),
        'indexes of deliveries, reads': indexMetric(deliveries.name, INDEXES, 'ConsumedReadCapacityUnits'),
        'subscriptions, reads': tableMetric(subscriptions.name, 'ConsumedReadCapacityUnits'),
        'subscriptions, writes': tableMetric(subscriptions.name, 'ConsumedWriteCapacityUnits'),
      },
    },
    'Messages sent to queues, and schedules': {
      good: '*ingress* follows messages, *delivery* deliveries, *retry* failed attempts.',
      lines: {
        ingress: pipeline.queues.ingress.metricSent(),
        delivery: pipeline.queues.delivery.metricSent(),
        retry: pipeline.queues.retry.metricSent(),
        schedules: metricOf(metricNames.wakeUpsByScheduler),
        'schedules fired': schedulerMetric(pipeline, 'InvocationAttemptCount'),
      },
    },
    'Logs written': {
      good: 'under a kilobyte for each attempt. `logSuccessSampling` and `logLevel` reduce it.',
      unit: 'bytes per minute',
      stacked: true,
      lines: eachFunction(({ logGroupName }) => logBytes(logGroupName)),
    },
  };
}

/** Creates one line for each function, labelled by its name. */
function linesOfFunctions(pipeline: Pipeline) {
  return (metricOf: (one: NodeFunction) => Metric): Record<string, Metric> =>
    Object.fromEntries(Object.entries(listFunctions(pipeline)).map(([name, one]) => [name, metricOf(one)]));
}
