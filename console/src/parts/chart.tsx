import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { useWidth } from '../live/hooks.ts';
import { useTheme } from './theme.tsx';
import { axisTime, durationText } from './time-text.ts';

/** Builds the options from the colours of the current theme. */
export type ChartOptions = (colour: (name: string) => string) => Omit<uPlot.Options, 'width' | 'height'>;

type ChartProps = {
  options: ChartOptions;
  data: uPlot.AlignedData;
  height: number;
  label: string;
};

/** A uPlot chart; the library loads with the first chart. `label` is the text alternative. */
export function Chart({ options, data, height, label }: ChartProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const theme = useTheme();
  const chart = useRef<uPlot | undefined>(undefined);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = ref.current;
    if (element === null || width === 0) return undefined;
    let isDestroyed = false;
    void loadPlot().then((Plot) => {
      if (isDestroyed) return;
      const given = options((name) => colourIn(element, name));
      chart.current = new Plot({ ...given, width, height }, latest.current, element);
    });
    return () => {
      isDestroyed = true;
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [options, width, height, theme]);

  useEffect(() => chart.current?.setData(data), [data]);

  return <div ref={ref} class="chart" role="img" aria-label={label} data-height={height} />;
}

async function loadPlot(): Promise<typeof uPlot> {
  const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]);
  return Plot;
}

/** The value of a custom property with `light-dark()` resolved, which a canvas cannot do. */
function colourIn(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Steps between the values of an axis, in seconds, that read well as a duration. */
export const DURATION_STEPS: number[] = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  432_000, 864_000,
];

/** As DURATION_STEPS, in milliseconds. */
export const MILLISECOND_STEPS: number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...DURATION_STEPS.map((seconds) => seconds * 1000),
];

/** Seconds. In less, the labels of the axis would all be the same minute. */
const SHORTEST = 60;

type SeriesIn = (colour: (name: string) => string) => uPlot.Series[];

type PlainChartOptions = {
  x: uPlot.Axis;
  y: uPlot.Axis;
  scales: uPlot.Scales;
  series: SeriesIn;
};

/** Options of a chart without legend and cursor. */
export function plainChart({ x, y, scales, series }: PlainChartOptions): ChartOptions {
  return (colour) => {
    const axis = { stroke: colour('muted'), grid: { stroke: colour('line') } };
    return {
      legend: { show: false },
      cursor: { show: false },
      scales,
      axes: [
        { ...axis, ticks: { stroke: colour('line') }, ...x },
        { ...axis, ticks: { show: false }, ...y },
      ],
      series: [{}, ...series(colour)],
    };
  };
}

type TimeChartOptions = {
  valueText: (value: number) => string;
  range: (most: number) => number;
  steps?: number[];
  series: SeriesIn;
};

/** Options of a chart over time. `valueText`: labels of the values; `range`: of the largest value; `steps`: of the labels. */
export function timeChart({ valueText, range, steps, series }: TimeChartOptions): ChartOptions {
  return plainChart({
    x: {
      space: 96,
      size: 32,
      values: (_plot, values) => {
        const seconds = values.some((value) => value % 60 !== 0);
        return values.map((value) => axisTime(value * 1000, { now: Date.now(), seconds }));
      },
    },
    y: { size: 76, ...(steps && { incrs: steps }), values: (_plot, values) => values.map(valueText) },
    scales: {
      x: { range: ({ data: [times] }) => timeRange(times.at(0) ?? 0, times.at(-1) ?? 0) },
      y: { range: (_plot, _least, most) => [0, range(most)] },
    },
    series,
  });
}

/** Of a time chart whose values are durations, in milliseconds. */
export const DURATION_VALUES = {
  valueText: durationText,
  range: (most: number) => Math.max(10, most * 1.1),
  steps: MILLISECOND_STEPS,
};

/** Seconds since the epoch. */
export function timeRange(first: number, last: number): [from: number, to: number] {
  const margin = Math.max(0, SHORTEST - (last - first)) / 2;
  return [first - margin, last + margin];
}

/** Points only where a line cannot show a value, because it has no neighbour. */
export function lonePoints(colour: string): uPlot.Series.Points {
  return {
    show: false,
    size: 7,
    fill: colour,
    filter: ({ data }, series) => loneIn(data[series] ?? []),
  };
}

/** The indexes of the values without a neighbour. */
export function loneIn(values: ArrayLike<number | null | undefined>): number[] {
  const isValue = (index: number): boolean => typeof values[index] === 'number';
  return Array.from(values, (_value, index) => index).filter(
    (index) => isValue(index) && !isValue(index - 1) && !isValue(index + 1),
  );
}
