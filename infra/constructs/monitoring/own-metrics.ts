import { Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { metricDimension, type metricNames, metricNamespace } from '../../../shared/config/metrics.ts';

export type OwnMetricName = (typeof metricNames)[keyof typeof metricNames];

/** A metric that the functions of one deployment write. */
export type OwnMetrics = (name: OwnMetricName, options?: MetricOptions) => Metric;

/** Counts, unless another statistic is asked for: sums. */
export function ownMetrics(deployment: string): OwnMetrics {
  return (metricName, options) =>
    new Metric({
      namespace: metricNamespace,
      metricName,
      dimensionsMap: { [metricDimension]: deployment },
      statistic: 'sum',
      ...options,
    });
}
