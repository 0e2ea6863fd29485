import * as z from 'zod';
import { widgetsOf } from './dashboard-body.ts';

/** A metric as named by an alarm or a graph. */
export type Monitored = { namespace: string; metricName: string; dimensionNames: readonly string[] };

export type MonitoredAlarm = {
  readonly name: string;
  readonly description: string;
  /** Empty for a composite alarm. */
  readonly metrics: readonly Monitored[];
  readonly actions: readonly unknown[];
  readonly properties: Readonly<Record<string, unknown>>;
};

const resources = z.record(
  z.string(),
  z.looseObject({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) }),
);

const metric = z
  .looseObject({
    Namespace: z.string(),
    MetricName: z.string(),
    Dimensions: z.array(z.looseObject({ Name: z.string() })).default([]),
  })
  .transform(({ Namespace, MetricName, Dimensions }): Monitored => ({
    namespace: Namespace,
    metricName: MetricName,
    dimensionNames: Dimensions.map(({ Name }) => Name),
  }));

/** A single metric, or the metrics of an expression. */
const watched = z.union([
  metric.transform((one) => [one]),
  z
    .looseObject({
      Metrics: z.array(z.looseObject({ MetricStat: z.looseObject({ Metric: metric }).optional() })),
    })
    .transform(({ Metrics }) =>
      Metrics.flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [MetricStat.Metric])),
    ),
]);

const alarm = z.looseObject({
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  AlarmActions: z.array(z.unknown()).default([]),
});

const COMPOSITE = 'AWS::CloudWatch::CompositeAlarm';

/** All alarms of a template, from its `Resources`. */
export const alarmsIn = (templateResources: unknown): MonitoredAlarm[] =>
  Object.values(resources.parse(templateResources))
    .filter(({ Type }) => Type === 'AWS::CloudWatch::Alarm' || Type === COMPOSITE)
    .map(({ Type, Properties }) => {
      const { AlarmName, AlarmDescription, AlarmActions } = alarm.parse(Properties);
      return {
        name: AlarmName,
        description: AlarmDescription,
        metrics: Type === COMPOSITE ? [] : watched.parse(Properties),
        actions: AlarmActions,
        properties: Properties,
      };
    });

/** Every metric on the dashboards of a template, from its `Resources`. */
export const graphedIn = (templateResources: unknown): Monitored[] =>
  Object.values(resources.parse(templateResources))
    .filter(({ Type }) => Type === 'AWS::CloudWatch::Dashboard')
    .flatMap(({ Properties }) => widgetsOf(Properties['DashboardBody']))
    .flatMap((widget) => (widget.type === 'metric' ? widget.properties.metrics : []));
