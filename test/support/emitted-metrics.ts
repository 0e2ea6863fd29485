import * as z from 'zod';

/** Bytes of one log event ("Specification: Embedded metric format", Amazon CloudWatch user guide). */
const MAX_BYTES = 256 * 1024;

const name = z.string().min(1).max(1024);

/** The schema of the specification, including its limits. */
const directive = z.strictObject({
  Namespace: name,
  Dimensions: z.array(z.array(name).max(30)).min(1),
  Metrics: z
    .array(z.strictObject({ Name: name, Unit: z.string(), StorageResolution: z.literal([1, 60]).optional() }))
    .max(100),
});

const document = z.looseObject({
  _aws: z.strictObject({
    Timestamp: z.int().min(0),
    CloudWatchMetrics: z.array(directive).min(1),
  }),
});

const values = z.union([z.number().transform((value) => [value]), z.array(z.number()).min(1).max(100)]);

/** The data that CloudWatch extracts for one metric from one line. */
export type EmittedMetric = {
  namespace: string;
  name: string;
  unit: string;
  /** By name. Each set of dimensions is a separate metric. */
  dimensions: Readonly<Record<string, string>>;
  values: readonly number[];
  /** When, in milliseconds since the epoch. */
  at: number;
};

/** Whether a log line contains metrics. */
export const isEmf = (line: string): boolean => line.includes('"CloudWatchMetrics"');

/**
 * The metrics of a log line.
 * @throws ZodError, Error for a line that CloudWatch would reject or drop
 */
export const metricsOfLine = (line: string): EmittedMetric[] => {
  if (Buffer.byteLength(line) > MAX_BYTES) throw new Error('The line is too long for a log event.');
  const parsed = document.parse(JSON.parse(line.slice(line.indexOf('{'))));
  return parsed._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
    Dimensions.flatMap((set) =>
      Metrics.map(({ Name, Unit }) => ({
        namespace: Namespace,
        name: Name,
        unit: Unit,
        dimensions: Object.fromEntries(
          set.map((dimension) => [dimension, z.string().max(1024).parse(parsed[dimension])]),
        ),
        values: values.parse(parsed[Name]),
        at: parsed._aws.Timestamp,
      })),
    ),
  );
};

/** All metrics in log lines, with their values in the order of the lines. */
export const metricsOf = (lines: readonly string[]): EmittedMetric[] =>
  lines.filter(isEmf).flatMap(metricsOfLine);
