import type uPlot from 'uplot';
import type { ChartOptions } from './chart.tsx';
import { axisTime } from './time-text.ts';

/** Options of a chart over time. `valueText`: labels of the values; `range`: of the largest value. */
export function timeChart({
  valueText,
  range,
  series,
}: {
  valueText: (value: number) => string;
  range: (most: number) => number;
  series: (colour: (name: string) => string) => uPlot.Series[];
}): ChartOptions {
  return (colour) => ({
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, range(most)] } },
    axes: [
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line') },
        ticks: { stroke: colour('line') },
        space: 96,
        size: 32,
        values: (_plot, values) => values.map((value) => axisTime(value * 1000, Date.now())),
      },
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line') },
        ticks: { show: false },
        size: 62,
        values: (_plot, values) => values.map(valueText),
      },
    ],
    series: [{}, ...series(colour)],
  });
}
