import { MathExpression, Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { metricDimension, type MetricName, metricNamespace } from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import type { Pipeline } from '../pipeline.ts';
import type { State } from '../state/state.ts';

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
  const each = indexes.map((index, at): [string, Metric] => [
    // An id begins with a lower-case letter, and is unique in a graph.
    `of${name}${at}`,
    new Metric(sumOf('AWS/DynamoDB', name, { TableName: tableName, GlobalSecondaryIndexName: index })),
  ]);
  return new MathExpression({
    expression: `SUM([${each.map(([id]) => id).join(', ')}])`,
    usingMetrics: Object.fromEntries(each),
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
