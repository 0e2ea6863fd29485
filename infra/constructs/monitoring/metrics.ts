import { MathExpression, Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { metricDimension, type MetricName, metricNamespace } from '../../../shared/config/metrics.ts';
import type { DeploymentSettings } from '../../settings.ts';
import type { Pipeline } from '../pipeline.ts';
import type { State } from '../state/state.ts';

export interface MonitoringProps {
  readonly settings: DeploymentSettings;
  readonly state: State;
  readonly pipeline: Pipeline;
}

/** A metric that the functions of one deployment write. */
export type OwnMetrics = (name: MetricName, options?: MetricOptions) => Metric;

/** Sums, unless another statistic is asked for. */
export function ownMetrics(deployment: string): OwnMetrics {
  return (metricName, options) =>
    new Metric({
      ...summed(metricNamespace, metricName, { [metricDimension]: deployment }),
      ...options,
    });
}

/** Of the schedules of this deployment. */
export function schedulerMetric({ schedules }: Pipeline, name: string): Metric {
  return new Metric(summed('AWS/Scheduler', name, { ScheduleGroup: schedules.groupName }));
}

export function tableMetric(tableName: string, name: string): Metric {
  return new Metric(summed('AWS/DynamoDB', name, { TableName: tableName }));
}

/** Summed over the indexes of a table, which its own figures do not include (DynamoDB developer guide, "Metrics and dimensions"). */
export function indexMetric(tableName: string, indexes: readonly string[], name: string): MathExpression {
  const each = indexes.map((index, at): [string, Metric] => [
    // An id begins with a small letter, and is one metric's in the whole graph.
    `of${name}${at}`,
    new Metric(summed('AWS/DynamoDB', name, { TableName: tableName, GlobalSecondaryIndexName: index })),
  ]);
  return new MathExpression({
    expression: `SUM([${each.map(([id]) => id).join(', ')}])`,
    usingMetrics: Object.fromEntries(each),
  });
}

export function apiMetric({ administration }: Pipeline, name: string): Metric {
  return new Metric(summed('AWS/ApiGateway', name, { ApiId: administration.apiId }));
}

/** Bytes that a log group took in. */
export function logBytes(logGroupName: string): Metric {
  return new Metric(summed('AWS/Logs', 'IncomingBytes', { LogGroupName: logGroupName }));
}

function summed(namespace: string, metricName: string, dimensionsMap: Record<string, string>) {
  return { namespace, metricName, dimensionsMap, statistic: 'sum' };
}

export function functionsOf({ dispatch, deliver, reconcile, operate, api }: Pipeline) {
  return { Dispatch: dispatch, Deliver: deliver, Reconcile: reconcile, Operate: operate, Api: api };
}
