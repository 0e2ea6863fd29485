import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { useConsole } from '../live/console-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Chart } from '../parts/chart.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Empty } from '../parts/notice.tsx';
import { Section } from '../parts/page-heading.tsx';
import { CHART_KINDS, type ChartKind } from './chart-kinds.ts';
import {
  type Counts,
  readStatistics,
  type Series,
  seriesOf,
  type Summary,
  WINDOW_NAMES,
  type WindowName,
  WINDOWS,
} from './series.ts';

/** Chooses the window of figures and charts. */
export function WindowChoice({
  window,
  onChange,
}: {
  window: WindowName;
  onChange: (window: WindowName) => void;
}) {
  return (
    <div class="actions" role="group" aria-label="Time window">
      {WINDOW_NAMES.map((name) => (
        <button
          key={name}
          type="button"
          class="button button-small"
          aria-pressed={name === window}
          onClick={() => {
            onChange(name);
          }}
        >
          {`${WINDOWS[name].text.slice(0, 1).toUpperCase()}${WINDOWS[name].text.slice(1)}`}
        </button>
      ))}
    </div>
  );
}

/** Shown in place of figures and charts that the deployment does not count. */
export function NotCounted() {
  return (
    <p class="muted">
      This deployment counts no statistics: its setting queueStatistics is off, or it has an earlier version.
    </p>
  );
}

/** What happened in one queue over time. */
export function QueueStatistics({ queue }: { queue: string }) {
  const { api } = useConsole();
  const [window, setWindow] = useState<WindowName>('hour');
  const statistics = useLive(`statistics/${queue}/${window}`, (signal) =>
    readStatistics(api, queue, { window, now: Date.now(), signal }),
  );
  return (
    <Section title="Over time" aside={<WindowChoice window={window} onChange={setWindow} />}>
      <Loaded live={statistics} lines={12}>
        {(value) => (value === null ? <NotCounted /> : <StatisticsCharts summary={value} window={window} />)}
      </Loaded>
    </Section>
  );
}

/** Charts of what happened over time. `queues`: how many queues it sums up. */
export function StatisticsCharts({
  summary,
  window,
  queues = 1,
}: {
  summary: Summary;
  window: WindowName;
  queues?: number;
}) {
  const series = useMemo(() => seriesOf(summary), [summary]);
  const { total } = summary;
  if (total.messages + total.attempts === 0) return <Empty title="No message and no attempt in this time" />;
  return (
    <div class="charts">
      {CHART_KINDS.map((kind) => (
        <StatisticsChart
          key={kind.title}
          kind={kind}
          series={series}
          total={total}
          text={WINDOWS[window].text}
          aside={asideOf(kind, window, queues)}
        />
      ))}
    </div>
  );
}

function asideOf({ isCount, isSlowest }: ChartKind, window: WindowName, queues: number): string {
  if (isCount) return `per ${WINDOWS[window].step}`;
  return isSlowest && queues > 1 ? 'of the slowest queue' : '';
}

const HEIGHT = 150;

function StatisticsChart({
  kind: { title, lines, options },
  series: { times, steps },
  total,
  text,
  aside,
}: {
  kind: ChartKind;
  series: Series;
  total: Counts;
  /** Names the window. */
  text: string;
  aside: string;
}) {
  const data = useMemo(
    (): uPlot.AlignedData => [times, ...lines.map(({ value }) => steps.map(value))],
    [times, steps, lines],
  );
  const totals = lines.flatMap((line) => {
    const sum = line.total(total);
    return sum === undefined ? [] : [{ ...line, sum }];
  });
  const sums = totals.map(({ name, sum }) => `${name} ${sum}`).join(', ');
  return (
    <figure>
      <figcaption>
        {title} <span class="muted">{aside}</span>
      </figcaption>
      {totals.length === 0 ? (
        <p class="muted">None in this time.</p>
      ) : (
        <>
          <Chart
            options={options}
            data={data}
            height={HEIGHT}
            label={`${title} ${aside}, ${text}. In total: ${sums}.`}
          />
          <ul class="legend">
            {totals.map(({ name, colour, dash, sum }) => (
              <li key={name} class={colour}>
                <svg width="22" height="8" aria-hidden="true">
                  <line x1="0" x2="22" y1="4" y2="4" stroke-dasharray={dash.join(' ') || 'none'} />
                </svg>
                <span>
                  {name} <strong>{sum}</strong>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </figure>
  );
}
