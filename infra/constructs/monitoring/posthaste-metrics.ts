import { Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { metricDimension, type MetricName, metricNamespace } from '../../../shared/config/metrics.ts';

/** Returns a metric that the functions of a deployment write. */
export type PosthasteMetrics = (name: MetricName, options?: MetricOptions) => Metric;

/** Metrics of one deployment, with `sum` as the default statistic. */
export function posthasteMetrics(deployment: string): PosthasteMetrics {
  return (metricName, options) =>
    new Metric({
      ...sumProps(metricNamespace, metricName, { [metricDimension]: deployment }),
      ...options,
    });
}

export function sumProps(namespace: string, metricName: string, dimensionsMap: Record<string, string>) {
  return { namespace, metricName, dimensionsMap, statistic: 'sum' };
}
