/** Reads the body of a dashboard from a template ("Dashboard Body Structure and Syntax", CloudWatch API reference). */
import { z } from 'zod';

const place = {
  x: z.int().min(0),
  y: z.int().min(0),
  width: z.int().positive(),
  height: z.int().positive(),
};

const text = z.object({ type: z.literal('text'), ...place, properties: z.object({ markdown: z.string() }) });

const alarm = z.object({
  type: z.literal('alarm'),
  ...place,
  properties: z.object({ alarms: z.array(z.string()) }),
});

/** A row of `metrics`: namespace, name, dimension names and values, and rendering options. Expressions have no name. */
const metricRow = z.array(z.union([z.string(), z.looseObject({})])).transform((parts) => {
  const [namespace = '', metricName = '', ...dimensions] = parts.filter((part) => typeof part === 'string');
  return { namespace, metricName, dimensionNames: dimensions.filter((_, at) => at % 2 === 0) };
});

const metric = z.object({
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

const body = z.object({ widgets: z.array(z.discriminatedUnion('type', [text, alarm, metric, log])) });

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
