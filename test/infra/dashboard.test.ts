import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Widget, widgetsOf } from '../support/monitored.ts';
import { metricNames, metricNamespace, metricsOfWorkers } from '../../shared/config/metrics.ts';
import { resourcesOf, templatesFor } from './templates.ts';

const widgetsFor = (settings: Record<string, unknown> = {}): readonly Widget[] => {
  const dashboards = [
    ...resourcesOf(templatesFor(settings).monitoring, 'AWS::CloudWatch::Dashboard').values(),
  ];
  const [{ Properties }, ...others] = z
    .tuple([z.object({ Properties: z.record(z.string(), z.unknown()) })])
    .rest(z.unknown())
    .parse(dashboards);
  expect(others).toEqual([]);
  return widgetsOf(Properties['DashboardBody']);
};

const widgets = widgetsFor();
const texts = widgets.filter((widget) => widget.type === 'text');
const graphs = widgets.filter((widget) => widget.type === 'metric' || widget.type === 'log');
const titled = graphs.map((graph) => ({ title: graph.properties.title, graph }));

const overlap = (one: Widget, other: Widget): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

describe('the dashboard', () => {
  it("asks its questions in the order of a message's way through Posthaste", () => {
    const questions = texts.filter(({ properties }) => properties.markdown.startsWith('## '));
    expect(questions.map(({ properties }) => properties.markdown.slice(3))).toEqual([
      'Are messages coming in?',
      'Are they delivered?',
      'Which subscribers fail?',
      'Are retries on time?',
      'Are functions, queues and tables healthy?',
      'What does it cost?',
    ]);
    expect(questions.map(({ y }) => y)).toEqual(questions.map(({ y }) => y).toSorted((a, b) => a - b));
  });

  it('begins with five figures: success, delay, backlog, dead letters, failing subscriptions', () => {
    const figures = widgets.flatMap((widget) =>
      widget.type === 'metric' && widget.properties.view === 'singleValue' ? [widget] : [],
    );
    expect(figures.map(({ properties }) => properties.title)).toEqual([
      'Deliveries that succeeded, %',
      'First attempt after, p99 in ms',
      'Oldest message waiting, s',
      'Dead letters',
      'Began to fail in 6 h',
    ]);
    const lines = [...new Set(graphs.map(({ y }) => y))].toSorted((a, b) => a - b);
    expect(new Set(figures.map(({ y }) => y))).toEqual(new Set(lines.slice(0, 1)));
  });

  it('fits all widgets into 24 columns without overlaps', () => {
    for (const widget of widgets) expect(widget.x + widget.width).toBeLessThanOrEqual(24);
    const overlapping = widgets.flatMap((one, at) =>
      widgets
        .slice(at + 1)
        .filter((other) => overlap(one, other))
        .map((other) => [one, other]),
    );
    expect(overlapping).toEqual([]);
  });

  it.each(titled)('describes the healthy state below each graph: $title', ({ graph }) => {
    const below = texts.filter(
      ({ x, y, width }) => x === graph.x && width === graph.width && y === graph.y + graph.height,
    );
    expect(below.map(({ properties }) => properties.markdown)).toEqual([
      expect.stringMatching(/^\*\*Good:\*\* .+\.$/),
    ]);
  });

  it.each([
    ['functions', 'lambda', Object.values(metricNames).filter((name) => !metricsOfWorkers.has(name))],
    ['workers', 'worker', Object.values(metricNames)],
  ])('shows exactly the metrics that %s write', (_, compute, written) => {
    const shown = widgetsFor({ compute }).flatMap((widget) =>
      widget.type === 'metric' ? widget.properties.metrics : [],
    );
    const ours = shown.filter(({ namespace }) => namespace === metricNamespace);
    expect(new Set(ours.map(({ metricName }) => metricName))).toEqual(new Set(written));
  });

  it('shows every alarm that notifies, the most urgent first', () => {
    const { monitoring } = templatesFor();
    const known = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) => [
      ...resourcesOf(monitoring, type).keys(),
    ]);
    const [shown = []] = widgets.flatMap((one) => (one.type === 'alarm' ? [one.properties.alarms] : []));
    expect(shown).toHaveLength(34);
    expect(shown[0]).toMatch(/DeliveriesDoNotFlow/);
    expect(shown.filter((id) => !known.includes(id))).toEqual([]);
  });

  it('stays below the limits of CloudWatch: 500 metrics in all and 100 in a graph', () => {
    const counts = widgets.flatMap((widget) =>
      widget.type === 'metric' ? [widget.properties.metrics.length] : [],
    );
    expect(Math.max(...counts)).toBeLessThan(100);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(500);
  });
});
