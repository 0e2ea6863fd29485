import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Pipeline } from '../pipeline.ts';

/** Sums of a minute; of the schedules of this deployment. */
export function schedulerMetric({ schedules }: Pipeline, metricName: string, label: string): Metric {
  return new Metric({
    namespace: 'AWS/Scheduler',
    metricName,
    dimensionsMap: { ScheduleGroup: schedules.groupName },
    statistic: 'sum',
    label,
  });
}

export function tableMetric(tableName: string, metricName: string, label: string): Metric {
  return new Metric({
    namespace: 'AWS/DynamoDB',
    metricName,
    dimensionsMap: { TableName: tableName },
    statistic: 'sum',
    label,
  });
}

export function apiMetric({ administration }: Pipeline, metricName: string, label: string): Metric {
  return new Metric({
    namespace: 'AWS/ApiGateway',
    metricName,
    dimensionsMap: { ApiId: administration.apiId },
    statistic: 'sum',
    label,
  });
}

/** Bytes that a log group took in. */
export function logBytes(logGroupName: string, label: string): Metric {
  return new Metric({
    namespace: 'AWS/Logs',
    metricName: 'IncomingBytes',
    dimensionsMap: { LogGroupName: logGroupName },
    statistic: 'sum',
    label,
  });
}
