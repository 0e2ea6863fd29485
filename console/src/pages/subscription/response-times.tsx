import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DeliveryView } from '../../../../shared/wire/views/delivery.ts';
import { Chart, type ChartOptions } from '../../parts/chart.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Empty } from '../../parts/notice.tsx';
import { axisTime, durationText } from '../../parts/time-text.ts';
import { quantile, responseTimes } from './response-time-series.ts';

/** A chart of the response time of each attempt. */
export function ResponseTimes({ deliveries }: { deliveries: readonly DeliveryView[] }): JSX.Element {
  const times = useMemo(() => responseTimes(deliveries), [deliveries]);
  const data = useMemo((): [number[], (number | null)[], (number | null)[]] => {
    const of = (succeeded: boolean) =>
      times.map((time) => (time.succeeded === succeeded ? time.durationMs : null));
    return [times.map(({ at }) => at / 1000), of(true), of(false)];
  }, [times]);
  if (times.length === 0) return <Empty title="No recent requests" />;
  const durations = times.map(({ durationMs }) => durationMs);
  const [median, slow] = [quantile(durations, 0.5), quantile(durations, 0.95)].map(durationText);
  return (
    <div class="stack">
      <Facts
        facts={[
          ['Attempts', times.length],
          ['Median', median],
          ['p95', slow],
          ['Maximum', durationText(Math.max(...durations))],
        ]}
      />
      <Chart
        options={OPTIONS}
        data={data}
        height={180}
        label={`Response times of the last ${times.length} attempts: median ${median ?? ''}, p95 ${slow ?? ''}`}
      />
      <ul class="legend">
        <li class="tone-delivered">
          <span class="dot" /> delivered
        </li>
        <li class="tone-rejected">
          <span class="dot dot-hollow" /> failed or rejected
        </li>
      </ul>
    </div>
  );
}

const OPTIONS: ChartOptions = (colour) => ({
  legend: { show: false },
  cursor: { show: false },
  scales: { y: { range: (_plot, _least, most) => [0, Math.max(10, most * 1.1)] } },
  axes: [
    {
      stroke: colour('muted'),
      grid: { stroke: colour('line') },
      ticks: { stroke: colour('line') },
      space: 96,
      values: (_plot, values) => values.map((value) => axisTime(value * 1000, Date.now())),
    },
    {
      stroke: colour('muted'),
      grid: { stroke: colour('line') },
      ticks: { show: false },
      size: 62,
      values: (_plot, values) => values.map(durationText),
    },
  ],
  series: [
    {},
    {
      stroke: colour('delivered'),
      paths: () => null,
      points: { show: true, size: 7, fill: colour('delivered') },
    },
    {
      stroke: colour('rejected'),
      paths: () => null,
      points: { show: true, size: 8, width: 2, fill: colour('surface') },
    },
  ],
});
