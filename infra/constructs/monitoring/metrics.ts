import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import {
  metricDimension,
  type MetricName,
  metricNames,
  metricNamespace,
} from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import type { Pipeline } from '../pipeline.ts';
import type { State } from '../state/state.ts';
import type { Figures } from './panel.ts';

/** What alarms, panels and queries are made from. */
export interface Monitored {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly pipeline: Pipeline;
}

/** Returns a metric that the functions of a deployment write. */
export type PosthasteMetrics = (name: MetricName, options?: MetricOptions) => Metric;

/** Metrics of one deployment, with `sum` as the default statistic. */
export function posthasteMetrics(deployment: string): PosthasteMetrics {
  return (metricName, options) =>
    new Metric({
      ...sumOf(metricNamespace, metricName, { [metricDimension]: deployment }),
      ...options,
    });
}

/** A metric of the deployment's schedule group. */
export function schedulerMetric({ schedules }: Pipeline, name: string): Metric {
  return new Metric(sumOf('AWS/Scheduler', name, { ScheduleGroup: schedules.groupName }));
}

export function tableMetric(tableName: string, name: string): Metric {
  return new Metric(sumOf('AWS/DynamoDB', name, { TableName: tableName }));
}

/** The sum over a table's indexes. The table's metrics exclude them (DynamoDB guide, "Metrics and dimensions"). */
export function indexMetric(tableName: string, indexes: readonly string[], name: string): MathExpression {
  const each = indexes.map(
    (index) =>
      new Metric(sumOf('AWS/DynamoDB', name, { TableName: tableName, GlobalSecondaryIndexName: index })),
  );
  return totalOf(`of${name}`, each);
}

/** The sum of metrics. `id`: begins with a lower-case letter, and is unique in a graph. */
export function totalOf(id: string, metrics: readonly Metric[], period?: Duration): MathExpression {
  const each = metrics.map((metric, at): [string, Metric] => [`${id}${at}`, metric]);
  return new MathExpression({
    expression: `SUM([${each.map(([name]) => name).join(', ')}])`,
    usingMetrics: Object.fromEntries(each),
    ...(period && { period }),
  });
}

export function apiMetric({ administration }: Pipeline, name: string): Metric {
  return new Metric(sumOf('AWS/ApiGateway', name, { ApiId: administration.apiId }));
}

/** Bytes written to a log group. */
export function logBytes(logGroupName: string): Metric {
  return new Metric(sumOf('AWS/Logs', 'IncomingBytes', { LogGroupName: logGroupName }));
}

function sumOf(namespace: string, metricName: string, dimensionsMap: Record<string, string>) {
  return { namespace, metricName, dimensionsMap, statistic: 'sum' };
}

export function functionsOf({ dispatch, deliver, reconcile, operate, api, secrets }: Pipeline) {
  return {
    Dispatch: dispatch,
    Deliver: deliver,
    Reconcile: reconcile,
    Operate: operate,
    Api: api,
    Secrets: secrets,
  };
}

const RECENT = Duration.minutes(15);

/** The five figures of the first screen. */
export function figures({ queues, schedules }: Monitored['pipeline'], metricOf: PosthasteMetrics): Figures {
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
