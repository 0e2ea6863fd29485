import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../../shared/domain/retry/schedule.ts';
import { BACKOFF_FUNCTIONS, type BackoffFunction } from '../../../../shared/domain/retry/vocabulary.ts';
import { Chart, type ChartOptions, DURATION_STEPS, plainChart } from '../../parts/chart.tsx';
import { durationText } from '../../parts/time-text.ts';

/** Colours are from tokens.css; the dashes distinguish the lines without colour. */
const LINES: Record<BackoffFunction, { colour: `series-${string}`; dash: number[] }> = {
  linear: { colour: 'series-blue', dash: [] },
  arithmetic: { colour: 'series-green', dash: [8, 3] },
  geometric: { colour: 'series-red', dash: [2, 3] },
  exponential: { colour: 'series-orange', dash: [2, 3] },
  capped_exponential: { colour: 'series-purple', dash: [10, 3, 2, 3] },
};

/** Two charts: the delay before each retry for every backoff function, and the time of each retry. */
export function ScheduleCharts({ policy }: { policy: RetryPolicy }) {
  const chosen = policy.retry_backoff_function;
  const retries = useMemo(() => retrySchedule(policy).map(({ retry }) => retry), [policy]);
  const delayOptions = useMemo(() => delayChart(chosen), [chosen]);
  const delays = useMemo(
    (): uPlot.AlignedData => [retries, ...BACKOFF_FUNCTIONS.map((name) => computeDelays(policy, name))],
    [policy, retries],
  );
  const totals = useMemo(
    (): uPlot.AlignedData => [
      [0, ...retries],
      [0, ...runningTotal(computeDelays(policy, chosen))],
    ],
    [policy, retries, chosen],
  );
  return (
    <div class="columns">
      <figure>
        <figcaption>Delay before each retry</figcaption>
        <Chart
          options={delayOptions}
          data={delays}
          height={260}
          label={`Delay before each of ${retries.length} retries by ${chosen.replace('_', ' ')}, and by the other functions. The table below has the figures.`}
        />
        <ul class="legend">
          {BACKOFF_FUNCTIONS.map((name) => (
            <li key={name} class={LINES[name].colour} aria-current={name === chosen ? 'true' : undefined}>
              <svg width="26" height="8" aria-hidden="true">
                <line
                  x1="0"
                  x2="26"
                  y1="4"
                  y2="4"
                  stroke-dasharray={name === chosen ? 'none' : LINES[name].dash.join(' ')}
                />
              </svg>
              {name.replace('_', ' ')}
            </li>
          ))}
        </ul>
        <p class="muted">Geometric and exponential are the same series under two names.</p>
      </figure>
      <figure>
        <figcaption>Time since the first attempt</figcaption>
        <Chart
          options={totalChart}
          data={totals}
          height={260}
          label={`Time from the first attempt to each of ${retries.length} retries. The table below has the figures.`}
        />
      </figure>
    </div>
  );
}

const AXES = {
  x: {
    grid: { show: false },
    incrs: [1, 2, 5, 10, 20, 50],
    values: (_plot: uPlot, values: number[]) => values.map(String),
  },
  y: {
    size: 74,
    incrs: DURATION_STEPS,
    values: (_plot: uPlot, values: number[]) => values.map((value) => durationText(value * 1000)),
  },
  scales: {
    x: { time: false },
    y: {
      range: (_plot: uPlot, _least: number, most: number): uPlot.Range.MinMax => [
        0,
        Math.max(1, most * 1.05),
      ],
    },
  },
};

function delayChart(chosen: BackoffFunction): ChartOptions {
  return plainChart({
    ...AXES,
    series: (colour) =>
      BACKOFF_FUNCTIONS.map((name) => ({
        stroke: colour(LINES[name].colour),
        width: name === chosen ? 3 : 1.25,
        dash: name === chosen ? [] : LINES[name].dash,
        points: { show: name === chosen, size: 6 },
      })),
  });
}

const totalChart = plainChart({
  ...AXES,
  series: (colour) => [
    { stroke: colour('accent'), width: 2, fill: colour('accent-faint'), points: { show: true, size: 5 } },
  ],
});

/** The delay in seconds before each retry of the policy with this backoff function. */
export function computeDelays(policy: RetryPolicy, retry_backoff_function: BackoffFunction): number[] {
  return retrySchedule({ ...policy, retry_backoff_function }).map(({ delaySeconds }) => delaySeconds);
}

/** Seconds from the first attempt to each retry, if attempts took no time. */
export function runningTotal(delays: readonly number[]): number[] {
  let total = 0;
  return delays.map((delay) => (total += delay));
}
