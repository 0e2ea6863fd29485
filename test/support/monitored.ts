import * as z from 'zod';

/** Reads the body of a dashboard from a template ("Dashboard Body Structure and Syntax", CloudWatch API reference). */

const place = {
  x: z.int().min(0),
  y: z.int().min(0),
  width: z.int().positive(),
  height: z.int().positive(),
};

const text = z.object({ type: z.literal('text'), ...place, properties: z.object({ markdown: z.string() }) });

const alarmWidget = z.object({
  type: z.literal('alarm'),
  ...place,
  properties: z.object({ alarms: z.array(z.string()) }),
});

/** A row of `metrics`: namespace, name, dimension names and values, and rendering options. Expressions have no name. */
const metricRow = z.array(z.union([z.string(), z.looseObject({})])).transform((parts) => {
  const [namespace = '', metricName = '', ...dimensions] = parts.filter((part) => typeof part === 'string');
  return { namespace, metricName, dimensionNames: dimensions.filter((_, at) => at % 2 === 0) };
});

const metricWidget = z.object({
  type: z.literal('metric'),
  ...place,
  properties: z.object({
    title: z.string(),
    metrics: z.array(metricRow),
    view: z.enum(['timeSeries', 'singleValue']),
  }),
});

const log = z.object({
  type: z.literal('log'),
  ...place,
  properties: z.object({ title: z.string() }),
});

const body = z.object({
  widgets: z.array(z.discriminatedUnion('type', [text, alarmWidget, metricWidget, log])),
});

export type Widget = z.output<typeof body>['widgets'][number];

const joined = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) });

const output = z.object({ 'Fn::GetStackOutput': z.object({ OutputName: z.string() }) });

/** The logical id or output name that a reference points to. */
function referred(reference: unknown): string {
  const found = output.safeParse(reference);
  if (found.success) return found.data['Fn::GetStackOutput'].OutputName;
  const names = z.record(z.string(), z.union([z.string(), z.array(z.string())])).parse(reference);
  return Object.values(names).flat()[0] ?? '';
}

/**
 * The widgets of a dashboard in a template, with the logical ids in place of references.
 * @throws ZodError if a widget is of a kind that the project does not use
 */
export function widgetsOf(dashboardBody: unknown): readonly Widget[] {
  const [, parts] = joined.parse(dashboardBody)['Fn::Join'];
  const json = parts.map((part) => (typeof part === 'string' ? part : referred(part))).join('');
  return body.parse(JSON.parse(json)).widgets;
}

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

/** Alarms on what is late, which a single subscriber that hangs must not raise. */
export const LATENESS_ALARMS = [
  'DeliveryAge',
  'RetryAge',
  'FirstAttemptsLate',
  'RetriesLate',
  'ReconcileWorks',
  'DeliveriesStuck',
] as const;
