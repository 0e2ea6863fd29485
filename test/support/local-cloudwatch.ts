import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { CloudWatch } from '@aws-sdk/client-cloudwatch';
import * as z from 'zod';
import { metricNamespace } from '../../shared/config/metrics.ts';
import { type AlarmDefinition, alarmDefinition, isRaised, type MetricStat } from './alarm-state.ts';
import { deployment } from './deployment.ts';
import { metricsOf } from './emitted-metrics.ts';
import { logLines } from './log-lines.ts';
import { metricMath, type Period } from './metric-math.ts';
import { monitoringResources } from './monitored-metrics.ts';

/** `at`: milliseconds since the epoch. */
type Point = { at: number; value: number };

const STATISTICS: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Sum: (values) => values.reduce((sum, value) => sum + value, 0),
  Maximum: (values) => Math.max(...values),
  SampleCount: (values) => values.length,
};

/** The lengths of an SQS queue, each as the attribute and as the metric. */
const LENGTHS = [
  ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesVisible'],
  ['ApproximateNumberOfMessagesNotVisible', 'ApproximateNumberOfMessagesNotVisible'],
] as const;

/** Between two looks at the SQS queues. */
const SAMPLE_MS = 400;

const cloudFormation = new CloudFormation(deployment.client);
const cloudWatch = new CloudWatch(deployment.client);

/**
 * The alarms of the deployed template, on what the local AWS can be asked for: the lengths of the SQS queues, the metrics in
 * the functions' logs, and those of Lambda. It has neither the ages nor the deletions of SQS, so a metric of these has no
 * data: `FILL` makes deletions 0, and a test must not count on an alarm that ends because messages are deleted.
 */
export const openLocalCloudWatch = async () => {
  const since = Date.now();
  const resources = Object.entries(await monitoringResources());
  const outputs = await pipelineOutputs();
  const definitions = new Map<string, AlarmDefinition>(
    resources.flatMap(([id, { Type, Properties }]) =>
      Type === 'AWS::CloudWatch::Alarm' ? [[id, alarmDefinition(Properties)]] : [],
    ),
  );

  /** The value of a metric's dimension: a text, or an output of the pipeline's stack. */
  const dimensionOf = ({ Metric }: MetricStat): string => {
    const value = Metric.Dimensions[0]?.Value;
    const { data } = outputReference.safeParse(value);
    return data === undefined ? String(value) : (outputs.get(data['Fn::GetStackOutput'].OutputName) ?? '');
  };

  const watched = [...definitions.values()].flatMap(({ metrics }) => Object.values(metrics));
  const queues = new Set(watched.filter(({ Metric }) => Metric.Namespace === 'AWS/SQS').map(dimensionOf));
  const samples = new Map<string, readonly Point[]>();
  const takeSamples = async (queue: string): Promise<void> => {
    const QueueUrl = deployment.endpoints.ingressQueueUrl.replace(/[^/]+$/, queue);
    const { Attributes } = await deployment.sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
    for (const [attribute, metric] of LENGTHS) {
      const key = `${queue} ${metric}`;
      const point = { at: Date.now(), value: Number(Attributes?.[attribute]) };
      samples.set(key, [...(samples.get(key) ?? []), point]);
    }
  };
  let sampling: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    sampling = sampling.then(() => Promise.all([...queues].map(takeSamples)));
  }, SAMPLE_MS);

  const logged = (): Promise<string[]> => logLines(Object.values(deployment.endpoints.functions), since);

  const pointsOf = async (stat: MetricStat, lines: Promise<string[]>): Promise<readonly Point[]> => {
    const { Namespace, MetricName } = stat.Metric;
    if (Namespace === 'AWS/SQS') return samples.get(`${dimensionOf(stat)} ${MetricName}`) ?? [];
    if (Namespace !== metricNamespace) return lambdaPoints(MetricName, dimensionOf(stat), since);
    return metricsOf(await lines)
      .filter(({ name }) => name === MetricName)
      .flatMap(({ at, values }) => values.map((value) => ({ at, value })));
  };

  /** `lines`: of the functions' logs, read before for every metric. */
  const stateOf = async (
    definition: AlarmDefinition,
    minuteMs: number,
    lines: Promise<string[]>,
  ): Promise<boolean> => {
    const stats = await Promise.all(
      Object.entries(definition.metrics).map(
        async ([id, stat]) => [id, stat, await pointsOf(stat, lines)] as const,
      ),
    );
    const now = Date.now();
    const periodAgo = (ago: number): Period =>
      Object.fromEntries(
        stats.map(([id, { Period, Stat }, points]) => {
          const lengthMs = (Period / 60) * minuteMs;
          const end = now - ago * lengthMs;
          const within = points.filter(({ at }) => at <= end && at > end - lengthMs);
          return [id, statistic(Stat, within)];
        }),
      );
    const periods = Array.from({ length: definition.EvaluationPeriods }, (_, ago) => periodAgo(ago));
    return isRaised(definition, periods.toReversed());
  };

  const named = (key: 'AlarmName' | 'Name', name: string) => {
    const found = resources.find(([, { Properties }]) => Properties[key] === name);
    if (found === undefined) throw new Error(`The template has no ${name}`);
    return { id: found[0], properties: found[1].Properties };
  };

  return {
    /** Whether an alarm is raised now. `minuteMs`: what counts as a minute in its periods. */
    isAlarm: async (name: string, minuteMs: number): Promise<boolean> => {
      const { id, properties } = named('AlarmName', `Posthaste-${name}`);
      const definition = definitions.get(id);
      const lines = logged();
      if (definition !== undefined) return stateOf(definition, minuteMs, lines);
      const rule = compositeRule.parse(properties);
      const states = [...definitions]
        .filter(([part]) => rule.includes(part))
        .map(async ([part, one]) => [part, Number(await stateOf(one, minuteMs, lines))] as const);
      return metricMath(rule, Object.fromEntries(await Promise.all(states))) === 1;
    },
    /** What an alarm tells the person on call. */
    descriptionOf: (name: string): string =>
      z.string().parse(named('AlarmName', `Posthaste-${name}`).properties['AlarmDescription']),
    /** What a saved query groups: the log lines that its filter leaves, by the fields after `by`. */
    groupsOf: async (name: string): Promise<Record<string, unknown>[]> => {
      const query = z.string().parse(named('Name', `Posthaste/${name}`).properties['QueryString']);
      const conditions = [...query.matchAll(/(\S+) (=|!=) "([^"]*)"/g)];
      const fields = / by (.+)$/m.exec(query)?.[1]?.split(', ') ?? [];
      return (await logged())
        .flatMap((line) => (line.startsWith('{"level"') ? [flat(JSON.parse(line))] : []))
        .filter((line) =>
          conditions.every(
            ([, field = '', operator, value]) => (line[field] === value) === (operator === '='),
          ),
        )
        .map((line) => Object.fromEntries(fields.map((field) => [field, line[field]])));
    },
    stop: async (): Promise<void> => {
      clearInterval(timer);
      await sampling;
    },
  };
};

