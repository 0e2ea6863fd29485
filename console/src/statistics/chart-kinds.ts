import type { ChartOptions } from '../parts/chart.tsx';
import { lonePoints, MILLISECOND_STEPS, timeChart } from '../parts/time-chart.ts';
import { durationText } from '../parts/time-text.ts';
import { type Counts, type Percentiles, failedIn, successRate } from './series.ts';

export type Line = {
  name: string;
  /** A colour of tokens.css; the dashes distinguish the lines without it. */
  colour: 'series-blue' | 'series-green' | 'series-orange' | 'series-purple' | 'series-red';
  dash: number[];
  /** Null: nothing to show in this step. */
  value: (step: Counts | undefined) => number | null;
  /** Of the whole window; undefined without any. */
  total: (total: Counts) => string | undefined;
};

export type ChartKind = {
  title: string;
  /** Whether the title needs the length of a step. */
  isCount: boolean;
  /** Percentiles of several queues are those of the slowest. */
  isSlowest: boolean;
  lines: readonly Line[];
  options: ChartOptions;
};

const PERCENTILES = [
  ['p50', 'series-blue', []],
  ['p95', 'series-orange', [6, 3]],
  ['p99', 'series-purple', [2, 3]],
] as const;

export const CHART_KINDS: readonly ChartKind[] = [
  countChart('Messages', [countLine('accepted', 'series-blue', [], ({ messages }) => messages)]),
  countChart('Outcomes', [
    countLine('delivered', 'series-green', [], ({ delivered }) => delivered),
    countLine('failed attempts', 'series-orange', [6, 3], ({ attemptsFailed }) => attemptsFailed),
    countLine('exhausted or rejected', 'series-red', [2, 3], failedIn),
  ]),
  chart('Successful attempts', { valueText: percentText, range: () => 100 }, [
    {
      name: 'of all attempts',
      colour: 'series-green',
      dash: [],
      value: successRate,
      total: (total) => textOf(successRate(total), percentText),
    },
  ]),
  percentileChart('Time to delivery', ({ timeToDelivery }) => timeToDelivery),
  percentileChart('Response times', ({ response }) => response),
];

function countChart(title: string, lines: readonly Line[]): ChartKind {
  const values = { valueText: countText, range: (most: number) => Math.max(4, most * 1.1) };
  return { ...chart(title, values, lines), isCount: true };
}

function countLine(
  name: string,
  colour: Line['colour'],
  dash: number[],
  count: (counts: Counts) => number,
): Line {
  return {
    name,
    colour,
    dash,
    value: (step) => (step === undefined ? 0 : count(step)),
    total: (total) => count(total).toLocaleString('en'),
  };
}

function percentileChart(title: string, times: (counts: Counts) => Percentiles | undefined): ChartKind {
  const values = {
    valueText: durationText,
    range: (most: number) => Math.max(10, most * 1.1),
    steps: MILLISECOND_STEPS,
  };
  const lines = PERCENTILES.map(([name, colour, dash]): Line => ({
    name,
    colour,
    dash: [...dash],
    value: (step) => (step && times(step)?.[name]) ?? null,
    total: (total) => textOf(times(total)?.[name] ?? null, durationText),
  }));
  return { ...chart(title, values, lines), isSlowest: true };
}

function chart(
  title: string,
  values: { valueText: (value: number) => string; range: (most: number) => number; steps?: number[] },
  lines: readonly Line[],
): ChartKind {
  const series = (colour: (name: string) => string) =>
    lines.map((line) => {
      const stroke = colour(line.colour);
      return { stroke, dash: line.dash, width: 1.75, points: lonePoints(stroke) };
    });
  return { title, isCount: false, isSlowest: false, lines, options: timeChart({ ...values, series }) };
}

function textOf(value: number | null, text: (value: number) => string): string | undefined {
  return value === null ? undefined : text(value);
}

/** Rounded down, so that 100% means that every attempt succeeded. */
export function percentText(percent: number): string {
  return `${(Math.floor(percent * 10) / 10).toLocaleString('en')}%`;
}

/** 950, 1.2K, 3M; empty between whole numbers. */
function countText(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en', { notation: 'compact' }) : '';
}
