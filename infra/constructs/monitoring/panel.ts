import { Duration } from 'aws-cdk-lib';
import {
  Column,
  GraphWidget,
  type IWidget,
  type MathExpression,
  type Metric,
  SingleValueWidget,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';

/** A dashboard is 24 columns wide (Amazon CloudWatch user guide): three panels a row. */
const COLUMNS = 24;
export const PANEL_WIDTH = COLUMNS / 3;
export const PANEL_HEIGHT = 6;
const SENTENCE_HEIGHT = 2;

/** By the question of an operator: the panels that answer it, three in a line. */
export type Rows = Readonly<Record<string, Panels>>;

/** By title. */
export type Panels = Readonly<Record<string, Graph | Widget>>;

/** A widget, and the sentence below it that describes the healthy state. */
type Widget = { readonly widget: IWidget; readonly good: string };

/** A graph. `lines`: by label, in `unit`. */
type Graph = {
  /** @default per minute */
  readonly unit?: string;
  readonly good: string;
  readonly lines: Readonly<Record<string, Metric | MathExpression>>;
  readonly stacked?: boolean;
  /** A horizontal line, in `unit`: values near it are bad. */
  readonly limit?: { readonly value: number; readonly label: string };
};

function toGraph(title: string, { good, lines, unit = 'per minute', stacked = false, limit }: Graph): Widget {
  return {
    good,
    widget: new GraphWidget({
      title,
      left: Object.entries(lines).map(([label, metric]) => metric.with({ label })),
      stacked,
      width: PANEL_WIDTH,
      height: PANEL_HEIGHT,
      period: Duration.minutes(1),
      leftYAxis: { label: unit, showUnits: false, min: 0 },
      leftAnnotations: limit === undefined ? [] : [limit],
    }),
  };
}

/** By title: a number for the first screen, with its recent course. `metric`: its period is what the number covers. */
export type Figures = Readonly<Record<string, { good: string; metric: Metric | MathExpression }>>;

const FIGURE_HEIGHT = 3;

/** Figures in one line. The last of them takes the rest of the width. */
export function figureLine(figures: Figures): IWidget[] {
  const all = Object.entries(figures);
  const width = Math.ceil(COLUMNS / all.length);
  return all.map(([title, { good, metric }], at) =>
    asColumn({
      good,
      widget: new SingleValueWidget({
        title,
        metrics: [metric.with({ label: title })],
        sparkline: true,
        width: Math.min(width, COLUMNS - at * width),
        height: FIGURE_HEIGHT,
      }),
    }),
  );
}

/** The widgets of each row: its question, then its panels, of which the dashboard fills lines. */
export function widgetLines(rows: Rows): IWidget[][] {
  return Object.entries(rows).flatMap(([question, panels]) => [
    [new TextWidget({ markdown: `## ${question}`, width: COLUMNS, height: 1 })],
    Object.entries(panels).map(([title, panel]) =>
      asColumn('widget' in panel ? panel : toGraph(title, panel)),
    ),
  ]);
}

function asColumn({ widget, good }: Widget): IWidget {
  return new Column(
    widget,
    new TextWidget({ markdown: `**Good:** ${good}`, width: widget.width, height: SENTENCE_HEIGHT }),
  );
}