const outputReference = z.object({ 'Fn::GetStackOutput': z.object({ OutputName: z.string() }) });

const alarmReference = z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.literal('Arn')]) });

/** The rule of a composite alarm, with the ids of the others in place of `ALARM("ARN")`. */
const compositeRule = z
  .object({
    AlarmRule: z.object({
      'Fn::Join': z.tuple([z.literal(''), z.array(z.union([z.string(), alarmReference]))]),
    }),
  })
  .transform(({ AlarmRule }) => {
    const [, parts] = AlarmRule['Fn::Join'];
    const text = parts.map((part) => (typeof part === 'string' ? part : part['Fn::GetAtt'][0])).join('');
    return text.replaceAll(/ALARM\("(\w+)"\)/g, '$1');
  });

const pipelineOutputs = async () => {
  const { Stacks: [stack] = [] } = await cloudFormation.describeStacks({ StackName: 'PosthastePipeline' });
  return new Map(stack?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
};

/** Of a metric whose sum counts: errors and throttles. */
const lambdaPoints = async (MetricName: string, functionName: string, since: number): Promise<Point[]> => {
  const { Datapoints = [] } = await cloudWatch.getMetricStatistics({
    Namespace: 'AWS/Lambda',
    MetricName,
    Dimensions: [{ Name: 'FunctionName', Value: functionName }],
    StartTime: new Date(since),
    EndTime: new Date(),
    Period: 1,
    Statistics: ['Sum'],
  });
  return Datapoints.map(({ Timestamp, Sum = 0 }) => ({ at: Timestamp?.getTime() ?? 0, value: Sum }));
};

/** Undefined without data. */
const statistic = (name: string, points: readonly Point[]): number | undefined => {
  const compute = STATISTICS[name];
  if (compute === undefined) throw new Error(`The local AWS has no data for the statistic ${name}`);
  return points.length === 0 ? undefined : compute(points.map(({ value }) => value));
};

/** The fields of a log line as CloudWatch names them: those inside objects with dots. */
const flat = (line: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(z.record(z.string(), z.unknown()).parse(line)).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(flat(value)).map(([inner, one]) => [`${name}.${inner}`, one])
        : [[name, value]],
    ),
  );
