import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { metricNames } from '../../../shared/config/metrics.ts';
import { WORKER_CONCURRENCY } from '../../../shared/config/rules.ts';
import type { DeploymentSettings } from '../../settings.ts';
import { DEFAULT_BATCH_SIZE } from '../functions/node-function.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Figures } from './panel.ts';
import { type PosthasteMetrics, sumProps } from './posthaste-metrics.ts';

/** A metric of the deployment's schedule group. */
export function schedulerMetric({ schedules }: Pipeline, name: string): Metric {
  return new Metric(sumProps('AWS/Scheduler', name, { ScheduleGroup: schedules.groupName }));
}

export function tableMetric(tableName: string, name: string): Metric {
  return new Metric(sumProps('AWS/DynamoDB', name, { TableName: tableName }));
}

/** The sum over a table's indexes. The table's metrics exclude them (DynamoDB guide, "Metrics and dimensions"). */
export function indexMetric(tableName: string, indexes: readonly string[], name: string): MathExpression {
  const each = indexes.map(
    (index) =>
      new Metric(sumProps('AWS/DynamoDB', name, { TableName: tableName, GlobalSecondaryIndexName: index })),
  );
  return sumMetrics(`of${name}`, each);
}

/** The sum of metrics. `id`: begins with a lower-case letter, and is unique in a graph. */
export function sumMetrics(id: string, metrics: readonly Metric[], period?: Duration): MathExpression {
  const each = metrics.map((metric, at): [string, Metric] => [`${id}${at}`, metric]);
  return new MathExpression({
    expression: `SUM([${each.map(([name]) => name).join(', ')}])`,
    usingMetrics: Object.fromEntries(each),
    ...(period && { period }),
  });
}

export function apiMetric({ administration }: Pipeline, name: string): Metric {
  return new Metric(sumProps('AWS/ApiGateway', name, { ApiId: administration.apiId }));
}

/** Bytes written to a log group. */
export function logBytes(logGroupName: string): Metric {
  return new Metric(sumProps('AWS/Logs', 'IncomingBytes', { LogGroupName: logGroupName }));
}

export function listFunctions({ dispatch, deliver, reconcile, operate, api, secrets, portal }: Pipeline) {
  return {
    Dispatch: dispatch,
    Deliver: deliver,
    Reconcile: reconcile,
    Operate: operate,
    Api: api,
    Secrets: secrets,
    ...(portal && { Portal: portal }),
  };
}

const RECENT = Duration.minutes(15);

/** The five figures of the first screen. */
export function figures({ queues, schedules }: Pipeline, metricOf: PosthasteMetrics): Figures {
  return {
    'Deliveries that succeeded, %': {
      good: 'near 100, of those that ended in 15 minutes. No value: none ended.',
      metric: new MathExpression({
        // SUM treats an absent series as 0. FILL would show 0 % where nothing ended.
        expression: '100 * SUM([delivered]) / SUM([delivered, rejected, exhausted])',
        usingMetrics: {
          delivered: metricOf(metricNames.deliveriesDelivered),
          rejected: metricOf(metricNames.deliveriesRejected),
          exhausted: metricOf(metricNames.deliveriesExhausted),
        },
        period: RECENT,
      }),
    },
    'First attempt after, p99 in ms': {
      good: 'under a few thousand, from the ingress queue to the request.',
      metric: metricOf(metricNames.firstAttemptAge, { statistic: 'p99', period: RECENT }),
    },
    'Oldest message waiting, s': {
      good: 'a few seconds. Messages that dispatch has not processed.',
      metric: queues.ingress.metricAgeOfOldest({ period: Duration.minutes(1) }),
    },
    'Dead letters': {
      good: '0. `posthaste deadletters list` shows them.',
      metric: new MathExpression({
        expression: 'SUM([ingress, delivery, scheduler, operation])',
        usingMetrics: {
          ingress: queues.ingressDeadLetters.metricWaiting(),
          delivery: queues.deliveryDeadLetters.metricWaiting(),
          scheduler: schedules.deadLetters.metricWaiting(),
          operation: queues.operationDeadLetters.metricWaiting(),
        },
        period: Duration.minutes(1),
      }),
    },
    'Began to fail in 6 h': {
      good: '0 subscriptions, or a known one.',
      metric: metricOf(metricNames.subscriptionsFailing, { period: Duration.hours(6) }),
    },
  };
}

/**
 * An attempt to an unreachable subscriber takes this long, or the attempt timeout if that is less
 * (shared/adapters/http/subscriber.ts).
 */
const CONNECT_TIMEOUT_SECONDS = 5;

/** A queue of deliver, and how many of its messages are in flight while all that works on it is busy. */
export function firstAttemptWorkers({ state, queues }: Pipeline) {
  const { deliverConcurrency, messagesPerBatch } = state.settings;
  return {
    queue: queues.delivery,
    inFlight: mostInFlight(state.settings, deliverConcurrency, messagesPerBatch),
  };
}

export function retryWorkers({ state, queues }: Pipeline) {
  const { retryConcurrency } = state.settings;
  return {
    queue: queues.retry,
    inFlight: mostInFlight(state.settings, retryConcurrency, DEFAULT_BATCH_SIZE),
  };
}

/** Without functions that of one worker, because how many there are is not known. */
function mostInFlight({ compute }: DeploymentSettings, concurrency: number, batch: number): number {
  return compute === 'worker' ? WORKER_CONCURRENCY : concurrency * batch;
}

/**
 * The value, or 0 while the workers of a queue are busy and make progress. Then messages wait for workers, possibly
 * because a single subscriber hangs; `DeliverConcurrency` watches whether there are enough workers.
 *
 * Busy means that at least half as many messages are in flight as all workers can hold. Not more, because few batches
 * are full.
 */
export function zeroWhileBusy(
  value: IMetric,
  { queue, inFlight }: ReturnType<typeof firstAttemptWorkers>,
  period = Duration.minutes(1),
): MathExpression {
  return new MathExpression({
    expression: `IF(FILL(taken, 0) >= ${inFlight / 2} AND FILL(dealtWith, 0) > 0, 0, value)`,
    usingMetrics: { value, taken: queue.metricInFlight(), dealtWith: queue.metricDeleted() },
    period,
  });
}

/**
 * Concurrent invocations, or 0 while most attempt time is spent on attempts that take nearly as long as a timeout. A
 * single subscriber that hangs can cause this, and more workers would not help.
 *
 * SUM([slow, all]) > 1.5 × all means slow > all ÷ 2. Unlike `+`, SUM treats an absent series as 0.
 */
export function zeroWhileSubscribersHang(
  running: IMetric,
  { attemptTimeoutSeconds }: DeploymentSettings,
  metricOf: PosthasteMetrics,
): MathExpression {
  const slowMs = 900 * Math.min(CONNECT_TIMEOUT_SECONDS, attemptTimeoutSeconds);
  return new MathExpression({
    expression: 'IF(SUM([slow, all]) > 1.5 * all, 0, running)',
    usingMetrics: {
      running,
      all: metricOf(metricNames.attemptDuration),
      slow: metricOf(metricNames.attemptDuration, { statistic: `TS(${slowMs}:)` }),
    },
    period: Duration.minutes(1),
  });
}
