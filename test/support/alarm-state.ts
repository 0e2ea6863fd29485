import * as z from 'zod';
import { metricMath, type Period } from './metric-math.ts';

const metricStat = z.object({
  Metric: z.object({
    Namespace: z.string(),
    MetricName: z.string(),
    Dimensions: z.array(z.object({ Name: z.string(), Value: z.unknown() })).default([]),
  }),
  /** Seconds. */
  Period: z.number(),
  Stat: z.string(),
});

export type MetricStat = z.output<typeof metricStat>;

const rule = z.object({
  ComparisonOperator: z.enum(['GreaterThanThreshold', 'LessThanThreshold']),
  Threshold: z.number(),
  EvaluationPeriods: z.number(),
  DatapointsToAlarm: z.number(),
  TreatMissingData: z.enum(['breaching', 'notBreaching']),
});

const ofExpression = rule.extend({
  Metrics: z.array(
    z.object({
      Id: z.string(),
      Expression: z.string().optional(),
      MetricStat: metricStat.optional(),
      ReturnData: z.boolean().default(true),
    }),
  ),
});

const ofMetric = rule.extend({
  ...metricStat.shape.Metric.shape,
  Period: z.number(),
  Statistic: z.string(),
});

const alarm = z.union([ofExpression, ofMetric]).transform((properties) => {
  if (!('Metrics' in properties)) {
    const { Namespace, MetricName, Dimensions, Period, Statistic: Stat, ...rest } = properties;
    const value = { Metric: { Namespace, MetricName, Dimensions }, Period, Stat };
    return { ...rest, expression: 'value', metrics: { value } };
  }
  const { Metrics, ...rest } = properties;
  const returned = Metrics.find(({ ReturnData }) => ReturnData);
  const metrics = Metrics.flatMap(({ Id, MetricStat }) =>
    MetricStat === undefined ? [] : [[Id, MetricStat]],
  );
  return {
    ...rest,
    expression: returned?.Expression ?? returned?.Id ?? '',
    metrics: Object.fromEntries(metrics) as Record<string, MetricStat>,
  };
});

/** What an alarm watches: an expression over metrics by their ids, or one metric with the id `value`. */
export type AlarmDefinition = z.output<typeof alarm>;

/** @throws ZodError for properties in a template that the project's alarms do not have */
export function alarmDefinition(properties: unknown): AlarmDefinition {
  return alarm.parse(properties);
}

/** Whether an alarm is raised after these periods, of which the last count ("Using Amazon CloudWatch alarms"). */
export function isRaised(definition: AlarmDefinition, periods: readonly Period[]): boolean {
  const { ComparisonOperator, DatapointsToAlarm, EvaluationPeriods, Threshold, TreatMissingData } =
    definition;
  const breaches = (value: number | undefined): boolean => {
    if (value === undefined) return TreatMissingData === 'breaching';
    return ComparisonOperator === 'GreaterThanThreshold' ? value > Threshold : value < Threshold;
  };
  const values = periods.slice(-EvaluationPeriods).map((period) => metricMath(definition.expression, period));
  return values.filter(breaches).length >= DatapointsToAlarm;
}
