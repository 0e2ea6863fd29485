import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { useWidth } from '../live/hooks.ts';
import { useTheme } from './theme.tsx';

/** Builds the options from the colours of the current theme. */
export type ChartOptions = (colour: (name: string) => string) => Omit<uPlot.Options, 'width' | 'height'>;

/** A uPlot chart; the library loads with the first chart. `label` is the text alternative. */
export function Chart({
  options,
  data,
  height,
  label,
}: {
  options: ChartOptions;
  data: uPlot.AlignedData;
  height: number;
  label: string;
}) {
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

  useEffect(() => {
    chart.current?.setData(data);
  }, [data]);

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
